package doapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"
)

func TestOptionsAreChecked(t *testing.T) {
	source := StaticToken(mustToken(t, testSecret))
	tests := map[string]struct {
		options Options
		base    string
		err     string
		want    string
	}{
		"defaults":       {options: Options{TokenSource: source}, want: "https://api.digitalocean.com/"},
		"slash is added": {options: Options{TokenSource: source}, base: "http://localhost:8080", want: "http://localhost:8080/"},
		"slash is kept":  {options: Options{TokenSource: source}, base: "http://localhost:8080/", want: "http://localhost:8080/"},
		"no source":      {err: "new API client: no token source"},
		"path prefix":    {options: Options{TokenSource: source}, base: "http://localhost/do/", err: "new API client: base URL http://localhost/do/ must have no path, query or user"},
		"password":       {options: Options{TokenSource: source}, base: "http://u:secret@localhost/", err: "new API client: base URL http://u:xxxxx@localhost/ must have no path, query or user"},
		"no host":        {options: Options{TokenSource: source}, base: "localhost", err: "new API client: base URL localhost must be an http or https URL with a host"},
		"negative QPS":   {options: Options{TokenSource: source, QPS: -1}, err: "new API client: QPS -1 and timeout 0s must not be negative"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.base != "" {
				base, err := url.Parse(tc.base)
				check(t, err)
				tc.options.BaseURL = base
			}
			client, err := New(tc.options)
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Errorf("error %v, want %s", err, tc.err)
				}
				return
			}
			check(t, err)
			if got := client.BaseURL.String(); got != tc.want {
				t.Errorf("base %s, want %s", got, tc.want)
			}
		})
	}
}

func TestEveryRequestIsSigned(t *testing.T) {
	var n atomic.Int32
	client := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.UserAgent(); got != "digitalocean-cloud-controller-manager/v1.2.3" {
			t.Errorf("user agent %q", got)
		}
		if got := r.Header.Values("Authorization"); len(got) != 1 || got[0] != "Bearer "+testSecret {
			t.Errorf("%d Authorization headers, or a wrong one", len(got))
		}
		if n.Add(1) == 1 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		fmt.Fprint(w, accountBody)
	}))
	check(t, get(t.Context(), client))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, client.BaseURL.String()+"v2/account", nil)
	check(t, err)
	req.Header.Set("User-Agent", "something else")
	if _, err := client.Do(t.Context(), req, nil); err != nil {
		t.Error(err)
	}
	if req.Header.Get("Authorization") != "" {
		t.Error("the caller's request was changed")
	}
}

func TestErrorsDoNotCarryTheToken(t *testing.T) {
	client := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, notFound)
	}))
	answer, found := answerOf(get(t.Context(), client))
	if !found || !strings.HasPrefix(answer.Error(), "GET "+client.BaseURL.String()+"v2/account: 404") {
		t.Fatalf("error %v", answer)
	}
	if answer.Response.Request.Header.Get("Authorization") != "" {
		t.Error("the error's request has the Authorization header")
	}
}

func TestTokenLeavesToTheAPIOnly(t *testing.T) {
	var strangers atomic.Int32
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strangers.Add(1) }))
	t.Cleanup(stranger.Close)
	client := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, stranger.URL, http.StatusFound)
	}))
	if err := get(t.Context(), client); Classify(err) != ClassCloud {
		t.Errorf("redirect: %v", err)
	}
	req, err := client.NewRequest(t.Context(), http.MethodGet, stranger.URL+"/v2/account", nil)
	check(t, err)
	if _, err := client.Do(t.Context(), req, nil); Classify(err) != ClassBug {
		t.Errorf("another host: %v", err)
	}
	if strangers.Load() != 0 {
		t.Error("a request went to another host")
	}
}

func TestAnswerThatBreaksOffIsAskedForAgain(t *testing.T) {
	var n atomic.Int32
	client := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			w.Header().Set("Content-Length", "1000") // and then less
		}
		fmt.Fprint(w, `{"account":{"uuid":"u"}}`)
	}))
	account, _, err := client.Account.Get(t.Context())
	if err != nil || account.UUID != "u" || n.Load() != 2 {
		t.Errorf("%d requests, error %v", n.Load(), err)
	}
}

func TestLostAnswerOfCreateIsNotSentAgain(t *testing.T) {
	var n atomic.Int32
	client := clientOf(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		n.Add(1)
		panic(http.ErrAbortHandler) // the connection breaks after the effect
	}))
	_, resp, err := client.LoadBalancers.Create(t.Context(), &godo.LoadBalancerRequest{Name: "lb"})
	if Classify(err) != ClassCloud || resp != nil || n.Load() != 1 {
		t.Errorf("%d requests, error %v", n.Load(), err)
	}
}

func TestCallOverTheNetworkEndsInTime(t *testing.T) {
	release := make(chan struct{})
	client := clientOf(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }),
		func(o *Options) { o.Timeout = 50 * time.Millisecond })
	defer close(release)
	err := send(t.Context(), client, http.MethodPost)
	if Classify(err) != ClassCloud || Message(err) != "DigitalOcean's API did not answer in time" {
		t.Errorf("%v", err)
	}
}

func TestQuotaIsLearntWithoutCalls(t *testing.T) {
	rt := answers(answer(200, accountBody, quotaHeaders("4816")...))
	client := clientOn(t, rt)
	if q := client.Quota(); q.Limit != 0 || q.MinuteLimit != 250 || q.MinuteUsed != 0 {
		t.Errorf("before any answer: %+v", q)
	}
	check(t, get(t.Context(), client))
	q := client.Quota()
	if q.Limit != 5000 || q.Remaining != 4816 || q.MinuteUsed != 1 || q.Learned.IsZero() || !q.PausedUntil.IsZero() || rt.count() != 1 {
		t.Errorf("%+v", q)
	}
}

// TestTokenNeverShows runs a client through every kind of trouble against a
// server that repeats the token wherever it can, and looks for the token in all
// that comes out.
func TestTokenNeverShows(t *testing.T) {
	var n atomic.Int32
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secret := r.Header.Get("Authorization")
		bare := strings.TrimPrefix(secret, "Bearer ")
		w.Header().Set("X-Request-Id", bare)
		w.Header().Set("Location", "/"+bare)
		statuses := []int{200, 302, 400, 401, 403, 404, 422, 429, 500}
		status := statuses[int(n.Add(1)-1)%len(statuses)]
		if r.Method == http.MethodDelete {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
		if r.Method == http.MethodPut {
			fmt.Fprintf(w, "<html>you sent %s</html>", secret)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"id": bare, "message": "bad token " + secret, "request_id": bare})
	})
	for _, raw := range []string{testSecret, strings.Repeat("5eC7e7", 11)[:64]} {
		for _, file := range []bool{false, true} {
			ctx, log := withLog(t.Context(), 10)
			once := withPolicy(ctx, retryPolicy{attempts: 1})
			m, registry := registered(t)
			source := StaticToken(mustToken(t, raw))
			if file {
				mount := &secretMount{t: t, dir: t.TempDir()}
				mount.put(raw + "\n")
				source = FileToken(filepath.Join(mount.dir, "token"))
			}
			var out strings.Builder
			for range 9 {
				// A client each, as one would keep its refused token back.
				client := clientOf(t, echo, func(o *Options) { o.TokenSource, o.Metrics = source, m })
				for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
					err := sendSecret(once, client, method, raw)
					fmt.Fprintf(&out, "%v %+v %#v %s %s %s %+v %+v\n", err, err, err, Message(err), ErrorID(err), RequestID(err), client.Health(), client.Quota())
				}
			}
			twice := withPolicy(ctx, retryPolicy{attempts: 2})
			fmt.Fprintln(&out, sendSecret(twice, clientOf(t, echo, func(o *Options) { o.TokenSource, o.Metrics = source, m }), "DELETE", raw))
			families, err := registry.Gather()
			check(t, err)
			fmt.Fprint(&out, families, log)
			if strings.Contains(out.String(), raw) {
				i := strings.Index(out.String(), raw)
				t.Fatalf("the token shows after %q", strings.ReplaceAll(out.String()[max(0, i-300):i], raw, redacted))
			}
			if log.lines("DigitalOcean API request") == 0 || log.lines("DigitalOcean API bodies") == 0 {
				t.Error("the log has not what it should hide the token from")
			}
		}
	}
}

// sendSecret sends the token in the body as well.
func sendSecret(ctx context.Context, c *Client, method, secret string) error {
	req, err := c.NewRequest(ctx, method, "v2/tags", map[string]string{"token": secret})
	if err != nil {
		return err
	}
	_, err = c.Do(ctx, req, nil)
	return err
}

func TestWritesAreAskedForBeforeTheyGoOut(t *testing.T) {
	held := errors.New("held back")
	var sent []string
	rt := network(func(req *http.Request) (*http.Response, error) {
		sent = append(sent, req.Method)
		return reply(200, accountBody), nil
	})
	client, err := New(Options{TokenSource: StaticToken(mustToken(t, testSecret)), Transport: rt, EnterWrite: func(context.Context) (func(), error) { return nil, held }})
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		if err := send(t.Context(), client, method); errors.Is(err, held) == slices.Contains([]string{"GET", "HEAD"}, method) {
			t.Errorf("%s: error %v", method, err)
		}
	}
	if diff := cmp.Diff([]string{"GET", "HEAD"}, sent); diff != "" {
		t.Error(diff)
	}
}
