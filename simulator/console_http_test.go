package simulator_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"digitalocean-cloud-controller-manager/simulator"
)

const browsersAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// ask sends a request as it is, with these headers.
func (w *world) ask(method, path, body string, headers map[string]string) answer {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for name, value := range headers {
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	return w.send(req)
}

func TestConsoleIsForBrowsersOnly(t *testing.T) {
	w := newWorld(t)
	for _, tc := range []struct {
		method, path, accept string
		status               int
		contentType          string
	}{
		{"GET", "/", browsersAccept, 200, "text/html; charset=utf-8"},
		{"HEAD", "/", browsersAccept, 200, "text/html; charset=utf-8"},
		{"GET", "/console/app.js", "*/*", 200, "text/javascript; charset=utf-8"},
		{"GET", "/console/style.css", "text/css", 200, "text/css; charset=utf-8"},
		{"GET", "/console/icon.svg", "image/*", 200, "image/svg+xml"},
		// All else is the API's, which asks for a token first.
		{"GET", "/", "*/*", 401, "application/json; charset=utf-8"},
		{"GET", "/", "application/json", 401, "application/json; charset=utf-8"},
		{"POST", "/", browsersAccept, 401, "application/json; charset=utf-8"},
		{"GET", "/v2/droplets", browsersAccept, 401, "application/json; charset=utf-8"},
		{"GET", "/console/", browsersAccept, 401, "application/json; charset=utf-8"},
		{"GET", "/console/none.js", "*/*", 401, "application/json; charset=utf-8"},
		{"GET", "/console/../console.go", "*/*", 401, "application/json; charset=utf-8"},
		{"POST", "/console/app.js", "*/*", 401, "application/json; charset=utf-8"},
	} {
		got := w.ask(tc.method, tc.path, "", map[string]string{"Accept": tc.accept})
		if got.status != tc.status || got.header.Get("Content-Type") != tc.contentType {
			t.Errorf("%s %s (%s): %d %s, want %d %s", tc.method, tc.path, tc.accept, got.status, got.header.Get("Content-Type"), tc.status, tc.contentType)
		}
	}
	before := len(w.Requests())
	w.ask("GET", "/", "", map[string]string{"Accept": browsersAccept})
	if got := len(w.Requests()); got != before {
		t.Error("the page is in the log of the API")
	}
}

func TestConsoleIsGuarded(t *testing.T) {
	w := newWorld(t)
	got := w.ask("GET", "/", "", map[string]string{"Accept": browsersAccept})
	policy := got.header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "form-action 'none'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("policy %q lacks %q", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
	for _, name := range []string{"X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "Cross-Origin-Opener-Policy"} {
		if got.header.Get(name) == "" {
			t.Errorf("no header %s", name)
		}
	}
	for _, outside := range []string{"http://", "https://", "style=", "onclick", "<script>"} {
		if strings.Contains(got.body, outside) {
			t.Errorf("the page contains %s", outside)
		}
	}
	again := w.ask("GET", "/", "", map[string]string{"Accept": browsersAccept, "If-None-Match": got.header.Get("Etag")})
	if again.status != http.StatusNotModified {
		t.Errorf("read again: %d", again.status)
	}
}

func TestOtherSitesChangeNothing(t *testing.T) {
	w := newWorld(t)
	id := w.AddDroplet(simulator.DropletSpec{}).ID
	stop := fmt.Sprintf("%sdroplets/%d/stop", simulator.ControlPath, id)
	port := w.url[strings.LastIndex(w.url, ":"):]
	for name, tc := range map[string]struct {
		headers map[string]string
		status  int
	}{
		"curl":                   {nil, 204},
		"the page":               {map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": w.url}, 204},
		"the page as localhost":  {map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost" + port, "Host": "localhost" + port}, 204},
		"another site":           {map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, 403},
		"another port":           {map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:1"}, 403},
		"an old browser":         {map[string]string{"Origin": "https://evil.example"}, 403},
		"a name made to lead us": {map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example" + port, "Host": "evil.example" + port}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			if err := w.StartDroplet(id); err != nil {
				t.Fatal(err)
			}
			got := w.ask("POST", stop, "", tc.headers)
			d, _ := w.Droplet(id)
			if got.status != tc.status || (d.Status == "off") != (tc.status == 204) {
				t.Errorf("%d %s, droplet is %s; want %d", got.status, got.body, d.Status, tc.status)
			}
		})
	}
}

// overviewShape is what the tests look at of the console's reading.
type overviewShape struct {
	Droplets struct {
		Items []struct{ Name string }
		Found int
		Total int
	}
	LoadBalancers struct {
		Items []struct {
			Name         string
			Region       string
			BackendCount int `json:"backend_count"`
			BackendsOn   int `json:"backends_on"`
			Backends     []struct{ Name, Status string }
		}
	} `json:"load_balancers"`
	Traffic struct {
		Budgets []struct {
			Token        string
			Limit        int
			Used         int
			UsedInMinute int `json:"used_in_minute"`
			Frees        time.Time
		}
		Minutes  []struct{ Calls, Failed int }
		Requests []map[string]any
		Logged   int
	}
}

func (w *world) overview(query string) overviewShape {
	w.t.Helper()
	var shape overviewShape
	w.control("GET", "overview"+query, "", 200).decode(w.t, &shape)
	return shape
}

func TestOverviewIsBounded(t *testing.T) {
	w := newWorld(t, simulator.WithRateLimit(0, 0))
	ids := []string{}
	for i := range 150 {
		ids = append(ids, strconv.Itoa(w.AddDroplet(simulator.DropletSpec{Name: fmt.Sprintf("n-%d", i)}).ID))
	}
	lb := createLB(t, w, lbRequest("a"))
	w.control("PATCH", "load_balancers/"+lb.ID, `{"droplet_ids":[`+strings.Join(ids, ",")+`]}`, 200)
	for range 120 {
		w.do("POST", "/v2/tags", `{"name":"x"}`)
	}
	got := w.overview("")
	if len(got.Droplets.Items) != 100 || got.Droplets.Found != 150 || got.Droplets.Items[0].Name != "n-149" {
		t.Errorf("droplets: %d of %d, first %s", len(got.Droplets.Items), got.Droplets.Found, got.Droplets.Items[0].Name)
	}
	card := got.LoadBalancers.Items[0]
	if card.BackendCount != 150 || card.BackendsOn != 150 || len(card.Backends) != 60 || card.Region != "nyc3" {
		t.Errorf("load balancer: %d, %d on, %d shown, in %s", card.BackendCount, card.BackendsOn, len(card.Backends), card.Region)
	}
	if len(got.Traffic.Requests) != 100 || got.Traffic.Logged < 120 || got.Traffic.Requests[0]["body"] != nil {
		t.Errorf("requests: %d of %d, first %v", len(got.Traffic.Requests), got.Traffic.Logged, got.Traffic.Requests[0])
	}
	if found := w.overview("?q=N-14"); found.Droplets.Found != 11 || found.Droplets.Total != 150 {
		t.Errorf("search found %d of %d", found.Droplets.Found, found.Droplets.Total)
	}
	w.overview("?team=none")
	if teams := w.State().Teams; len(teams) != 1 {
		t.Errorf("looking made a team: %d", len(teams))
	}
}

func TestOverviewOfTraffic(t *testing.T) {
	w := newWorld(t, simulator.WithRateLimit(100, 3))
	for range 5 {
		w.do("GET", "/v2/account", "")
	}
	w.advance(2 * time.Minute)
	w.do("POST", "/v2/tags", `{"name":"x"}`)
	w.doAs("", "GET", "/v2/account", "")
	got := w.overview("?kind=failed").Traffic
	last := got.Minutes[59]
	if past := got.Minutes[57]; len(got.Minutes) != 60 || past.Calls != 5 || past.Failed != 2 || last.Calls != 2 || last.Failed != 1 {
		t.Errorf("minutes %+v, %+v", past, last)
	}
	if b := got.Budgets[0]; len(got.Budgets) != 1 || b.Used != 4 || b.UsedInMinute != 1 || b.Limit != 100 || b.Token != "cdef" || !b.Frees.Equal(start.Add(time.Hour)) {
		t.Errorf("budgets %+v", got.Budgets)
	}
	if len(got.Requests) != 3 || got.Requests[0]["status"] != 401.0 {
		t.Errorf("failed requests %v", got.Requests)
	}
	if writes := w.overview("?kind=writes&log=/V2/TAGS").Traffic.Requests; len(writes) != 1 {
		t.Errorf("writes %v", writes)
	}
	w.advance(time.Hour)
	later := w.overview("").Traffic
	if later.Budgets[0].Used != 0 || later.Minutes[59].Calls != 0 {
		t.Errorf("an hour later %+v", later.Budgets)
	}
}

func TestControlOfOneRequestAndBackend(t *testing.T) {
	w := newWorld(t)
	w.do("POST", "/v2/tags", `{"name":"x"}`)
	var shown struct{ Request simulator.Request }
	w.control("GET", "requests/1", "", 200).decode(t, &shown)
	if string(shown.Request.Body) != `{"name":"x"}` {
		t.Errorf("body %s", shown.Request.Body)
	}
	for _, path := range []string{"requests/2", "requests/x"} {
		w.control("GET", path, "", 404)
	}
	first, second := w.AddDroplet(simulator.DropletSpec{Tags: []string{"x"}}).ID, w.AddDroplet(simulator.DropletSpec{}).ID
	lb := createLB(t, w, lbRequest("a")).ID
	w.control("PATCH", "load_balancers/"+lb, fmt.Sprintf(`{"droplet_ids":[%d,%d]}`, first, second), 200)
	path := fmt.Sprintf("load_balancers/%s/droplets/%d", lb, first)
	w.control("DELETE", path, "", 204)
	if got := getLB(t, w, lb).DropletIDs; len(got) != 1 || got[0] != second {
		t.Errorf("droplets %v", got)
	}
	w.control("DELETE", path, "", 404)
	w.control("DELETE", "load_balancers/"+lb+"/droplets/x", "", 404)
	w.control("DELETE", "load_balancers/x/droplets/1", "", 404)
	w.control("PATCH", "load_balancers/"+lb, `{"tag":"x"}`, 200)
	if refused := w.control("DELETE", path, "", 400); !strings.Contains(refused.body, "tag x") {
		t.Errorf("refused with %s", refused.body)
	}
}
