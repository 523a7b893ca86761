package firewall

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"digitalocean-cloud-controller-manager/simulator"
)

func TestServicesBeyondTheLimitAreLeftOutAndTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t)
		c.start()
		defer c.stop()
		for i := range 44 {
			c.create(nodePort(fmt.Sprint("s", i), fmt.Sprintf("tcp/80/%d", 30000+2*i)))
			c.wait(time.Second)
		}
		c.wait(5 * time.Second)
		c.wantTold("Warning FirewallLimit The public access firewall k8s-public uses 45 of the 50 rules")
		for i := 44; i < 50; i++ {
			c.create(nodePort(fmt.Sprint("s", i), fmt.Sprintf("tcp/80/%d", 30000+2*i)))
			c.wait(time.Second)
		}
		c.create(nodePort("adjacent", "tcp/80/30001"))
		c.wait(5 * time.Second)
		fw := c.firewall()
		if n := len(fw.InboundRules) + len(fw.OutboundRules); n != 50 {
			t.Errorf("%d rules, want 50", n)
		}
		c.wantTold("Warning FirewallLimit The public access firewall has no room for this Service's ports", "Ports of the youngest Services stay closed")
		if calls := c.calls(); slices.ContainsFunc(c.sim.Requests(), func(r simulator.Request) bool { return r.Status == 422 }) {
			t.Errorf("the API had to refuse: %v", calls)
		}
		left := c.controller.Status().LeftOut
		if len(left) != 2 || left[0].Name != "s48" || left[1].Name != "s49" {
			t.Errorf("left out %v, want s48 and s49: the adjacent one fits", left)
		}
		c.wantMetric("digitalocean_ccm_firewall_services_left_out", 2)
	})
}

func TestTooManyTagsAreNotSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t)
		c.start(func(o *Options) { o.Identity.Tags = []string{"a", "b", "c", "d", "e", "f"} })
		defer c.stop()
		c.wait(time.Hour)
		c.wantCalls("six tags")
		c.wantTold("Warning FirewallRequestFailed", "6 tags", "at most 5")
	})
}
