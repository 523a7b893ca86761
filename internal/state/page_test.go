package state

import (
	"encoding/json"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func full() Report {
	return Report{
		Time: start, Version: "v1.2.3", Commit: "abc", Started: start.Add(-3 * time.Hour), Leads: true, Region: "nyc3", ClusterID: "c1",
		API: API{
			Checked: start, Class: "account", Message: "unable to authenticate you", Limit: 5000, Remaining: 4321, Reset: start.Add(time.Minute),
			Learned: start, MinuteUsed: 12, MinuteLimit: 250, Waiting: 3, PausedUntil: start.Add(time.Minute),
		},
		Snapshots:   []Snapshot{{Of: "droplets", Objects: 7, Listed: start.Add(-time.Minute), Oldest: start.Add(-5 * time.Minute)}},
		Controllers: []Controller{{"drift-controller", Run{Last: start.Add(-90 * time.Second), Error: "list load balancers: 503", Next: start.Add(4 * time.Minute)}}},
		Firewall:    &Firewall{ID: "fw-1", Name: "public", Rules: 3, Targets: 9, LeftOut: []string{"shop/late"}, AwaySince: start.Add(-time.Minute)},
		Services: []Service{{
			Namespace: "shop", Name: "web", Standing: StandingDiffers, AwaySince: start.Add(-10 * time.Minute), Synced: start.Add(-time.Second),
			LoadBalancer: LoadBalancer{ID: "lb-1", Name: `<script>alert("x")</script>`, Status: "active", Addresses: []string{"203.0.113.7"}, Droplets: 2},
			Differences:  []Difference{{"region", "nyc3 -> ams3", true}}, Error: "a quota", Result: ResultThrottled, Change: "size 1 -> 2", Changed: start.Add(-time.Hour),
		}},
		Nodes: []Node{{Name: "worker-1", ProviderID: "digitalocean://42", DropletID: 42, State: "gone", AwaySince: start.Add(-72 * time.Hour), Droplet: "worker-1", Status: "off", Addresses: []string{"10.0.0.2"}, Read: start}},
	}
}

func ask(t *testing.T, report Report, method, target, accept string) *httptest.ResponseRecorder {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequest(method, target, nil)
	r.Header.Set("Accept", accept)
	Handler(func() Report { return report }).ServeHTTP(w, r)
	return w
}

func TestWhoAsksGetsAPageOrJSON(t *testing.T) {
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	tests := []struct{ name, target, accept, want string }{
		{"browser", "/debug/state", browser, "text/html; charset=utf-8"},
		{"curl", "/debug/state", "*/*", "application/json"},
		{"nothing said", "/debug/state", "", "application/json"},
		{"JSON by header", "/debug/state", "application/json", "application/json"},
		{"JSON in a browser", "/debug/state?format=json", browser, "application/json"},
		{"page with curl", "/debug/state?format=html", "*/*", "text/html; charset=utf-8"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := ask(t, full(), "GET", test.target, test.accept)
			if got := w.Header().Get("Content-Type"); w.Code != 200 || got != test.want {
				t.Errorf("%d %q, want %q", w.Code, got, test.want)
			}
			if w.Header().Get("Cache-Control") != "no-store" {
				t.Error("an old state may be shown")
			}
		})
	}
	if w := ask(t, full(), "POST", "/debug/state", ""); w.Code != 405 {
		t.Errorf("POST is answered %d", w.Code)
	}
}

func TestJSONHoldsEverything(t *testing.T) {
	var got Report
	if err := json.Unmarshal(ask(t, full(), "GET", "/debug/state", "").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(full(), got); diff != "" {
		t.Error(diff)
	}
}

func TestPageShowsEverything(t *testing.T) {
	body := ask(t, full(), "GET", "/debug/state?format=html", "").Body.String()
	for _, want := range []string{
		"v1.2.3", "This replica does the work", "unable to authenticate you", "4321 of 5000", "12 of 250", "3 calls wait", "in 60 s",
		"shop/web", "lb-1", "203.0.113.7", "2026-03-01T11:50:00Z (10 min ago)", "<code>region</code> nyc3 -&gt; ams3", "can&#39;t be changed", "throttled", "a quota", "size 1 -&gt; 2", "looked at 1 s ago",
		"worker-1", "42", "gone", "3 days ago", "10.0.0.2",
		"drift-controller", "90 s ago", "in 4 min", "list load balancers: 503",
		"droplets", "5 min ago", "fw-1", "No room for shop/late",
	} {
		if !strings.Contains(body, want) && !strings.Contains(body, strings.ReplaceAll(want, "can&#39;t", "can't")) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(body)
	}
}

func TestPageCanDoNothingAndLoadsNothing(t *testing.T) {
	w := ask(t, full(), "GET", "/debug/state?format=html", "")
	for _, bad := range []string{`<script`, `src=`, `@import`, `url(`, `<link`, `http://`, `https://`} {
		if strings.Contains(w.Body.String(), bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("the policy is %q", policy)
	}
	if !regexp.MustCompile(`color-scheme: light dark`).MatchString(w.Body.String()) {
		t.Error("there is no dark page")
	}
}

func TestReplicaThatStandsBySaysSo(t *testing.T) {
	r := Report{Time: start, Services: []Service{}, Nodes: []Node{}}
	body := ask(t, r, "GET", "/debug/state?format=html", "").Body.String()
	if !strings.Contains(body, "stands by") || strings.Contains(body, "There is no Node") {
		t.Errorf("a replica that knows of no objects must not say that there are none:\n%s", body)
	}
	if got := ask(t, r, "GET", "/debug/state", "").Body.String(); !strings.Contains(got, `"nodes": []`) {
		t.Errorf("null for an empty list: %s", got)
	}
}
