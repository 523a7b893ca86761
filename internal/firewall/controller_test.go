package firewall

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/simulator"
)

func TestFirewallIsMadeWithItsTags(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, nodePort("web", "tcp/80/30080", "udp/53/30053", "tcp/443/0"))
		c.start(func(o *Options) { o.Identity.Tags = []string{"k8s:worker", "k8s:edge"} })
		defer c.stop()
		fw := c.firewall()
		if !slices.Equal(fw.Tags, []string{"k8s:worker", "k8s:edge"}) || fw.Name != "k8s-public" {
			t.Errorf("firewall %s has the tags %v", fw.Name, fw.Tags)
		}
		c.wantInbound("tcp 30080 "+everywhere, "udp 30053 "+everywhere)
		var outbound []string
		for _, r := range fw.OutboundRules {
			outbound = append(outbound, fmt.Sprintf("%s %s %s", r.Protocol, r.Ports, strings.Join(r.Destinations.Addresses, ",")))
		}
		if diff := cmp.Diff([]string{"icmp 0 " + everywhere, "tcp 0 " + everywhere, "udp 0 " + everywhere}, outbound); diff != "" {
			t.Error(diff)
		}
		c.wantCalls("first start", "GET /v2/firewalls", "POST /v2/firewalls",
			"GET /v2/tags/k8s:worker", "POST /v2/tags", "GET /v2/tags/k8s:edge", "POST /v2/tags", "POST /v2/firewalls")
		c.wantTold("Normal FirewallCreated", "+inbound tcp 30080 from everywhere")
	})
}

func TestServicesOpenAndClosePorts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t)
		c.start()
		defer c.stop()
		c.wantInbound()
		c.calls()
		web := nodePort("web", "tcp/80/30080")
		c.create(web)
		c.wait(5 * time.Second)
		c.wantInbound("tcp 30080 " + everywhere)
		c.wantCalls("a new port", "GET /v2/firewalls/{id}", "PUT /v2/firewalls/{id}")
		c.wantTold("Normal FirewallUpdated", "+inbound tcp 30080 from everywhere")

		c.update(web, annotated("example.com/team", "shop"))
		c.wait(5 * time.Second)
		c.wantCalls("an edit that doesn't matter")

		c.update(web, annotated(annotation.FirewallManagedKey, "false"))
		c.wait(5 * time.Second)
		c.wantInbound()
		c.update(web)
		c.wait(5 * time.Second)
		c.wantInbound("tcp 30080 " + everywhere)
		c.delete(web)
		c.wait(5 * time.Second)
		c.wantInbound()
	})
}

func TestSteadyStateCostsOneReadEachFiveMinutes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, nodePort("web", "tcp/80/30080", "tcp/81/30081"),
			balancer("edge", []string{"tcp/443/31443"}, annotated(annotation.AllowRules, "ip:203.0.113.7,cidr:198.51.100.1/24")))
		c.start()
		c.calls()
		c.wait(time.Hour)
		calls := c.calls()
		if len(calls) != 12 || count(calls, "GET /v2/firewalls/{id}") != 12 {
			t.Errorf("calls in a steady hour: %v, want 12 times GET", calls)
		}
		c.stop()

		c.start()
		c.wait(time.Hour)
		calls = c.calls()
		if len(calls) != 14 || count(calls, "GET") != 14 {
			t.Errorf("calls in the hour after a restart: %v, want a list and 13 times GET", calls)
		}
		c.stop()
	})
}

func TestSettingsThatReadBackDifferentlyAreNoDifference(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, nodePort("web", "tcp/80/30080", "tcp/81/30081"))
		c.start()
		defer c.stop()
		err := c.sim.EditFirewall(c.firewall().ID, func(fw *simulator.Firewall) {
			all := &simulator.FirewallTarget{Addresses: []string{"::0/0", "0.0.0.0/0"}}
			fw.InboundRules = []simulator.InboundRule{
				{Protocol: "tcp", Ports: "30081", Sources: all}, {Protocol: "tcp", Ports: "30080", Sources: all, Action: "allow"},
			}
			slices.Reverse(fw.OutboundRules)
			fw.Tags = []string{"K8S:Worker"}
		})
		if err != nil {
			t.Fatal(err)
		}
		c.calls()
		c.wait(time.Hour)
		if calls := c.calls(); count(calls, "PUT") > 0 {
			t.Errorf("written although nothing differs: %v", calls)
		}
	})
}

func TestChangesByHandAreRestoredAndTold(t *testing.T) {
	allow := func(ports, source string) simulator.InboundRule {
		return simulator.InboundRule{Protocol: "tcp", Ports: ports, Sources: &simulator.FirewallTarget{Addresses: []string{source}}}
	}
	tests := map[string]struct {
		edit func(*simulator.Firewall)
		told string
	}{
		"rule added": {func(fw *simulator.Firewall) { fw.InboundRules = append(fw.InboundRules, allow("22", "203.0.113.0/24")) }, "-inbound tcp 22 from 203.0.113.0/24"},
		"narrower rule for an open port": {func(fw *simulator.Firewall) {
			fw.InboundRules = append(fw.InboundRules, allow("30080", "203.0.113.0/24"))
		}, "-inbound tcp 30080 from 203.0.113.0/24"},
		"rule removed":             {func(fw *simulator.Firewall) { fw.InboundRules = nil }, "+inbound tcp 30080 from everywhere"},
		"outbound removed":         {func(fw *simulator.Firewall) { fw.OutboundRules = nil }, "+outbound tcp all ports to everywhere"},
		"tag removed":              {func(fw *simulator.Firewall) { fw.Tags = nil }, "+target tag k8s:worker"},
		"renamed":                  {func(fw *simulator.Firewall) { fw.Name = "mine" }, `name "mine" -> "k8s-public"`},
		"rule that isn't readable": {func(fw *simulator.Firewall) { fw.InboundRules = append(fw.InboundRules, allow("ssh", "192.0.2.1")) }, "-inbound tcp ssh"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, nodePort("web", "tcp/80/30080"))
				c.start()
				defer c.stop()
				before := c.firewall()
				if err := c.sim.EditFirewall(before.ID, test.edit); err != nil {
					t.Fatal(err)
				}
				c.told()
				c.calls()
				c.wait(5*time.Minute + time.Second)
				c.wantCalls("restoration", "GET /v2/firewalls/{id}", "PUT /v2/firewalls/{id}")
				if diff := cmp.Diff(before, c.firewall()); diff != "" {
					t.Error(diff)
				}
				c.wantTold("Warning FirewallRestored", test.told)
				c.wantMetric("digitalocean_ccm_firewall_restorations_total", 1)
			})
		})
	}
}

func TestDeletedFirewallIsMadeAgainOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		web := nodePort("web", "tcp/80/30080")
		c := newCluster(t, web)
		c.start()
		defer c.stop()
		c.calls()
		if err := c.sim.DeleteFirewall(c.firewall().ID); err != nil {
			t.Fatal(err)
		}
		c.update(web, func(svc *v1.Service) { svc.Spec.Ports[0].NodePort = 30090 })
		c.wait(5 * time.Second)
		c.wantInbound("tcp 30090 " + everywhere)
		c.wantCalls("made again", "GET /v2/firewalls/{id}", "GET /v2/firewalls", "POST /v2/firewalls")
		c.wantTold("Warning FirewallRestored", "was deleted by somebody else")
	})
}

func TestFirewallThatVanishesBeforeTheWriteIsMadeAgainInTheSameRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t)
		c.start()
		defer c.stop()
		id := c.firewall().ID
		c.afterGet.Store(new(func() { _ = c.sim.DeleteFirewall(id) }))
		c.calls()
		c.create(nodePort("web", "tcp/80/30080"))
		c.wait(2 * time.Second)
		c.wantInbound("tcp 30080 " + everywhere)
		c.wantCalls("vanished", "GET /v2/firewalls/{id}", "PUT /v2/firewalls/{id}", "GET /v2/firewalls/{id}", "GET /v2/firewalls", "POST /v2/firewalls")
	})
}

func TestExistingFirewallIsTakenOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, nodePort("web", "tcp/80/30080"))
		id := c.sim.AddDroplet(simulator.DropletSpec{Name: "bastion", Tags: []string{"bastion"}}).ID
		c.post("/v2/firewalls", fmt.Sprintf(`{"name":"another","droplet_ids":[%d],"inbound_rules":[{"protocol":"icmp","sources":{"addresses":["0.0.0.0/0"]}}],"outbound_rules":[]}`, id))
		another := c.firewall()
		c.post("/v2/firewalls", fmt.Sprintf(`{"name":"k8s-public","droplet_ids":[%d],"tags":["bastion"],
			"inbound_rules":[{"protocol":"tcp","ports":"22","sources":{"addresses":["203.0.113.0/24"]}}],
			"outbound_rules":[{"protocol":"tcp","ports":"443","destinations":{"addresses":["0.0.0.0/0"]}}]}`, id))
		c.calls()
		c.start()
		defer c.stop()
		all := c.sim.Firewalls()
		if len(all) != 2 {
			t.Fatalf("%d firewalls, want 2", len(all))
		}
		if diff := cmp.Diff(another, all[0]); diff != "" {
			t.Errorf("another firewall was touched: %s", diff)
		}
		fw := all[1]
		if diff := cmp.Diff([]string{"tcp 30080 " + everywhere}, inboundOf(fw)); diff != "" {
			t.Error(diff)
		}
		if !slices.Equal(fw.Tags, []string{"k8s:worker"}) || !slices.Equal(fw.DropletIDs, []int{id}) {
			t.Errorf("tags %v, want those of the settings; droplets %v, want them kept", fw.Tags, fw.DropletIDs)
		}
		c.wantTold("Warning FirewallTakenOver", "-inbound tcp 22 from 203.0.113.0/24", "-target tag bastion", "+outbound tcp ")
	})
}

func TestBurstOfServicesIsOneWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t)
		c.start()
		defer c.stop()
		c.calls()
		for i := range 40 {
			c.create(nodePort(fmt.Sprint("s", i), fmt.Sprintf("tcp/80/%d", 30000+i)))
			c.wait(10 * time.Millisecond)
		}
		c.wait(5 * time.Second)
		c.wantInbound("tcp 30000-30039 " + everywhere)
		c.wantCalls("a burst", "GET /v2/firewalls/{id}", "PUT /v2/firewalls/{id}")
	})
}

func TestHealthCheckPortIsOpenToTheLoadBalancerOnly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		edge := balancer("edge", []string{"tcp/443/31443"})
		c := newCluster(t, edge)
		c.start()
		defer c.stop()
		c.wantInbound("tcp 10256 "+everywhere, "tcp 443 "+everywhere)
		id := c.addLoadBalancer()
		c.update(edge, annotated(annotation.LoadBalancerID, id))
		c.wait(5 * time.Second)
		c.wantInbound("tcp 10256 "+id, "tcp 443 "+everywhere)
	})
}

func TestLoadBalancerThatIsGoneDoesntHoldUpOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		edge := balancer("edge", []string{"tcp/443/31443"}, annotated(annotation.LoadBalancerID, balancerID))
		c := newCluster(t, edge)
		c.start()
		defer c.stop()
		c.wantInbound("tcp 443 " + everywhere)
		c.calls()
		c.create(nodePort("web", "tcp/80/30080"))
		c.wait(5 * time.Second)
		c.wantInbound("tcp 443 "+everywhere, "tcp 30080 "+everywhere)
		c.wantCalls("known to be gone", "GET /v2/firewalls/{id}", "PUT /v2/firewalls/{id}")
		for range 3 {
			c.wait(defaultInterval + time.Second)
			c.wantCalls("still gone, so nothing is written", "GET /v2/firewalls/{id}", "GET /v2/load_balancers/{id}")
		}
		id := c.addLoadBalancer()
		c.calls()
		c.update(edge, annotated(annotation.LoadBalancerID, id))
		c.wait(5 * time.Second)
		c.wantInbound("tcp 10256 "+id, "tcp 443 "+everywhere, "tcp 30080 "+everywhere)
	})
}

func TestBrokenServiceKeepsItsLastGoodRules(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t)
		id := c.addLoadBalancer()
		edge := balancer("edge", []string{"tcp/443/31443"}, annotated(annotation.AllowRules, "cidr:203.0.113.0/24", annotation.LoadBalancerID, id))
		c.create(edge)
		c.start()
		good := []string{"tcp 10256 " + id, "tcp 443 203.0.113.0/24"}
		c.wantInbound(good...)
		// Port 443 is gone from the Service, but not from its load balancer.
		broken := c.update(edge, annotated(annotation.AllowRules, "203.0.113.0"), func(svc *v1.Service) { svc.Spec.Ports[0].Port = 8443 })
		c.create(nodePort("web", "tcp/80/30080"))
		c.wait(5 * time.Second)
		c.wantInbound(append(good, "tcp 30080 "+everywhere)...)
		c.wantTold("Warning FirewallConfigError", "allow-rules")
		c.update(broken, func(svc *v1.Service) { svc.Spec.Ports[0].Port = 443 })
		c.wait(5 * time.Second)
		c.stop()

		c.calls()
		c.start() // with nothing known of when the Service was right
		defer c.stop()
		c.wantInbound(append(good, "tcp 30080 "+everywhere)...)
		c.wantCalls("restart", "GET /v2/firewalls", "GET /v2/firewalls/{id}")
	})
}
