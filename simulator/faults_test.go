package simulator_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/simulator"
)

func TestFaultsChooseTheirRequests(t *testing.T) {
	for name, tc := range map[string]struct {
		fault        simulator.Fault
		method, path string
		want         bool
	}{
		"everything":        {simulator.Fault{}, "GET", "/v2/account", true},
		"method":            {simulator.Fault{Method: "get"}, "GET", "/v2/account", true},
		"other method":      {simulator.Fault{Method: "POST"}, "GET", "/v2/account", false},
		"path":              {simulator.Fault{Path: "/v2/droplets"}, "GET", "/v2/droplets", true},
		"path, below":       {simulator.Fault{Path: "/v2/droplets"}, "GET", "/v2/droplets/1", true},
		"path, with slash":  {simulator.Fault{Path: "/v2/droplets/"}, "GET", "/v2/droplets/1", true},
		"path, not a part":  {simulator.Fault{Path: "/v2/drop"}, "GET", "/v2/droplets", false},
		"pattern":           {simulator.Fault{Path: "/v2/*/1"}, "GET", "/v2/droplets/1", true},
		"pattern, not more": {simulator.Fault{Path: "/v2/*"}, "GET", "/v2/droplets/1", false},
		"query":             {simulator.Fault{Query: "page=2"}, "GET", "/v2/droplets?per_page=1&page=2", true},
		"other query":       {simulator.Fault{Query: "page=2"}, "GET", "/v2/droplets?page=1", false},
	} {
		t.Run(name, func(t *testing.T) {
			tc.fault.Status = 599
			w := newWorld(t, simulator.WithFault(tc.fault))
			if got := w.do(tc.method, tc.path, ""); (got.status == 599) != tc.want {
				t.Errorf("answered %d", got.status)
			}
		})
	}
}

func TestAFaultIsSpentAfterItsCount(t *testing.T) {
	w := newWorld(t)
	id := w.AddFault(simulator.Fault{Path: "/v2/account", Count: 2, Status: 503})
	w.AddFault(simulator.Fault{Path: "/v2/account", Count: 1, Status: 500})
	got := []int{}
	for range 4 {
		got = append(got, w.do("GET", "/v2/account", "").status)
	}
	if want := []int{503, 503, 500, 200}; !slices.Equal(got, want) {
		t.Errorf("answers %v, want %v", got, want)
	}
	if faults := w.Faults(); len(faults) != 2 || faults[0].ID != id || faults[0].Hits != 2 || faults[1].Hits != 1 {
		t.Errorf("faults %+v", faults)
	}
	w.RemoveFault(id)
	if faults := w.Faults(); len(faults) != 1 || faults[0].ID == id {
		t.Errorf("after removal %+v", faults)
	}
	w.AddFault(simulator.Fault{Status: 500})
	w.ClearFaults()
	if got := w.do("GET", "/v2/account", ""); got.status != 200 {
		t.Errorf("after clearing: %d", got.status)
	}
}

func TestTheDiceFollowTheSeed(t *testing.T) {
	roll := func(seed int64) []int {
		sim := simulator.New(simulator.WithSeed(seed), simulator.WithFault(simulator.Fault{Probability: 0.5, Status: 500}))
		statuses := []int{}
		for range 60 {
			statuses = append(statuses, serve(sim, "/v2/account"))
		}
		return statuses
	}
	first := roll(1)
	if !slices.Equal(first, roll(1)) {
		t.Error("the same seed gave other faults")
	}
	if slices.Equal(first, roll(2)) {
		t.Error("another seed gave the same faults")
	}
	failed := 0
	for _, status := range first {
		if status == 500 {
			failed++
		}
	}
	if failed < 15 || failed > 45 {
		t.Errorf("%d of 60 failed", failed)
	}
}

func TestStatusFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		fault           simulator.Fault
		body, mediaType string
	}{
		"usual error":  {simulator.Fault{Status: 403}, `"id":"forbidden","message":"You do not have permission`, "application/json; charset=utf-8"},
		"other status": {simulator.Fault{Status: 504}, `"id":"gateway_timeout"`, "application/json; charset=utf-8"},
		"own error":    {simulator.Fault{Status: 429, ErrorID: "limit", Message: "too many balancers"}, `"id":"limit","message":"too many balancers"`, "application/json; charset=utf-8"},
		"raw text":     {simulator.Fault{Status: 503, Body: "Failed to forward the request"}, "Failed to forward the request", "text/plain; charset=utf-8"},
		"raw HTML":     {simulator.Fault{Status: 502, Body: "<html></html>"}, "<html></html>", "text/html; charset=utf-8"},
		"raw JSON":     {simulator.Fault{Status: 500, Body: `{"x":1}`}, `{"x":1}`, "application/json; charset=utf-8"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.fault.Header = map[string]string{"Retry-After": "7"}
			w := newWorld(t, simulator.WithFault(tc.fault))
			got := w.do("GET", "/v2/account", "")
			if got.status != tc.fault.Status || !strings.Contains(got.body, tc.body) || got.header.Get("Content-Type") != tc.mediaType ||
				got.header.Get("Retry-After") != "7" || got.header.Get("Ratelimit-Limit") == "" {
				t.Errorf("answered %d %s %v", got.status, got.body, got.header)
			}
		})
	}
}

func TestAFaultStrikesBeforeOrAfterTheDeed(t *testing.T) {
	for name, tc := range map[string]struct {
		fault simulator.Fault
		made  int
	}{
		"status before": {simulator.Fault{Status: 500}, 0},
		"status after":  {simulator.Fault{Status: 500, AfterActing: true}, 1},
		"reset before":  {simulator.Fault{Reset: true}, 0},
		"reset after":   {simulator.Fault{Reset: true, AfterActing: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			tc.fault.Method, tc.fault.Count = "POST", 1
			w := newWorld(t, simulator.WithFault(tc.fault))
			_, resp, err := w.client.LoadBalancers.Create(t.Context(), lbRequest("a"))
			if err == nil || (resp == nil) != tc.fault.Reset {
				t.Fatalf("answer %v, error %v", resp, err)
			}
			if made := len(w.LoadBalancers()); made != tc.made {
				t.Errorf("%d load balancers, want %d", made, tc.made)
			}
			log := w.Requests()
			if len(log) != 1 || log[0].Status != tc.fault.Status {
				t.Errorf("log %+v", log)
			}
		})
	}
}

// A client's transport must not hide a cut connection by asking again.
func TestAResetIsSeenOnAUsedConnection(t *testing.T) {
	w := newWorld(t)
	must[*godo.Account](t)(w.client.Account.Get(t.Context()))
	w.AddFault(simulator.Fault{Reset: true, Count: 1})
	if _, resp, err := w.client.Account.Get(t.Context()); err == nil {
		t.Errorf("answered %v", resp)
	}
	must[*godo.Account](t)(w.client.Account.Get(t.Context()))
}

func TestAResetWithoutAConnectionAbortsTheHandler(t *testing.T) {
	sim := simulator.New(simulator.WithFault(simulator.Fault{Reset: true}))
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("panicked with %v", got)
		}
	}()
	serve(sim, "/v2/account")
	t.Error("answered")
}

func TestBrokenBodies(t *testing.T) {
	for name, fault := range map[string]simulator.Fault{"truncated": {Truncate: true}, "malformed": {Malformed: true}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.AddDroplet(simulator.DropletSpec{})
			whole := w.do("GET", "/v2/droplets", "")
			w.AddFault(fault)
			got := w.do("GET", "/v2/droplets", "")
			if got.status != 200 || len(got.body) < len(whole.body)/2 || json.Valid([]byte(got.body)) {
				t.Errorf("answered %d %q", got.status, got.body)
			}
			if _, _, err := w.client.Droplets.List(t.Context(), nil); err == nil {
				t.Error("the client could read it")
			}
		})
	}
}

func TestSpoiltLists(t *testing.T) {
	total := 9
	for name, tc := range map[string]struct {
		fault                   simulator.Fault
		items, total, linkCount int
	}{
		"whole":            {simulator.Fault{Header: map[string]string{"X": "y"}}, 2, 3, 2},
		"one item missing": {simulator.Fault{OmitItems: 1}, 1, 3, 2},
		"no items":         {simulator.Fault{OmitItems: -1}, 0, 3, 2},
		"more than all":    {simulator.Fault{OmitItems: 5}, 0, 3, 2},
		"no links":         {simulator.Fault{OmitLinks: true}, 2, 3, 0},
		"wrong total":      {simulator.Fault{Total: &total}, 2, 9, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for range 3 {
				w.AddDroplet(simulator.DropletSpec{})
			}
			tc.fault.Query = "page=1"
			w.AddFault(tc.fault)
			var body listBody
			w.do("GET", "/v2/droplets?per_page=2&page=1", "").decode(t, &body)
			if len(body.Droplets) != tc.items || body.Droplets == nil || body.Meta.Total != tc.total || body.Links == nil || len(body.Links.Pages) != tc.linkCount {
				t.Errorf("%d items, total %d, links %v", len(body.Droplets), body.Meta.Total, body.Links)
			}
			var account struct{ Account map[string]any }
			w.do("GET", "/v2/account?page=1", "").decode(t, &account)
			if account.Account["uuid"] == nil {
				t.Errorf("other answers are changed: %v", account)
			}
		})
	}
}

// inMemory asks without a network, so that delays can be measured in the
// bubble of a test.
func inMemory(ctx context.Context, sim *simulator.Simulator, method, path, body string) (status int, err error) {
	req := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+token)
	rec := httptest.NewRecorder()
	defer func() {
		if cut := recover(); cut != nil {
			status, err = 0, errors.New("cut")
		}
	}()
	sim.ServeHTTP(rec, req)
	return rec.Code, nil
}

func TestDelays(t *testing.T) {
	for name, tc := range map[string]struct {
		opts []simulator.Option
		want time.Duration
	}{
		"none":             {nil, 0},
		"latency":          {[]simulator.Option{simulator.WithLatency(time.Second)}, time.Second},
		"fault":            {[]simulator.Option{simulator.WithFault(simulator.Fault{Delay: time.Minute})}, time.Minute},
		"both":             {[]simulator.Option{simulator.WithLatency(time.Second), simulator.WithFault(simulator.Fault{Delay: time.Minute})}, 61 * time.Second},
		"an error as well": {[]simulator.Option{simulator.WithLatency(time.Second), simulator.WithToken("other", "")}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim := simulator.New(tc.opts...)
				begin := time.Now()
				if _, err := inMemory(t.Context(), sim, "GET", "/v2/account", ""); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin); took != tc.want {
					t.Errorf("took %s, want %s", took, tc.want)
				}
			})
		})
	}
}

func TestAClientThatGivesUpDuringADelay(t *testing.T) {
	for name, tc := range map[string]struct {
		after bool
		made  int
	}{"before the deed": {false, 0}, "after the deed": {true, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim := simulator.New(simulator.WithFault(simulator.Fault{Delay: time.Hour, AfterActing: tc.after}))
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				status, err := inMemory(ctx, sim, "POST", "/v2/tags", `{"name":"x"}`)
				if err == nil {
					t.Errorf("answered %d", status)
				}
				if made := len(sim.State().Teams[0].Tags); made != tc.made {
					t.Errorf("%d tags, want %d", made, tc.made)
				}
			})
		})
	}
}

func TestFaultsThatCannotStrikeAreRefused(t *testing.T) {
	for says, fault := range map[string]simulator.Fault{
		`path "["`:                            {Path: "[", Status: 500},
		`path "/["`:                           {Path: "/[", Status: 500},
		`path "v2/droplets"`:                  {Path: "v2/droplets", Status: 500},
		`quota "day"`:                         {Quota: "day"},
		"list lag -1ns":                       {ListLag: -1},
		"trickle -1ns":                        {Trickle: -1},
		"probability 1.5":                     {Probability: 1.5, Status: 500},
		"status 42":                           {Status: 42},
		"count -1":                            {Count: -1, Status: 500},
		"delay -1ns":                          {Delay: -1},
		`query "%zz"`:                         {Query: "%zz", Status: 500},
		`method "FETCH"`:                      {Method: "FETCH", Status: 500},
		`header "a b"`:                        {Header: map[string]string{"a b": "c"}},
		`header "a"`:                          {Header: map[string]string{"a": "b\nc"}},
		"errored for POST /v2/load_balancers": {Method: "GET", Errored: true},
		"list_lag for /v2/":                   {Path: "/v2/tags", ListLag: time.Hour},
		"need a status":                       {Body: "busy", Delay: time.Second},
		"the fault has no effect":             {Method: "POST", Path: "/v2/droplets", Count: 1, AfterActing: true},
	} {
		t.Run(says, func(t *testing.T) {
			defer func() {
				if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("%+v: %v", fault, err)
				}
			}()
			simulator.New().AddFault(fault)
		})
	}
}

func TestEveryEffectAloneIsAFault(t *testing.T) {
	for _, fault := range []simulator.Fault{
		{Status: 500}, {Delay: 1}, {Reset: true}, {Truncate: true}, {Malformed: true}, {OmitItems: 1}, {OmitLinks: true},
		{Total: new(0)}, {ListLag: 1}, {Trickle: 1}, {Quota: "hour"}, {Errored: true}, {Header: map[string]string{"a": "b"}},
	} {
		simulator.New().AddFault(fault) // it panics for what it refuses
	}
}

func TestFaultsTravelAsJSON(t *testing.T) {
	total := 3
	want := simulator.Fault{Method: "GET", Path: "/v2/*", Delay: 250 * time.Millisecond, ListLag: 5 * time.Second, Trickle: time.Minute, Total: &total, Header: map[string]string{"A": "b"}}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"delay":"250ms"`) {
		t.Errorf("written as %s", text)
	}
	var got simulator.Fault
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	for _, bad := range []string{`{"statsu":500}`, `{"delay":5}`, `{"delay":"soon"}`, `{"delay":"-1s"}`} {
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

func TestQuotaFaults(t *testing.T) {
	for quota, retryAfter := range map[string]string{"hour": "", "minute": "60"} {
		w := newWorld(t, simulator.WithFault(simulator.Fault{Quota: quota, Count: 1}))
		got := w.do("GET", "/v2/account", "")
		if got.status != 429 || !strings.Contains(got.body, "too_many_requests") || got.header.Get("Ratelimit-Remaining") != "0" ||
			got.header.Get("Retry-After") != retryAfter || got.header.Get("Ratelimit-Limit") != "5000" {
			t.Errorf("%s: %d %s %v", quota, got.status, got.body, got.header)
		}
		if got := w.do("GET", "/v2/account", ""); got.status != 200 || got.header.Get("Ratelimit-Remaining") != "4998" {
			t.Errorf("%s, afterwards: %d %v", quota, got.status, got.header)
		}
	}
}

func TestATrickleTakesItsTimeAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := simulator.New(simulator.WithFault(simulator.Fault{Trickle: time.Minute, Count: 1}))
		client := &http.Client{Transport: sim.Transport()}
		read := func() (string, time.Duration) {
			req, err := http.NewRequestWithContext(t.Context(), "GET", "http://simulator/v2/account", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+token)
			begin := time.Now()
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(text), time.Since(begin)
		}
		slow, took := read()
		whole, _ := read()
		if took != time.Minute || slow != whole {
			t.Errorf("%q took %s, want %q", slow, took, whole)
		}
	})
}

// Over a connection the head arrives at once, so that only a client which
// bounds the whole exchange gets away.
func TestATrickleSendsTheHeadAtOnce(t *testing.T) {
	w := newWorld(t, simulator.WithFault(simulator.Fault{Trickle: time.Hour}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", w.url+"/v2/account", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 || resp.ContentLength < 100 {
		t.Errorf("head %d with %d bytes", resp.StatusCode, resp.ContentLength)
	}
	cancel()
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("read: %v", err)
	}
}

func TestACreationThatEndsErrored(t *testing.T) {
	w := newWorld(t, simulator.WithLoadBalancerActivation(time.Minute),
		simulator.WithFault(simulator.Fault{Method: "POST", Path: "/v2/load_balancers", Count: 1, Errored: true}))
	bad, good := createLB(t, w, lbRequest("bad")), createLB(t, w, lbRequest("good"))
	if got := getLB(t, w, bad.ID); got.Status != "new" {
		t.Errorf("at first %s", got.Status)
	}
	w.advance(time.Minute)
	if got := getLB(t, w, bad.ID); got.Status != "errored" || got.IP != "" {
		t.Errorf("in the end %s at %q", got.Status, got.IP)
	}
	if got := getLB(t, w, good.ID); got.Status != "active" || got.IP == "" {
		t.Errorf("the other %s", got.Status)
	}
	ok(t)(w.client.LoadBalancers.Delete(t.Context(), bad.ID))
}
