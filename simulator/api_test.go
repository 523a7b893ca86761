package simulator_test

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/simulator"
)

type errorBody struct {
	ID        string `json:"id"`
	Message   string `json:"message"`
	RequestID string `json:"request_id"`
}

func TestRefusalsHaveTheAPIsForm(t *testing.T) {
	w := newWorld(t, simulator.WithToken(token, "blue"))
	for name, tc := range map[string]struct {
		token, method, path, body string
		status                    int
		id                        string
	}{
		"no token":          {"", "GET", "/v2/account", "", 401, "unauthorized"},
		"unknown token":     {"other", "GET", "/v2/account", "", 401, "unauthorized"},
		"unknown path":      {token, "GET", "/v2/nothing", "", 404, "not_found"},
		"no version":        {token, "GET", "/", "", 404, "not_found"},
		"empty id":          {token, "GET", "/v2/load_balancers/", "", 404, "not_found"},
		"id not a number":   {token, "GET", "/v2/droplets/abc", "", 404, "not_found"},
		"wrong method":      {token, "PATCH", "/v2/load_balancers/x", "", 405, "method_not_allowed"},
		"body not JSON":     {token, "POST", "/v2/load_balancers", "{", 400, "bad_request"},
		"wrong type":        {token, "POST", "/v2/load_balancers", `{"name":1}`, 400, "bad_request"},
		"region as object":  {token, "POST", "/v2/load_balancers", `{"region":{}}`, 400, "bad_request"},
		"null as a boolean": {token, "POST", "/v2/load_balancers", `{"enable_proxy_protocol":null}`, 500, "server_error"},
	} {
		t.Run(name, func(t *testing.T) {
			got := w.doAs(tc.token, tc.method, tc.path, tc.body)
			var body errorBody
			got.decode(t, &body)
			if got.status != tc.status || body.ID != tc.id || body.Message == "" {
				t.Errorf("got %d %s, want %d %s", got.status, got.body, tc.status, tc.id)
			}
			if requestID := got.header.Get("X-Request-Id"); requestID == "" || requestID != body.RequestID {
				t.Errorf("request id %q in the header, %q in the body", requestID, body.RequestID)
			}
			if !strings.HasSuffix(got.body, "}\n") {
				t.Errorf("body %q does not end with a newline", got.body)
			}
			for _, name := range []string{"Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"} {
				if got.header.Get(name) == "" {
					t.Errorf("no header %s", name)
				}
			}
			if got, want := got.header.Get("Content-Type"), "application/json; charset=utf-8"; got != want {
				t.Errorf("content type %s, want %s", got, want)
			}
		})
	}
}

func TestAnswersHeadAndOptions(t *testing.T) {
	w := newWorld(t)
	head := w.do(http.MethodHead, "/v2/account", "")
	if head.status != 200 || head.body != "" {
		t.Errorf("HEAD: %d %q", head.status, head.body)
	}
	preflight := w.doAs("", http.MethodOptions, "/v2/droplets", "")
	if got := preflight.header.Get("Access-Control-Allow-Methods"); preflight.status != 204 || got != "DELETE, GET, POST" {
		t.Errorf("OPTIONS: %d, methods %q", preflight.status, got)
	}
}

func TestListsOfEverySizeAreWhole(t *testing.T) {
	for _, total := range []int{0, 1, 19, 20, 21, 40, 41, 401} {
		w := newWorld(t)
		want := []int{}
		for range total {
			want = append(want, w.AddDroplet(simulator.DropletSpec{}).ID)
		}
		slices.Reverse(want)
		for _, perPage := range []int{0, 7, 200, 1000} {
			got := everyPage(t, perPage, w.client.Droplets.List)
			if diff := cmp.Diff(want, dropletIDs(got)); diff != "" {
				t.Errorf("%d droplets by %d (-want +got):\n%s", total, perPage, diff)
			}
		}
	}
}

type listBody struct {
	Droplets []json.RawMessage `json:"droplets"`
	Links    *struct {
		Pages map[string]string `json:"pages"`
	} `json:"links"`
	Meta struct {
		Total int `json:"total"`
	} `json:"meta"`
}

func TestPagesLinkToEachOther(t *testing.T) {
	w := newWorld(t)
	for range 5 {
		w.AddDroplet(simulator.DropletSpec{Tags: []string{"x"}})
	}
	for name, tc := range map[string]struct {
		query string
		items int
		pages map[string]string // page numbers
	}{
		"one page":     {"tag_name=x", 5, nil},
		"first":        {"tag_name=x&per_page=2", 2, map[string]string{"next": "2", "last": "3"}},
		"middle":       {"tag_name=x&per_page=2&page=2", 2, map[string]string{"first": "1", "prev": "1", "next": "3", "last": "3"}},
		"last":         {"tag_name=x&per_page=2&page=3", 1, map[string]string{"first": "1", "prev": "2"}},
		"past the end": {"tag_name=x&per_page=2&page=9", 0, map[string]string{"first": "1", "prev": "3"}},
		"huge page":    {"tag_name=x&per_page=2&page=9223372036854775807", 0, map[string]string{"first": "1", "prev": "3"}},
		"nonsense":     {"tag_name=x&per_page=many&page=-1", 5, nil},
		"zero":         {"tag_name=x&per_page=0&page=0", 5, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var body listBody
			w.do("GET", "/v2/droplets?"+tc.query, "").decode(t, &body)
			if len(body.Droplets) != tc.items || body.Droplets == nil || body.Meta.Total != 5 {
				t.Errorf("%d items, total %d; want %d, 5", len(body.Droplets), body.Meta.Total, tc.items)
			}
			if body.Links == nil {
				t.Fatal("no links")
			}
			got := map[string]string{}
			for rel, link := range body.Links.Pages {
				u, err := url.Parse(link)
				if err != nil {
					t.Fatal(err)
				}
				got[rel] = u.Query().Get("page")
				if "http://"+u.Host != w.url || u.Path != "/v2/droplets" ||
					u.Query().Get("tag_name") != "x" || u.Query().Get("per_page") != "2" {
					t.Errorf("link %s to %s", rel, link)
				}
			}
			want := tc.pages
			if want == nil {
				want = map[string]string{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLinksUseTheSchemeAndHostOfTheCaller(t *testing.T) {
	sim := simulator.New()
	for range 2 {
		sim.AddDroplet(simulator.DropletSpec{})
	}
	req := httptest.NewRequest("GET", "https://api.example.com/v2/droplets?per_page=1", nil)
	req.TLS = &tls.ConnectionState{}
	req.Header.Set("Authorization", "Bearer t")
	rec := httptest.NewRecorder()
	sim.ServeHTTP(rec, req)
	var body listBody
	if err := json.Unmarshal(rec.Body.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	if got, want := body.Links.Pages["next"], "https://api.example.com/v2/droplets?page=2&per_page=1"; got != want {
		t.Errorf("next page at %s, want %s", got, want)
	}
}

func number(t *testing.T, a answer, header string) int {
	t.Helper()
	n, err := strconv.Atoi(a.header.Get(header))
	if err != nil {
		t.Fatalf("header %s: %v", header, err)
	}
	return n
}

func TestMinuteBurst(t *testing.T) {
	w := newWorld(t, simulator.WithRateLimit(100, 3))
	for range 3 {
		if got := w.do("GET", "/v2/account", ""); got.status != 200 || got.header.Get("Retry-After") != "" {
			t.Fatalf("within the limit: %d, retry after %q", got.status, got.header.Get("Retry-After"))
		}
		w.advance(10 * time.Second)
	}
	got := w.do("GET", "/v2/account", "")
	var body errorBody
	got.decode(t, &body)
	if got.status != 429 || body.ID != "too_many_requests" || body.Message != "API Rate limit exceeded." {
		t.Errorf("over the limit: %d %s", got.status, got.body)
	}
	// The first request was 30 seconds ago.
	if remaining, retry := number(t, got, "Ratelimit-Remaining"), number(t, got, "Retry-After"); remaining != 0 || retry != 30 {
		t.Errorf("remaining %d, retry after %d; want 0, 30", remaining, retry)
	}
	if other := w.doAs("another-token", "GET", "/v2/account", ""); other.status != 200 {
		t.Errorf("another token: %d", other.status)
	}
	w.advance(30 * time.Second)
	if got := w.do("GET", "/v2/account", ""); got.status != 200 || number(t, got, "Ratelimit-Remaining") != 96 {
		t.Errorf("after the wait: %d, remaining %s", got.status, got.header.Get("Ratelimit-Remaining"))
	}
}

func TestTheListOfKeysHasALimitOfItsOwn(t *testing.T) {
	w := newWorld(t)
	for range 10 {
		if got := w.do("GET", "/v2/account/keys", ""); got.status != 200 {
			t.Fatalf("within the limit: %d", got.status)
		}
		w.advance(3 * time.Second)
	}
	got := w.do("GET", "/v2/account/keys?page=2", "")
	// The first request was 30 seconds ago.
	if got.status != 429 || number(t, got, "Ratelimit-Remaining") != 0 || number(t, got, "Retry-After") != 30 {
		t.Errorf("over the limit: %d, %v", got.status, got.header)
	}
	for path, want := range map[string]int{"/v2/account": 200, "/v2/account/keys/1": 404} {
		if got := w.do("GET", path, ""); got.status != want {
			t.Errorf("%s: %d, want %d", path, got.status, want)
		}
	}
	if other := w.doAs("another-token", "GET", "/v2/account/keys", ""); other.status != 200 {
		t.Errorf("another token: %d", other.status)
	}
	w.advance(30 * time.Second)
	if got := w.do("GET", "/v2/account/keys", ""); got.status != 200 || number(t, got, "Ratelimit-Remaining") != 5000-13 {
		t.Errorf("after the wait: %d, %v", got.status, got.header)
	}
}

func TestNoLimitInAMinuteIsNoneOnKeysEither(t *testing.T) {
	w := newWorld(t, simulator.WithRateLimit(0, 0))
	for range 20 {
		if got := w.do("GET", "/v2/account/keys", ""); got.status != 200 {
			t.Fatalf("%d", got.status)
		}
	}
}

func TestSlidingHour(t *testing.T) {
	w := newWorld(t, simulator.WithRateLimit(4, 0))
	for i := range 4 {
		got := w.do("GET", "/v2/account", "")
		if remaining := number(t, got, "Ratelimit-Remaining"); remaining != 3-i || number(t, got, "Ratelimit-Limit") != 4 {
			t.Errorf("request %d: remaining %d", i, remaining)
		}
		w.advance(10 * time.Minute)
	}
	got := w.do("GET", "/v2/account", "")
	if got.status != 429 || got.header.Get("Retry-After") != "" {
		t.Errorf("over the limit: %d, retry after %q", got.status, got.header.Get("Retry-After"))
	}
	if reset := number(t, got, "Ratelimit-Reset"); int64(reset) != start.Add(time.Hour).Unix() {
		t.Errorf("reset at %d, want the end of the oldest request's hour", reset)
	}
	w.advance(20 * time.Minute)
	// One place is free, and only one.
	if first, second := w.do("GET", "/v2/account", ""), w.do("GET", "/v2/account", ""); first.status != 200 || second.status != 429 {
		t.Errorf("after the oldest left: %d, %d; want 200, 429", first.status, second.status)
	}
}

func TestDefaultLimitsAreTheAPIs(t *testing.T) {
	w := newWorld(t)
	for range 250 {
		if got := w.do("GET", "/v2/account", ""); got.status != 200 || number(t, got, "Ratelimit-Limit") != 5000 {
			t.Fatalf("%d, limit %s", got.status, got.header.Get("Ratelimit-Limit"))
		}
	}
	if got := w.do("GET", "/v2/account", ""); got.status != 429 {
		t.Errorf("request 251 of the minute: %d", got.status)
	}
}

func TestTheLogTellsWhoAskedWhat(t *testing.T) {
	w := newWorld(t, simulator.WithToken(token, "blue"))
	w.do("POST", "/v2/tags?a=b", `{"name":"x"}`)
	w.doAs("stranger-token", "GET", "/v2/account", "")
	w.doAs("abc", "GET", "/v2/account", "")
	w.do("POST", "/v2/tags", "not json")
	w.do("GET", simulator.ControlPath+"state", "")
	w.do("GET", "/metadata/v1/", "")

	type entry struct {
		Sequence                         int64
		Method, Path, Query, Token, Team string
		Body                             string
		BodyBytes, Status                int
	}
	got := []entry{}
	for _, r := range w.Requests() {
		if r.RequestID == "" || r.UserAgent == "" || !r.Time.Equal(start) {
			t.Errorf("incomplete entry %+v", r)
		}
		got = append(got, entry{r.Sequence, r.Method, r.Path, r.Query, r.Token, r.Team, string(r.Body), r.BodyBytes, r.Status})
	}
	want := []entry{
		{1, "POST", "/v2/tags", "a=b", "cdef", "blue", `{"name":"x"}`, 12, 201},
		{2, "GET", "/v2/account", "", "oken", "", "", 0, 401},
		{3, "GET", "/v2/account", "", "c", "", "", 0, 401},
		{4, "POST", "/v2/tags", "", "cdef", "blue", "", 8, 400},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	w.ResetRequests()
	w.do("GET", "/v2/account", "")
	if got := w.Requests(); len(got) != 1 || got[0].Sequence != 5 {
		t.Errorf("after a reset: %+v", got)
	}
}

func TestNoWholeTokenIsShownAnywhere(t *testing.T) {
	w := newWorld(t, simulator.WithToken(token, "blue"))
	w.do("GET", "/v2/account", "")
	for _, path := range []string{"state", "requests", "settings", "faults"} {
		if got := w.do("GET", simulator.ControlPath+path, ""); got.status != 200 || strings.Contains(got.body, token) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

func TestATeamSeesOnlyItsOwn(t *testing.T) {
	w := newWorld(t, simulator.WithToken(token, "blue"), simulator.WithToken("other-token", "green"))
	blue := w.AddDroplet(simulator.DropletSpec{Tags: []string{"x"}})
	green := w.AddDroplet(simulator.DropletSpec{Team: "green", Tags: []string{"x"}})
	lb := createLB(t, w, lbRequest("a"))
	other := w.clientFor("other-token")

	_, _, err := other.Droplets.Get(t.Context(), blue.ID)
	wantRefusal(t, err, 404, "The resource you were accessing could not be found.")
	_, _, err = other.LoadBalancers.Get(t.Context(), lb.ID)
	wantRefusal(t, err, 404, "The resource you requested could not be found.")
	if _, err := other.LoadBalancers.Delete(t.Context(), lb.ID); err == nil {
		t.Error("deleted another team's load balancer")
	}
	if got := dropletIDs(everyPage(t, 200, other.Droplets.List)); !slices.Equal(got, []int{green.ID}) {
		t.Errorf("green sees %v", got)
	}
	foreign := lbRequest("b")
	foreign.DropletIDs = []int{green.ID}
	_, _, err = w.client.LoadBalancers.Create(t.Context(), foreign)
	wantRefusal(t, err, 422, strconv.Itoa(green.ID))

	a, b := account(t, w), account(t, &world{t: t, client: other})
	if a.UUID == b.UUID || a.Team.UUID == b.Team.UUID || a.Team.Name != "blue" || b.Team.Name != "green" {
		t.Errorf("accounts %v and %v", a, b)
	}
	// The name is free in another team.
	if _, _, err := other.LoadBalancers.Create(t.Context(), lbRequest("a")); err != nil {
		t.Error(err)
	}
}

func TestAccountsOutliveARestart(t *testing.T) {
	first, second := newWorld(t), newWorld(t, simulator.WithSeed(99))
	if a, b := account(t, first), account(t, second); a.UUID != b.UUID || a.Team.UUID != b.Team.UUID {
		t.Errorf("accounts %v and %v", a, b)
	}
}

func TestRejectedTokensAreTakenAgainLater(t *testing.T) {
	w := newWorld(t)
	w.RejectTokens(true)
	if got := w.do("GET", "/v2/account", ""); got.status != 401 {
		t.Errorf("rejected: %d", got.status)
	}
	w.RejectTokens(false)
	if got := w.do("GET", "/v2/account", ""); got.status != 200 {
		t.Errorf("taken again: %d", got.status)
	}
}

func TestServesManyAtOnce(t *testing.T) {
	w := newWorld(t, simulator.WithRateLimit(0, 0))
	lb := createLB(t, w, lbRequest("a"))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				d := w.AddDroplet(simulator.DropletSpec{Tags: []string{"x"}})
				if _, err := w.client.LoadBalancers.AddDroplets(t.Context(), lb.ID, d.ID); err != nil {
					t.Error(err)
				}
				if _, _, err := w.client.Droplets.ListByTag(t.Context(), "x", nil); err != nil {
					t.Error(err)
				}
				if err := w.StopDroplet(d.ID); err != nil {
					t.Error(err)
				}
				w.Requests()
				w.LoadBalancers()
			}
		})
	}
	all.Wait()
	if got := w.LoadBalancers()[0].DropletIDs; len(got) != 160 {
		t.Errorf("%d droplets behind the load balancer, want 160", len(got))
	}
}
