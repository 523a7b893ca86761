package simulator_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	clocktesting "k8s.io/utils/clock/testing"

	"digitalocean-cloud-controller-manager/simulator"
)

const token = "dop_v1_0123456789abcdef"

// world is a simulator on a loopback port, with a client.
type world struct {
	*simulator.Simulator
	t      *testing.T
	url    string
	client *godo.Client
	clock  *clocktesting.FakePassiveClock
}

var start = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func newWorld(t *testing.T, opts ...simulator.Option) *world {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(start)
	sim := simulator.New(append([]simulator.Option{simulator.WithClock(clock)}, opts...)...)
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	w := &world{Simulator: sim, t: t, url: server.URL, clock: clock}
	w.client = w.clientFor(token)
	return w
}

func (w *world) advance(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }

// clientFor has its own connections, so that a cut one is no other test's.
func (w *world) clientFor(token string) *godo.Client {
	w.t.Helper()
	transport := &http.Transport{}
	w.t.Cleanup(transport.CloseIdleConnections)
	client, err := godo.New(&http.Client{Transport: transport}, godo.SetBaseURL(w.url+"/"),
		godo.SetRequestHeaders(map[string]string{"Authorization": "Bearer " + token}))
	if err != nil {
		w.t.Fatal(err)
	}
	return client
}

// answer is what came back over the wire.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) decode(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), v); err != nil {
		t.Fatalf("decode %q: %v", a.body, err)
	}
}

// do sends a request as it is, with the usual token.
func (w *world) do(method, path, body string) answer {
	w.t.Helper()
	return w.doAs(token, method, path, body)
}

func (w *world) doAs(token, method, path, body string) answer {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return w.send(req)
}

func (w *world) send(req *http.Request) answer {
	w.t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

// refusal returns the status and message of an API error.
func refusal(t *testing.T, err error) (int, string) {
	t.Helper()
	var refused *godo.ErrorResponse
	if !errors.As(err, &refused) {
		t.Fatalf("got %v, want an answer of the API", err)
	}
	return refused.Response.StatusCode, refused.Message
}

// wantRefusal fails unless err is an answer with the status and a message that
// contains text.
func wantRefusal(t *testing.T, err error, status int, text string) {
	t.Helper()
	gotStatus, message := refusal(t, err)
	if gotStatus != status || !strings.Contains(message, text) {
		t.Errorf("refused with %d %q, want %d %q", gotStatus, message, status, text)
	}
}

func must[T any](t *testing.T) func(T, *godo.Response, error) T {
	return func(v T, _ *godo.Response, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t *testing.T) func(*godo.Response, error) {
	return func(_ *godo.Response, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// everyPage walks a list as clients do.
func everyPage[T any](t *testing.T, perPage int, list func(context.Context, *godo.ListOptions) ([]T, *godo.Response, error)) []T {
	t.Helper()
	var all []T
	opt := &godo.ListOptions{PerPage: perPage}
	for {
		items, resp, err := list(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, items...)
		if resp.Links == nil || resp.Links.IsLastPage() {
			if resp.Meta == nil || resp.Meta.Total != len(all) {
				t.Fatalf("meta %v after %d items", resp.Meta, len(all))
			}
			return all
		}
		page, err := resp.Links.CurrentPage()
		if err != nil {
			t.Fatal(err)
		}
		opt.Page = page + 1
	}
}

func dropletIDs(droplets []godo.Droplet) []int {
	ids := []int{}
	for _, d := range droplets {
		ids = append(ids, d.ID)
	}
	return ids
}

func account(t *testing.T, w *world) *godo.Account {
	t.Helper()
	return must[*godo.Account](t)(w.client.Account.Get(t.Context()))
}

// serve asks without a network and returns the status.
func serve(sim *simulator.Simulator, path string) int {
	req := httptest.NewRequest(http.MethodGet, path, nil)
	req.Header.Set("Authorization", "Bearer "+token)
	rec := httptest.NewRecorder()
	sim.ServeHTTP(rec, req)
	return rec.Code
}
