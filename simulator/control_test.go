package simulator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/simulator"
)

// control asks the control surface, which needs no token.
func (w *world) control(method, path, body string, want int) answer {
	w.t.Helper()
	got := w.doAs("", method, simulator.ControlPath+path, body)
	if got.status != want {
		w.t.Fatalf("%s %s: %d %s, want %d", method, path, got.status, got.body, want)
	}
	return got
}

func TestControlOfDroplets(t *testing.T) {
	w := newWorld(t)
	var made struct{ Droplet simulator.Droplet }
	w.control("POST", "droplets", `{"name":"n1","region":"fra1","ipv6":true,"tags":["a"],"created_at":"2026-02-01T00:00:00Z"}`, 201).decode(t, &made)
	d := made.Droplet
	if d.Name != "n1" || d.Region.Slug != "fra1" || len(d.Networks.V6) != 1 || !d.CreatedAt.Equal(start.AddDate(0, -1, 0).Add(-12*time.Hour)) {
		t.Errorf("made %+v", d)
	}
	w.control("POST", "droplets", "", 201)
	path := fmt.Sprintf("droplets/%d", d.ID)
	status := func() string { got, _ := w.Droplet(d.ID); return got.Status }
	w.control("POST", path+"/stop", "", 204)
	if got := status(); got != "off" {
		t.Errorf("stopped: %s", got)
	}
	w.control("POST", path+"/start", "", 204)
	if got := status(); got != "active" {
		t.Errorf("started: %s", got)
	}
	w.control("PATCH", path, `{"name":"n2","size":"s-4vcpu-8gb","tags":["b","c"],"public_ipv4":"","public_ipv6":"2001:db8::9"}`, 200)
	got, _ := w.Droplet(d.ID)
	if got.Name != "n2" || got.SizeSlug != "s-4vcpu-8gb" || got.Memory != 8192 || !slices.Equal(got.Tags, []string{"b", "c"}) ||
		len(got.Networks.V4) != 1 || got.Networks.V6[0].IPAddress != "2001:db8::9" {
		t.Errorf("patched %+v", got)
	}
	w.control("DELETE", path, "", 204)
	if _, found := w.Droplet(d.ID); found {
		t.Error("still there")
	}
}

func TestControlRefusals(t *testing.T) {
	w := newWorld(t)
	id := w.AddDroplet(simulator.DropletSpec{}).ID
	lb := createLB(t, w, lbRequest("a")).ID
	for _, tc := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "nothing", "", 404},
		{"PUT", "settings", "", 405},
		{"POST", "droplets", `{"nmae":"x"}`, 400},
		{"POST", "droplets", `{`, 400},
		{"DELETE", "droplets/7", "", 404},
		{"DELETE", "droplets/x", "", 404},
		{"POST", "droplets/7/stop", "", 404},
		{"PATCH", "droplets/7", "{}", 404},
		{"PATCH", fmt.Sprintf("droplets/%d", id), `{"public_ipv4":"x"}`, 400},
		{"PATCH", fmt.Sprintf("droplets/%d", id), `{"public_ipv4":"::1"}`, 400},
		{"PATCH", "load_balancers/x", "{}", 404},
		{"PATCH", "load_balancers/" + lb, `{"nmae":"x"}`, 400},
		{"PATCH", "load_balancers/" + lb, `[]`, 400},
		{"GET", "requests?since=yesterday", "", 400},
		{"POST", "faults", `{"status":42}`, 400},
		{"POST", "faults", `{"stauts":500}`, 400},
		{"DELETE", "faults/x", "", 404},
		{"PATCH", "settings", `{"latency":5}`, 400},
		{"PATCH", "settings", `{"latancy":"5s"}`, 400},
		{"POST", "certificates/x/rotate", "", 404},
		{"DELETE", "certificates/x", "", 404},
	} {
		var refused struct{ Error string }
		w.control(tc.method, tc.path, tc.body, tc.status).decode(t, &refused)
		if refused.Error == "" {
			t.Errorf("%s %s: no reason", tc.method, tc.path)
		}
	}
}

func TestControlOfLoadBalancers(t *testing.T) {
	w := newWorld(t)
	req := lbRequest("a")
	req.ForwardingRules = append(req.ForwardingRules, rule("udp", 81, "udp", 81))
	id := createLB(t, w, req).ID
	var answered struct {
		LoadBalancer simulator.LoadBalancer `json:"load_balancer"`
	}
	w.control("PATCH", "load_balancers/"+id, `{"status":"errored","size_unit":5,
		"forwarding_rules":[{"entry_protocol":"http","entry_port":8080,"target_protocol":"http","target_port":80}],
		"health_check":{"port":99},"firewall":{"deny":["ip:192.0.2.9"]}}`, 200).decode(t, &answered)
	got := getLB(t, w, id)
	if got.Status != "errored" || got.SizeUnit != 5 || got.Name != "a" || answered.LoadBalancer.SizeUnit != 5 {
		t.Errorf("read back %+v", got)
	}
	if len(got.ForwardingRules) != 1 || got.ForwardingRules[0] != rule("http", 8080, "http", 80) {
		t.Errorf("rules %+v", got.ForwardingRules)
	}
	if got.HealthCheck.Port != 99 || got.HealthCheck.Protocol != "http" || !slices.Equal(got.Firewall.Deny, []string{"ip:192.0.2.9"}) {
		t.Errorf("health check %+v, firewall %+v", got.HealthCheck, got.Firewall)
	}
}

func TestControlOfTheLog(t *testing.T) {
	w := newWorld(t)
	w.do("GET", "/v2/account", "")
	w.do("POST", "/v2/tags", `{"name":"x"}`)
	w.do("GET", "/v2/tags/x", "")
	for query, want := range map[string][]int64{
		"":                              {1, 2, 3},
		"?since=1":                      {2, 3},
		"?method=get":                   {1, 3},
		"?path=/v2/tags":                {2, 3},
		"?since=2&method=GET&path=/v2/": {3},
		"?since=3":                      {},
	} {
		var body struct {
			Requests     []simulator.Request
			LastSequence int64 `json:"last_sequence"`
		}
		w.control("GET", "requests"+query, "", 200).decode(t, &body)
		got := []int64{}
		for _, r := range body.Requests {
			got = append(got, r.Sequence)
		}
		if body.LastSequence != 3 || !slices.Equal(got, want) {
			t.Errorf("%q: %v, last %d; want %v", query, got, body.LastSequence, want)
		}
	}
	w.control("DELETE", "requests", "", 204)
	if got := w.Requests(); len(got) != 0 {
		t.Errorf("after deletion %v", got)
	}
}

func TestControlOfFaults(t *testing.T) {
	w := newWorld(t)
	var made struct{ ID int }
	w.control("POST", "faults", `{"method":"GET","path":"/v2/account","count":2,"status":503,"body":"away"}`, 201).decode(t, &made)
	if got := w.do("GET", "/v2/account", ""); got.status != 503 || got.body != "away" {
		t.Errorf("with the fault: %d %s", got.status, got.body)
	}
	if got := w.control("GET", "faults", "", 200); !strings.Contains(got.body, `"hits":1`) {
		t.Errorf("faults %s", got.body)
	}
	w.control("DELETE", fmt.Sprintf("faults/%d", made.ID), "", 204)
	if got := w.do("GET", "/v2/account", ""); got.status != 200 {
		t.Errorf("without: %d", got.status)
	}
	w.control("POST", "faults", `{"status":500}`, 201)
	w.control("DELETE", "faults", "", 204)
	if got := w.do("GET", "/v2/account", ""); got.status != 200 {
		t.Errorf("cleared: %d", got.status)
	}
}

func TestControlOfSettings(t *testing.T) {
	w := newWorld(t)
	w.control("PATCH", "settings", `{"load_balancer_activation":"30s","droplet_activation":"5s","busy_window":"10s","action_duration":"3s",
		"firewall_activation":"2s","certificate_verification":"4s","certificate_release":"6s","list_lag":{"*":"8s"},
		"resize_interval":"1h","latency":"1ms","rate_limit_per_hour":100,"rate_limit_per_minute":9,"hide_load_balancer_tags":true,"refuse_zero_ports":true,"public_address_delay":"7s",
		"metadata_droplet":7,"account_status":"warning","activation_reads":2,"limits":{"load_balancers":4,"volumes":0}}`, 200)
	want := simulator.Settings{
		LoadBalancerActivation: 30 * time.Second, DropletActivation: 5 * time.Second, ActionDuration: 3 * time.Second,
		FirewallActivation: 2 * time.Second, CertificateVerification: 4 * time.Second, CertificateRelease: 6 * time.Second,
		ListLag:    map[string]time.Duration{"*": 8 * time.Second},
		BusyWindow: 10 * time.Second, ResizeInterval: time.Hour, Latency: time.Millisecond,
		RateLimitPerHour: 100, RateLimitPerMinute: 9, HideLoadBalancerTags: true, RefuseZeroPorts: true, PublicAddressDelay: 7 * time.Second, MetadataDroplet: 7,
		AccountStatus: "warning", ActivationReads: 2,
		Limits: simulator.Limits{Droplets: 25_000, LoadBalancers: 4, ReservedIPs: 100},
	}
	if diff := cmp.Diff(want, w.Settings()); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	lb := createLB(t, w, lbRequest("a"))
	if got := getLB(t, w, lb.ID); got.Status != "new" {
		t.Errorf("status %s", got.Status)
	}
	// A patch leaves the rest alone, and what is on its way keeps its time.
	var shown simulator.SettingsPatch
	w.control("PATCH", "settings", `{"load_balancer_activation":"0s","reject_tokens":true}`, 200).decode(t, &shown)
	if time.Duration(*shown.BusyWindow) != 10*time.Second || !*shown.RejectTokens {
		t.Errorf("shown %+v", shown)
	}
	if got := w.do("GET", "/v2/account", ""); got.status != 401 {
		t.Errorf("rejected token: %d", got.status)
	}
	if got := w.LoadBalancers()[0].Status; got != "new" {
		t.Errorf("status %s", got)
	}
	w.control("GET", "settings", "", 200)
}

func TestControlOfCertificates(t *testing.T) {
	w := newWorld(t)
	var made struct{ Certificate simulator.Certificate }
	w.control("POST", "certificates", `{"name":"c"}`, 201).decode(t, &made)
	first := made.Certificate.ID
	w.control("POST", "certificates/"+first+"/rotate", "", 200).decode(t, &made)
	if made.Certificate.ID == first || made.Certificate.Name != "c" {
		t.Errorf("rotated %+v", made)
	}
	w.control("DELETE", "certificates/"+first, "", 404)
	w.control("DELETE", "certificates/"+made.Certificate.ID, "", 204)
}

func TestStateShowsEverything(t *testing.T) {
	w := newWorld(t, simulator.WithToken(token, "blue"), simulator.WithToken("t2", "green"))
	w.AddDroplet(simulator.DropletSpec{Tags: []string{"x"}})
	w.AddDroplet(simulator.DropletSpec{Team: "green"})
	w.AddCertificate(simulator.CertificateSpec{Name: "c"})
	createLB(t, w, lbRequest("a"))
	w.AddFault(simulator.Fault{Path: "/v2/none", Status: 500})
	var state simulator.State
	w.control("GET", "state", "", 200).decode(t, &state)
	if len(state.Teams) != 2 || state.Teams[0].Name != "blue" || state.Teams[1].Name != "green" {
		t.Fatalf("teams %+v", state.Teams)
	}
	blue, green := state.Teams[0], state.Teams[1]
	got := []int{len(blue.Droplets), len(blue.LoadBalancers), len(blue.Tags), len(blue.VPCs), len(blue.Certificates), len(green.Droplets), len(state.Faults)}
	if diff := cmp.Diff([]int{1, 1, 1, 1, 1, 1, 1}, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}
