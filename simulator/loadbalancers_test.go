package simulator_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/simulator"
)

func lbRequest(name string) *godo.LoadBalancerRequest {
	return &godo.LoadBalancerRequest{
		Name: name, Region: "nyc3",
		ForwardingRules: []godo.ForwardingRule{{EntryProtocol: "tcp", EntryPort: 80, TargetProtocol: "tcp", TargetPort: 30080}},
	}
}

func createLB(t *testing.T, w *world, req *godo.LoadBalancerRequest) *godo.LoadBalancer {
	t.Helper()
	made, resp, err := w.client.LoadBalancers.Create(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 202 || made.Status != "new" || made.IP != "" || made.ID == "" {
		t.Fatalf("created with %d: %+v", resp.StatusCode, made)
	}
	return made
}

func getLB(t *testing.T, w *world, id string) *godo.LoadBalancer {
	t.Helper()
	return must[*godo.LoadBalancer](t)(w.client.LoadBalancers.Get(t.Context(), id))
}

// defaults is what a load balancer of lbRequest is read as.
const defaults = `{"id":"ID","name":"a","ip":"192.0.2.2","size":"lb-small","size_unit":1,"type":"REGIONAL",
"algorithm":"round_robin","status":"active","created_at":"2026-03-01T12:00:00Z",
"forwarding_rules":[{"entry_protocol":"tcp","entry_port":80,"target_protocol":"tcp","target_port":30080,"certificate_id":"","tls_passthrough":false}],
"health_check":{"protocol":"http","port":80,"path":"/","check_interval_seconds":10,"response_timeout_seconds":5,"healthy_threshold":5,"unhealthy_threshold":3},
"sticky_sessions":{"type":"none"},"tag":"","droplet_ids":[],"redirect_http_to_https":false,"enable_proxy_protocol":false,
"enable_backend_keepalive":false,"disable_lets_encrypt_dns_records":false,"http_idle_timeout_seconds":60,
"firewall":{"deny":[],"allow":[]},"network":"EXTERNAL","network_stack":"IPV4","tls_cipher_policy":"DEFAULT"}`

// shown returns a load balancer as it is on the wire, without what names ids or
// belongs to the region.
func shown(t *testing.T, w *world, id string) map[string]any {
	t.Helper()
	var body struct {
		LoadBalancer map[string]any `json:"load_balancer"`
	}
	w.do("GET", "/v2/load_balancers/"+id, "").decode(t, &body)
	lb := body.LoadBalancer
	if region, ok := lb["region"].(map[string]any); !ok || region["slug"] != "nyc3" || region["sizes"] == nil {
		t.Errorf("region %v", lb["region"])
	}
	if lb["project_id"] == "" || lb["vpc_uuid"] == "" {
		t.Errorf("project %v, VPC %v", lb["project_id"], lb["vpc_uuid"])
	}
	delete(lb, "region")
	delete(lb, "project_id")
	delete(lb, "vpc_uuid")
	return lb
}

func wantDefaults(t *testing.T, id string) map[string]any {
	t.Helper()
	var want map[string]any
	answer{body: strings.ReplaceAll(defaults, "ID", id)}.decode(t, &want)
	return want
}

func TestDefaultsOfALoadBalancer(t *testing.T) {
	w := newWorld(t)
	made := createLB(t, w, lbRequest("a"))
	if diff := cmp.Diff(wantDefaults(t, made.ID), shown(t, w, made.ID)); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestPUTResetsWhatIsNotSent(t *testing.T) {
	w := newWorld(t)
	id := w.AddDroplet(simulator.DropletSpec{}).ID
	cert := w.AddCertificate(simulator.CertificateSpec{Name: "c"}).ID
	yes, idle := true, uint64(90)
	full := lbRequest("b")
	full.ForwardingRules = []godo.ForwardingRule{
		{EntryProtocol: "http", EntryPort: 80, TargetProtocol: "http", TargetPort: 80},
		{EntryProtocol: "https", EntryPort: 443, TargetProtocol: "http", TargetPort: 80, CertificateID: cert},
	}
	full.SizeUnit, full.DropletIDs, full.Tags = 6, []int{id, id}, []string{"mine"}
	full.HealthCheck = &godo.HealthCheck{Protocol: "tcp", Port: 30080, HealthyThreshold: 2}
	full.StickySessions = &godo.StickySessions{Type: "cookies", CookieName: "c1", CookieTtlSeconds: 300}
	full.RedirectHttpToHttps, full.EnableProxyProtocol, full.EnableBackendKeepalive = true, true, true
	full.DisableLetsEncryptDNSRecords, full.HTTPIdleTimeoutSeconds, full.TLSCipherPolicy = &yes, &idle, "strong"
	full.Firewall = &godo.LBFirewall{Allow: []string{"cidr:10.0.0.0/8"}, Deny: []string{"ip:1.2.3.4"}}
	made := createLB(t, w, full)

	got := getLB(t, w, made.ID)
	if got.SizeSlug != "lb-large" || got.SizeUnit != 6 || !slices.Equal(got.DropletIDs, []int{id}) || !slices.Equal(got.Tags, []string{"mine"}) {
		t.Errorf("size %s %d, droplets %v, tags %v", got.SizeSlug, got.SizeUnit, got.DropletIDs, got.Tags)
	}
	if want := (&godo.HealthCheck{
		Protocol: "tcp", Port: 30080, CheckIntervalSeconds: 10, ResponseTimeoutSeconds: 5, HealthyThreshold: 2, UnhealthyThreshold: 3,
	}); !cmp.Equal(want, got.HealthCheck) {
		t.Errorf("health check %+v", got.HealthCheck)
	}
	if !got.RedirectHttpToHttps || got.StickySessions.CookieName != "c1" || *got.HTTPIdleTimeoutSeconds != 90 ||
		got.TLSCipherPolicy != "STRONG" || got.Firewall.Allow[0] != "cidr:10.0.0.0/8" || !*got.DisableLetsEncryptDNSRecords {
		t.Errorf("read back %+v", got)
	}

	_, resp, err := w.client.LoadBalancers.Update(t.Context(), made.ID, lbRequest("a"))
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	want := wantDefaults(t, made.ID)
	want["tags"] = []any{"mine"}
	if diff := cmp.Diff(want, shown(t, w, made.ID)); diff != "" {
		t.Errorf("after a bare PUT (-want +got):\n%s", diff)
	}
}

func TestLifeOfALoadBalancer(t *testing.T) {
	w := newWorld(t, simulator.WithLoadBalancerActivation(time.Minute))
	dual := lbRequest("dual")
	dual.NetworkStack = "DUALSTACK"
	made := createLB(t, w, dual)
	w.advance(59 * time.Second)
	if got := getLB(t, w, made.ID); got.Status != "new" || got.IP != "" || got.IPv6 != "" {
		t.Errorf("young: %+v", got)
	}
	_, _, err := w.client.LoadBalancers.Update(t.Context(), made.ID, lbRequest("a"))
	wantRefusal(t, err, 403, "Load Balancer can't be updated while it processes previous actions")
	w.advance(time.Second)
	got := getLB(t, w, made.ID)
	if got.Status != "active" || got.IP == "" || got.IPv6 == "" {
		t.Errorf("ready: %+v", got)
	}
	ok(t)(w.client.LoadBalancers.Delete(t.Context(), made.ID))
	_, _, err = w.client.LoadBalancers.Get(t.Context(), made.ID)
	wantRefusal(t, err, 404, "The resource you requested could not be found.")
	_, err = w.client.LoadBalancers.Delete(t.Context(), made.ID)
	wantRefusal(t, err, 404, "")
}

func TestInternalLoadBalancersHaveAnAddressOfTheirVPC(t *testing.T) {
	w := newWorld(t)
	vpc := w.AddVPC("", "private", "nyc3")
	req := lbRequest("inside")
	req.Network, req.VPCUUID = "INTERNAL", vpc.ID
	got := getLB(t, w, createLB(t, w, req).ID)
	if prefix := strings.TrimSuffix(vpc.IPRange, "0.0/16"); !strings.HasPrefix(got.IP, prefix) || got.VPCUUID != vpc.ID {
		t.Errorf("address %s, VPC range %s", got.IP, vpc.IPRange)
	}
}

func TestABusyLoadBalancerRefusesWritesButDELETE(t *testing.T) {
	w := newWorld(t, simulator.WithBusyWindow(10*time.Second))
	id := w.AddDroplet(simulator.DropletSpec{}).ID
	lb := createLB(t, w, lbRequest("a"))
	rule := godo.ForwardingRule{EntryProtocol: "tcp", EntryPort: 81, TargetProtocol: "tcp", TargetPort: 81}
	client := w.client.LoadBalancers
	writes := map[string]func() error{
		"PUT":             func() error { _, _, err := client.Update(t.Context(), lb.ID, lbRequest("a")); return err },
		"add droplets":    func() error { _, err := client.AddDroplets(t.Context(), lb.ID, id); return err },
		"remove droplets": func() error { _, err := client.RemoveDroplets(t.Context(), lb.ID, id); return err },
		"add rules":       func() error { _, err := client.AddForwardingRules(t.Context(), lb.ID, rule); return err },
		"remove rules":    func() error { _, err := client.RemoveForwardingRules(t.Context(), lb.ID, rule); return err },
	}
	for _, name := range []string{"PUT", "add droplets", "remove droplets", "add rules", "remove rules"} {
		if err := writes[name](); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		w.advance(9 * time.Second)
		for second, write := range writes {
			if status, text := refusal(t, write()); status != 403 || text != "Load Balancer can't be updated while it processes previous actions" {
				t.Errorf("%s after %s: %d %s", second, name, status, text)
			}
		}
		w.advance(time.Second)
	}
	if err := writes["PUT"](); err != nil {
		t.Fatal(err)
	}
	if got := getLB(t, w, lb.ID); got.Status != "active" {
		t.Errorf("status while busy %s", got.Status)
	}
	ok(t)(client.Delete(t.Context(), lb.ID))
}

func TestSizeChangesAtMostOnceAMinute(t *testing.T) {
	w := newWorld(t)
	lb := createLB(t, w, lbRequest("a"))
	resize := func(units uint32) error {
		req := lbRequest("a")
		req.SizeUnit = units
		_, _, err := w.client.LoadBalancers.Update(t.Context(), lb.ID, req)
		return err
	}
	if err := resize(2); err != nil {
		t.Fatal(err)
	}
	w.advance(59 * time.Second)
	if err := resize(2); err != nil {
		t.Errorf("same size: %v", err)
	}
	wantRefusal(t, resize(3), 422, "Load Balancer can only be resized once every minute, last resized at: 2026-03-01T12:00:00Z")
	w.advance(time.Second)
	if err := resize(3); err != nil {
		t.Error(err)
	}
}

func TestListsByNamesAndIDs(t *testing.T) {
	w := newWorld(t)
	a, b, c := createLB(t, w, lbRequest("a")).ID, createLB(t, w, lbRequest("b")).ID, createLB(t, w, lbRequest("c")).ID
	ids := func(lbs []godo.LoadBalancer) []string {
		found := []string{}
		for _, lb := range lbs {
			found = append(found, lb.ID)
		}
		return found
	}
	list := must[[]godo.LoadBalancer](t)
	for name, tc := range map[string]struct{ got, want []string }{
		"all":     {ids(everyPage(t, 2, w.client.LoadBalancers.List)), []string{c, b, a}},
		"names":   {ids(list(w.client.LoadBalancers.ListByNames(t.Context(), []string{"a", "c", "x"}, nil))), []string{c, a}},
		"uuids":   {ids(list(w.client.LoadBalancers.ListByUUIDs(t.Context(), []string{b, "x"}, nil))), []string{b}},
		"unknown": {ids(list(w.client.LoadBalancers.ListByNames(t.Context(), []string{"x"}, nil))), []string{}},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDropletsOfALoadBalancer(t *testing.T) {
	w := newWorld(t)
	a, b, c := w.AddDroplet(simulator.DropletSpec{}).ID, w.AddDroplet(simulator.DropletSpec{}).ID, w.AddDroplet(simulator.DropletSpec{}).ID
	lb := createLB(t, w, lbRequest("a"))
	client := w.client.LoadBalancers
	want := func(stage string, ids ...int) {
		t.Helper()
		if got := getLB(t, w, lb.ID).DropletIDs; !slices.Equal(got, ids) {
			t.Errorf("%s: %v, want %v", stage, got, ids)
		}
	}
	_, err := client.AddDroplets(t.Context(), lb.ID)
	wantRefusal(t, err, 422, "need to provide either a tag or a list of droplets")
	ok(t)(client.AddDroplets(t.Context(), lb.ID, a, b))
	ok(t)(client.AddDroplets(t.Context(), lb.ID, b, c))
	want("added", a, b, c)
	_, err = client.AddDroplets(t.Context(), lb.ID, 1)
	wantRefusal(t, err, 422, "droplet 1 could not be found")
	ok(t)(client.RemoveDroplets(t.Context(), lb.ID, b, 1))
	want("removed", a, c)
	ok(t)(w.client.Droplets.Delete(t.Context(), a))
	want("one destroyed", c)
	if err := w.DeleteDroplet(c); err != nil {
		t.Fatal(err)
	}
	want("all destroyed")
	_, err = client.AddDroplets(t.Context(), "unknown", b)
	wantRefusal(t, err, 404, "The resource you requested could not be found.")
}

func TestATagSelectsDropletsLive(t *testing.T) {
	w := newWorld(t)
	a := w.AddDroplet(simulator.DropletSpec{Tags: []string{"k8s"}}).ID
	b := w.AddDroplet(simulator.DropletSpec{}).ID
	w.AddDroplet(simulator.DropletSpec{Tags: []string{"k8s"}, Region: "fra1"})
	req := lbRequest("a")
	req.Tag = "k8s"
	lb := createLB(t, w, req)
	if !slices.Equal(lb.DropletIDs, []int{a}) {
		t.Errorf("created with %v", lb.DropletIDs)
	}
	want := func(stage string, ids ...int) {
		t.Helper()
		if got := getLB(t, w, lb.ID); !slices.Equal(got.DropletIDs, ids) || got.Tag != "k8s" {
			t.Errorf("%s: %v by tag %q, want %v", stage, got.DropletIDs, got.Tag, ids)
		}
	}
	ok(t)(w.client.Tags.TagResources(t.Context(), "k8s", tagRequest("droplet", b)))
	want("tagged", a, b)
	ok(t)(w.client.Tags.UntagResources(t.Context(), "k8s", untagRequest("droplet", a)))
	want("untagged", b)
	if err := w.DeleteDroplet(b); err != nil {
		t.Fatal(err)
	}
	want("destroyed")
	w.AddDroplet(simulator.DropletSpec{Tags: []string{"k8s"}})
	ok(t)(w.client.Tags.Delete(t.Context(), "k8s"))
	want("tag deleted")
	_, err := w.client.LoadBalancers.AddDroplets(t.Context(), lb.ID, a)
	wantRefusal(t, err, 422, "only one of tag and droplet_ids")
}

func TestRulesAreAddedAtTheEndAndRemovedWhole(t *testing.T) {
	w := newWorld(t)
	lb := createLB(t, w, lbRequest("a"))
	first := lbRequest("a").ForwardingRules[0]
	udp := godo.ForwardingRule{EntryProtocol: "udp", EntryPort: 80, TargetProtocol: "udp", TargetPort: 80}
	client := w.client.LoadBalancers
	ok(t)(client.AddForwardingRules(t.Context(), lb.ID, udp))
	if got := getLB(t, w, lb.ID).ForwardingRules; !cmp.Equal(got, []godo.ForwardingRule{first, udp}) {
		t.Errorf("added: %v", got)
	}
	_, err := client.AddForwardingRules(t.Context(), lb.ID, udp)
	wantRefusal(t, err, 422, "entry port 80 is used by more than one forwarding rule")
	_, err = client.AddForwardingRules(t.Context(), lb.ID)
	wantRefusal(t, err, 422, "at least one forwarding rule is required")
	other := first
	other.TargetPort++
	_, err = client.RemoveForwardingRules(t.Context(), lb.ID, other)
	wantRefusal(t, err, 422, "could not be found")
	ok(t)(client.RemoveForwardingRules(t.Context(), lb.ID, first))
	_, err = client.RemoveForwardingRules(t.Context(), lb.ID, udp)
	wantRefusal(t, err, 422, "at least one forwarding rule is required")
	if got := getLB(t, w, lb.ID).ForwardingRules; !cmp.Equal(got, []godo.ForwardingRule{udp}) {
		t.Errorf("removed: %v", got)
	}
}

func TestValidateOnlyChangesNothing(t *testing.T) {
	w := newWorld(t)
	req := lbRequest("a")
	req.ValidateOnly = true
	got, resp, err := w.client.LoadBalancers.Create(t.Context(), req)
	if err != nil || resp.StatusCode != 200 || got.ID != "" || got.Name != "a" {
		t.Errorf("valid: %v %v %v", got, resp, err)
	}
	if n := len(w.LoadBalancers()); n != 0 {
		t.Errorf("%d load balancers were made", n)
	}
	if vpcs := must[[]*godo.VPC](t)(w.client.VPCs.List(t.Context(), nil)); len(vpcs) != 0 {
		t.Errorf("VPCs were made: %v", vpcs)
	}
	req.ForwardingRules = nil
	_, _, err = w.client.LoadBalancers.Create(t.Context(), req)
	wantRefusal(t, err, 422, "at least one forwarding rule is required")

	made := createLB(t, w, lbRequest("a"))
	change := lbRequest("b")
	change.ValidateOnly = true
	must[*godo.LoadBalancer](t)(w.client.LoadBalancers.Update(t.Context(), made.ID, change))
	if got := getLB(t, w, made.ID); got.Name != "a" {
		t.Errorf("renamed to %s", got.Name)
	}
}

func TestTagsOfALoadBalancerCanBeHidden(t *testing.T) {
	w := newWorld(t, simulator.WithHiddenLoadBalancerTags())
	req := lbRequest("a")
	req.Tags = []string{"mine"}
	made := createLB(t, w, req)
	if got := getLB(t, w, made.ID); len(made.Tags)+len(got.Tags) != 0 {
		t.Errorf("tags %v, %v", made.Tags, got.Tags)
	}
	if got := w.LoadBalancers()[0].Tags; !slices.Equal(got, []string{"mine"}) {
		t.Errorf("tags %v", got)
	}
}

func TestEditsByHand(t *testing.T) {
	w := newWorld(t, simulator.WithLoadBalancerActivation(time.Minute))
	lb := createLB(t, w, lbRequest("a"))
	edit := func(change func(*simulator.LoadBalancer)) *godo.LoadBalancer {
		t.Helper()
		if err := w.EditLoadBalancer(lb.ID, change); err != nil {
			t.Fatal(err)
		}
		return getLB(t, w, lb.ID)
	}
	if got := edit(func(lb *simulator.LoadBalancer) { lb.Status = "errored" }); got.Status != "errored" {
		t.Errorf("status %s", got.Status)
	}
	w.advance(time.Hour)
	if got := getLB(t, w, lb.ID); got.Status != "errored" {
		t.Errorf("status after an hour %s", got.Status)
	}
	got := edit(func(lb *simulator.LoadBalancer) {
		lb.Status, lb.ID, lb.SizeUnit = "active", "other", 4
		lb.ForwardingRules[0].TargetPort = 1
		lb.Firewall = simulator.LoadBalancerFirewall{}
	})
	if got.Status != "active" || got.ID != lb.ID || got.IP == "" || got.SizeUnit != 4 || got.ForwardingRules[0].TargetPort != 1 {
		t.Errorf("edited: %+v", got)
	}
	copies := w.LoadBalancers()
	copies[0].ForwardingRules[0].TargetPort = 2
	if got := getLB(t, w, lb.ID); got.ForwardingRules[0].TargetPort != 1 {
		t.Error("the copy is none")
	}
}

func TestBYOIPAddressesCanBeBroughtAlong(t *testing.T) {
	w := newWorld(t)
	w.AddBYOIPAddress("", "198.51.100.9", "nyc3")
	req := lbRequest("a")
	req.IP = "198.51.100.8"
	_, _, err := w.client.LoadBalancers.Create(t.Context(), req)
	wantRefusal(t, err, 422, "198.51.100.8 is not an address of yours")
	req.IP = "198.51.100.9"
	made := createLB(t, w, req)
	if got := getLB(t, w, made.ID); got.IP != req.IP {
		t.Errorf("address %s", got.IP)
	}
	req.Name = "b"
	_, _, err = w.client.LoadBalancers.Create(t.Context(), req)
	wantRefusal(t, err, 422, "already assigned")
	ok(t)(w.client.LoadBalancers.Delete(t.Context(), made.ID))
	createLB(t, w, req)
}

func TestALoadBalancerDeletedByHand(t *testing.T) {
	w := newWorld(t)
	id := createLB(t, w, lbRequest("a")).ID
	w.control("DELETE", "load_balancers/"+id, "", 204)
	_, _, err := w.client.LoadBalancers.Get(t.Context(), id)
	wantRefusal(t, err, 404, "")
	w.control("DELETE", "load_balancers/"+id, "", 404)
	if got := len(w.Requests()); got != 2 {
		t.Errorf("%d requests, want those of the API only", got)
	}
}
