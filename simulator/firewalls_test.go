package simulator_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/simulator"
)

func inbound(protocol, ports string, addresses ...string) godo.InboundRule {
	return godo.InboundRule{Protocol: protocol, PortRange: ports, Sources: &godo.Sources{Addresses: addresses}}
}

func outbound(protocol, ports string, addresses ...string) godo.OutboundRule {
	return godo.OutboundRule{Protocol: protocol, PortRange: ports, Destinations: &godo.Destinations{Addresses: addresses}}
}

func firewallRequest(name string) *godo.FirewallRequest {
	return &godo.FirewallRequest{Name: name, InboundRules: []godo.InboundRule{inbound("tcp", "22", "0.0.0.0/0", "::/0")}}
}

func createFirewall(t *testing.T, w *world, req *godo.FirewallRequest) *godo.Firewall {
	t.Helper()
	made, resp, err := w.client.Firewalls.Create(t.Context(), req)
	if err != nil || resp.StatusCode != 202 {
		t.Fatalf("created with %v: %v", resp, err)
	}
	return made
}

func getFirewall(t *testing.T, w *world, id string) *godo.Firewall {
	t.Helper()
	return must[*godo.Firewall](t)(w.client.Firewalls.Get(t.Context(), id))
}

func TestLifeOfAFirewall(t *testing.T) {
	w := newWorld(t, simulator.WithFirewallActivation(10*time.Second))
	d1, d2 := w.AddDroplet(simulator.DropletSpec{}), w.AddDroplet(simulator.DropletSpec{Tags: []string{"web"}})
	req := firewallRequest("fw")
	req.DropletIDs, req.Tags = []int{d1.ID, d1.ID}, []string{"web"}
	made := createFirewall(t, w, req)
	pending := []godo.PendingChange{{DropletID: d1.ID, Status: "waiting"}, {DropletID: d2.ID, Status: "waiting"}}
	if diff := cmp.Diff(pending, made.PendingChanges); diff != "" || made.Status != "waiting" || made.ID == "" {
		t.Errorf("made %+v\n%s", made, diff)
	}
	w.advance(10 * time.Second)
	got := getFirewall(t, w, made.ID)
	if got.Status != "succeeded" || len(got.PendingChanges) != 0 || !slices.Equal(got.DropletIDs, []int{d1.ID}) ||
		!slices.Equal(got.Tags, []string{"web"}) || got.Created != "2026-03-01T12:00:00Z" {
		t.Errorf("applied %+v", got)
	}
	for _, id := range []int{d1.ID, d2.ID} {
		if list := must[[]godo.Firewall](t)(w.client.Firewalls.ListByDroplet(t.Context(), id, nil)); len(list) != 1 {
			t.Errorf("firewalls of droplet %d: %v", id, list)
		}
	}
	// A PUT without droplets takes them away.
	updated := must[*godo.Firewall](t)(w.client.Firewalls.Update(t.Context(), made.ID, firewallRequest("new-name")))
	if updated.Name != "new-name" || len(updated.DropletIDs) != 0 || len(updated.Tags) != 0 || updated.Status != "waiting" ||
		len(updated.PendingChanges) != 2 || !updated.PendingChanges[0].Removing {
		t.Errorf("updated %+v", updated)
	}
	ok(t)(w.client.Firewalls.Delete(t.Context(), made.ID))
	_, _, err := w.client.Firewalls.Get(t.Context(), made.ID)
	wantRefusal(t, err, 404, "")
}

func TestAFirewallWithoutDropletsIsAppliedAtOnce(t *testing.T) {
	w := newWorld(t, simulator.WithFirewallActivation(time.Hour))
	made := createFirewall(t, w, firewallRequest("fw"))
	if made.Status != "succeeded" || len(made.PendingChanges) != 0 {
		t.Errorf("made %+v", made)
	}
	text := w.do("GET", "/v2/firewalls/"+made.ID, "").body
	for _, want := range []string{`"droplet_ids":[]`, `"tags":[]`, `"outbound_rules":[]`, `"pending_changes":[]`, `"sources":{"addresses":["0.0.0.0/0","::/0"]}`} {
		if !strings.Contains(text, want) {
			t.Errorf("read back %s, want %s in it", text, want)
		}
	}
}

func TestPortsOfAFirewallRule(t *testing.T) {
	for _, tc := range []struct{ protocol, sent, want string }{
		{"tcp", "22", "22"}, {"udp", "8000-9000", "8000-9000"}, {"TCP", "all", "0"}, {"tcp", "1-65535", "0"}, {"tcp", "0", "0"},
		{"icmp", "", "0"}, {"icmp", "0", "0"}, {"icmp", "all", "0"},
		{"tcp", "", ""}, {"udp", "", ""}, {"icmp", "8", ""}, {"tcp", "22,80", ""}, {"tcp", "90-80", ""}, {"tcp", "65536", ""},
		{"tcp", "-1", ""}, {"tcp", "0-80", ""}, {"tcp", "ssh", ""}, {"gre", "22", ""}, {"", "22", ""},
	} {
		t.Run(tc.protocol+" "+tc.sent, func(t *testing.T) {
			w := newWorld(t)
			req := &godo.FirewallRequest{Name: "fw", OutboundRules: []godo.OutboundRule{outbound(tc.protocol, tc.sent, "192.0.2.1")}}
			made, _, err := w.client.Firewalls.Create(t.Context(), req)
			if tc.want == "" {
				wantRefusal(t, err, 422, "")
				return
			}
			if err != nil || made.OutboundRules[0].PortRange != tc.want {
				t.Errorf("read back %+v, %v", made, err)
			}
		})
	}
}

func TestZeroPortsMayBeRefused(t *testing.T) {
	w := newWorld(t, simulator.WithZeroPortsRefused())
	ctx := t.Context()
	req := func(name, protocol, ports string) *godo.FirewallRequest {
		return &godo.FirewallRequest{Name: name, InboundRules: []godo.InboundRule{inbound(protocol, ports, "192.0.2.1")}}
	}
	_, _, err := w.client.Firewalls.Create(ctx, req("zero", "tcp", "0"))
	wantRefusal(t, err, 422, "You must specify a positive value for ports.")
	for _, accepted := range []*godo.FirewallRequest{req("all", "tcp", "all"), req("ping", "icmp", "0")} {
		f := createFirewall(t, w, accepted)
		_, _, err := w.client.Firewalls.Update(ctx, f.ID, req(f.Name, "udp", "0"))
		wantRefusal(t, err, 422, "You must specify a positive value for ports.")
		// What is removed is named as it was read.
		ok(t)(w.client.Firewalls.AddRules(ctx, f.ID, &godo.FirewallRulesRequest{InboundRules: []godo.InboundRule{inbound("tcp", "9", "192.0.2.1")}}))
		ok(t)(w.client.Firewalls.RemoveRules(ctx, f.ID, &godo.FirewallRulesRequest{InboundRules: f.InboundRules}))
	}
}

func manyRules(n int) []godo.InboundRule {
	rules := []godo.InboundRule{}
	for i := range n {
		rules = append(rules, inbound("tcp", fmt.Sprint(i+1), "192.0.2.1"))
	}
	return rules
}

func TestRefusedFirewalls(t *testing.T) {
	w := newWorld(t)
	createFirewall(t, w, firewallRequest("taken"))
	ids, tags := []int{}, []string{}
	for i := range 11 {
		tags = append(tags, fmt.Sprintf("t%d", i))
		ids = append(ids, w.AddDroplet(simulator.DropletSpec{Tags: tags[i:]}).ID)
	}
	many := []string{}
	for i := range 1001 {
		many = append(many, fmt.Sprintf("10.0.%d.%d", i/256, i%256))
	}
	for name, tc := range map[string]struct {
		change func(*godo.FirewallRequest)
		status int
		want   string
	}{
		"name taken":          {func(r *godo.FirewallRequest) { r.Name = "taken" }, 409, "duplicate name"},
		"bad name":            {func(r *godo.FirewallRequest) { r.Name = "a_b" }, 422, "name is invalid"},
		"short name":          {func(r *godo.FirewallRequest) { r.Name = "a" }, 422, "name is invalid"},
		"no rules":            {func(r *godo.FirewallRequest) { r.InboundRules = nil }, 422, "at least one"},
		"no sources":          {func(r *godo.FirewallRequest) { r.InboundRules[0].Sources = nil }, 422, "at least one source"},
		"bad address":         {func(r *godo.FirewallRequest) { r.InboundRules[0] = inbound("tcp", "22", "") }, 422, "invalid address"},
		"bad action":          {func(r *godo.FirewallRequest) { r.InboundRules[0].Action = "maybe" }, 422, "action"},
		"unknown droplet":     {func(r *godo.FirewallRequest) { r.DropletIDs = []int{7} }, 422, "droplet 7"},
		"unknown tag":         {func(r *godo.FirewallRequest) { r.Tags = []string{"nope"} }, 422, `tag "nope"`},
		"unknown source":      {func(r *godo.FirewallRequest) { r.InboundRules[0].Sources.LoadBalancerUIDs = []string{"x"} }, 422, "load balancer"},
		"unknown cluster":     {func(r *godo.FirewallRequest) { r.InboundRules[0].Sources.KubernetesIDs = []string{"x"} }, 422, "kubernetes"},
		"unknown source drop": {func(r *godo.FirewallRequest) { r.InboundRules[0].Sources.DropletIDs = []int{7} }, 422, "droplet 7"},
		"duplicate rule": {func(r *godo.FirewallRequest) {
			r.InboundRules = append(r.InboundRules, inbound("tcp", "22", "::/0", "0.0.0.0/0"))
		}, 422, "duplicate rule"},
		"eleven droplets":       {func(r *godo.FirewallRequest) { r.DropletIDs = ids }, 422, "at most 10 droplets"},
		"six tags":              {func(r *godo.FirewallRequest) { r.Tags = tags[:6] }, 422, "at most 5 tags"},
		"fifty-one rules":       {func(r *godo.FirewallRequest) { r.InboundRules = manyRules(51) }, 422, "at most 50 rules"},
		"more than 1000 source": {func(r *godo.FirewallRequest) { r.InboundRules[0].Sources.Addresses = many }, 422, "at most 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			req := firewallRequest("fw")
			tc.change(req)
			_, _, err := w.client.Firewalls.Create(t.Context(), req)
			wantRefusal(t, err, tc.status, tc.want)
		})
	}
	if got := w.do("POST", "/v2/firewalls", `{"name":5}`); got.status != 400 {
		t.Errorf("wrong type: %d", got.status)
	}
	if got := len(w.Firewalls()); got != 1 {
		t.Errorf("%d firewalls", got)
	}
}

func TestPartsOfAFirewall(t *testing.T) {
	w := newWorld(t)
	fws, ctx := w.client.Firewalls, t.Context()
	d := w.AddDroplet(simulator.DropletSpec{Tags: []string{"web"}})
	id := createFirewall(t, w, firewallRequest("fw")).ID
	ok(t)(fws.AddDroplets(ctx, id, d.ID))
	ok(t)(fws.AddDroplets(ctx, id, d.ID))
	ok(t)(fws.AddTags(ctx, id, "web"))
	ok(t)(fws.AddRules(ctx, id, &godo.FirewallRulesRequest{
		InboundRules: []godo.InboundRule{inbound("icmp", "", "192.0.2.1")}, OutboundRules: []godo.OutboundRule{outbound("udp", "all", "::/0")},
	}))
	got := getFirewall(t, w, id)
	if !slices.Equal(got.DropletIDs, []int{d.ID}) || !slices.Equal(got.Tags, []string{"web"}) || len(got.InboundRules) != 2 || got.OutboundRules[0].PortRange != "0" {
		t.Errorf("added %+v", got)
	}
	// A rule goes in whatever order its sources are named, in the form of writing.
	ok(t)(fws.RemoveRules(ctx, id, &godo.FirewallRulesRequest{
		InboundRules: []godo.InboundRule{inbound("tcp", "22", "::/0", "0.0.0.0/0")}, OutboundRules: []godo.OutboundRule{outbound("udp", "1-65535", "::/0")},
	}))
	ok(t)(fws.RemoveDroplets(ctx, id, d.ID))
	ok(t)(fws.RemoveTags(ctx, id, "web"))
	got = getFirewall(t, w, id)
	if len(got.DropletIDs)+len(got.Tags)+len(got.OutboundRules) != 0 || len(got.InboundRules) != 1 || got.InboundRules[0].Protocol != "icmp" {
		t.Errorf("removed %+v", got)
	}
	_, err := fws.RemoveRules(ctx, id, &godo.FirewallRulesRequest{InboundRules: []godo.InboundRule{inbound("tcp", "80", "::/0")}})
	wantRefusal(t, err, 422, "could not be found")
	_, err = fws.AddRules(ctx, id, &godo.FirewallRulesRequest{InboundRules: []godo.InboundRule{inbound("icmp", "0", "192.0.2.1")}})
	wantRefusal(t, err, 422, "duplicate rule")
	_, err = fws.AddRules(ctx, id, &godo.FirewallRulesRequest{})
	wantRefusal(t, err, 422, "required")
	_, err = fws.AddDroplets(ctx, id)
	wantRefusal(t, err, 422, "droplet_ids")
	_, err = fws.AddTags(ctx, id)
	wantRefusal(t, err, 422, "tags")
	_, err = fws.AddTags(ctx, "nothing", "web")
	wantRefusal(t, err, 404, "")
}

func TestAFirewallForgetsWhatIsGone(t *testing.T) {
	w := newWorld(t)
	d := w.AddDroplet(simulator.DropletSpec{Tags: []string{"web"}})
	req := firewallRequest("fw")
	req.DropletIDs, req.Tags = []int{d.ID}, []string{"web"}
	id := createFirewall(t, w, req).ID
	ok(t)(w.client.Droplets.Delete(t.Context(), d.ID))
	ok(t)(w.client.Tags.Delete(t.Context(), "web"))
	if got := getFirewall(t, w, id); len(got.DropletIDs)+len(got.Tags) != 0 {
		t.Errorf("still %+v", got)
	}
}

func TestFirewallsByHand(t *testing.T) {
	w := newWorld(t)
	id := createFirewall(t, w, firewallRequest("fw")).ID
	requests := len(w.Requests())
	err := w.EditFirewall(id, func(f *simulator.Firewall) {
		f.Status = "failed"
		f.PendingChanges = []simulator.PendingChange{{DropletID: 1, Status: "failed"}}
		f.InboundRules = append(f.InboundRules, simulator.InboundRule{Protocol: "tcp", Ports: "all", Sources: &simulator.FirewallTarget{Addresses: []string{"::/0"}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Firewalls()[0]; got.Status != "failed" || len(got.PendingChanges) != 1 || got.InboundRules[1].Ports != "0" {
		t.Errorf("edited %+v", got)
	}
	w.control("PATCH", "firewalls/"+id, `{"name":"other","inbound_rules":[{"protocol":"tcp","ports":"443","sources":{"addresses":["::/0"]}}]}`, 200)
	got := getFirewall(t, w, id)
	if got.Name != "other" || len(got.InboundRules) != 1 || got.InboundRules[0].PortRange != "443" || got.Status != "failed" {
		t.Errorf("patched %+v", got)
	}
	// The next write through the API starts over.
	if got := must[*godo.Firewall](t)(w.client.Firewalls.Update(t.Context(), id, firewallRequest("fw"))); got.Status != "succeeded" {
		t.Errorf("updated %+v", got)
	}
	w.control("PATCH", "firewalls/"+id, `{"nmae":"x"}`, 400)
	w.control("DELETE", "firewalls/"+id, "", 204)
	w.control("DELETE", "firewalls/"+id, "", 404)
	if err := w.EditFirewall(id, func(*simulator.Firewall) {}); !errors.Is(err, simulator.ErrNotFound) {
		t.Errorf("editing what is gone: %v", err)
	}
	if got := len(w.Requests()) - requests; got != 2 {
		t.Errorf("%d requests, want only those of the API", got)
	}
}
