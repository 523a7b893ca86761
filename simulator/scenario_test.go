package simulator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/simulator"
)

const scenarioFile = `
settings: {busy_window: 10s, list_lag: {/v2/firewalls: 1s}}
faults:
- {method: DELETE, path: /v2/tags, status: 503}
teams:
- name: blue
  tags: [spare]
  byoip: {192.0.2.77: fra1}
  vpcs: [{name: own, region: fra1, ip_range: 10.20.0.0/20}]
  certificates: [{name: web}]
  droplets:
  - {name: node, count: 3, region: fra1, vpc: own, tags: [workers], created_at: 2026-01-02T03:04:05Z}
  - {name: single, region: fra1, vpc: own}
  load_balancers:
  - name: web
    region: fra1
    vpc: own
    ip: 192.0.2.77
    droplets: [node-1, single]
    size_unit: 2
    forwarding_rules:
    - {entry_protocol: https, entry_port: 443, target_protocol: http, target_port: 80, certificate: web}
  firewalls:
  - name: nodes
    tags: [workers]
    droplets: [single]
    inbound_rules: [{protocol: tcp, ports: "22", sources: {addresses: [0.0.0.0/0]}}]
- name: green
  droplets: [{}]
`

func TestAScenarioSeedsTheWorld(t *testing.T) {
	w := newWorld(t, simulator.WithToken(token, "blue"), simulator.WithLoadBalancerActivation(time.Hour), simulator.WithFirewallActivation(time.Hour))
	if err := w.Load(strings.NewReader(scenarioFile)); err != nil {
		t.Fatal(err)
	}
	names := []string{}
	ids := map[string]int{}
	for _, d := range everyPage(t, 0, w.client.Droplets.List) {
		names = append(names, d.Name)
		ids[d.Name] = d.ID
		if d.Name == "node-1" && (d.Created != "2026-01-02T03:04:05Z" || d.Region.Slug != "fra1" || !strings.HasPrefix(d.Networks.V4[0].IPAddress, "10.20.")) {
			t.Errorf("droplet %+v", d)
		}
	}
	if want := []string{"single", "node-3", "node-2", "node-1"}; !slices.Equal(names, want) {
		t.Errorf("droplets %v, want %v", names, want)
	}
	lb := must[[]godo.LoadBalancer](t)(w.client.LoadBalancers.ListByNames(t.Context(), []string{"web"}, nil))[0]
	cert := must[[]godo.Certificate](t)(w.client.Certificates.ListByName(t.Context(), "web", nil))[0]
	if lb.Status != "active" || lb.IP != "192.0.2.77" || lb.SizeUnit != 2 || !slices.Equal(lb.DropletIDs, []int{ids["node-1"], ids["single"]}) ||
		lb.ForwardingRules[0].CertificateID != cert.ID {
		t.Errorf("load balancer %+v", lb)
	}
	fw := w.Firewalls()[0]
	if fw.Status != "succeeded" || !slices.Equal(fw.Tags, []string{"workers"}) || !slices.Equal(fw.DropletIDs, []int{ids["single"]}) {
		t.Errorf("firewall %+v", fw)
	}
	if got := w.Settings(); got.BusyWindow != 10*time.Second || got.ListLag["/v2/firewalls"] != time.Second {
		t.Errorf("settings %+v", got)
	}
	if got := w.do("DELETE", "/v2/tags/spare", ""); got.status != 503 {
		t.Errorf("the fault does not strike: %d", got.status)
	}
	if teams := w.State().Teams; len(teams) != 2 || teams[1].Name != "green" || len(teams[1].Droplets) != 1 {
		t.Errorf("teams %+v", teams)
	}
	if len(w.Requests()) != 4 {
		t.Errorf("seeding counts as requests: %d", len(w.Requests()))
	}
}

func TestABrokenScenarioChangesNothing(t *testing.T) {
	const rule = `forwarding_rules: [{entry_protocol: tcp, entry_port: 80, target_protocol: tcp, target_port: 80}]`
	for name, tc := range map[string]struct{ file, want string }{
		"no YAML":             {"{", "read scenario"},
		"unknown member":      {"teems: []", "teems"},
		"misspelt droplet":    {"teams: [{droplets: [{nmae: x}]}]", "nmae"},
		"misspelt balancer":   {"teams: [{load_balancers: [{nmae: x}]}]", "nmae"},
		"bad fault":           {"faults: [{status: 42}]", "42"},
		"bad lag":             {"settings: {list_lag: {/v2/tags: 5s}}", "/v2/tags"},
		"too many":            {"teams: [{droplets: [{count: 50001}]}]", "count"},
		"bad tag":             {"teams: [{tags: [a b]}]", "tag"},
		"bad droplet tag":     {"teams: [{droplets: [{tags: [a b]}]}]", "tag"},
		"bad VPC":             {"teams: [{vpcs: [{name: a, region: moon1}]}]", "VPC a: region"},
		"VPC too small":       {"teams: [{vpcs: [{name: a, region: fra1, ip_range: 10.1.0.0/28}], droplets: [{region: fra1, vpc: a, count: 14}]}]", "14 free"},
		"unknown droplet":     {"teams: [{droplets: [{name: d}], load_balancers: [{name: a, region: fra1, droplets: [x], " + rule + "}]}]", `"x"`},
		"unknown certificate": {"teams: [{load_balancers: [{name: a, region: fra1, forwarding_rules: [{certificate: x}]}]}]", `"x"`},
		"refused balancer":    {"teams: [{droplets: [{name: d}], load_balancers: [{name: a, region: fra1}]}]", "load balancer a: at least one forwarding rule"},
		"refused firewall":    {"teams: [{firewalls: [{name: fw}]}]", "firewall fw: at least one"},
		"firewall's droplet":  {"teams: [{firewalls: [{name: fw, droplets: [x]}]}]", `"x"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.AddDroplet(simulator.DropletSpec{Name: "before", Tags: []string{"x"}})
			before := w.State()
			err := w.Load(strings.NewReader(tc.file))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
			if diff := cmp.Diff(before, w.State()); diff != "" {
				t.Errorf("changed (-before +after):\n%s", diff)
			}
			if d := w.AddDroplet(simulator.DropletSpec{}); d.ID != before.Teams[0].Droplets[0].ID+1 {
				t.Errorf("the next id is %d", d.ID)
			}
		})
	}
}

// ExampleSimulator_Load seeds two droplets behind a load balancer.
func ExampleSimulator_Load() {
	sim := simulator.New()
	err := sim.Load(strings.NewReader(`
teams:
- droplets: [{name: web, count: 2}]
  load_balancers:
  - name: front
    region: nyc3
    droplets: [web-1, web-2]
    forwarding_rules: [{entry_protocol: tcp, entry_port: 80, target_protocol: tcp, target_port: 8080}]
`))
	lb := sim.LoadBalancers()[0]
	fmt.Println(err, lb.Name, lb.Status, len(lb.DropletIDs))
	// Output: <nil> front active 2
}
