package firewall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"digitalocean-cloud-controller-manager/simulator"
)

func TestLostAnswerOfACreationMakesNoSecondFirewall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, nodePort("web", "tcp/80/30080"))
		c.sim.ChangeSettings(simulator.SettingsPatch{ListLag: map[string]simulator.Duration{"/v2/firewalls": simulator.Duration(20 * time.Second)}})
		c.sim.AddFault(simulator.Fault{Method: "POST", Path: "/v2/firewalls", Status: 500, AfterActing: true, Count: 2})
		c.start()
		defer c.stop()
		c.wait(time.Minute)
		c.wantInbound("tcp 30080 " + everywhere)
		c.calls()
		c.wait(10 * time.Minute)
		c.wantCalls("afterwards", "GET /v2/firewalls/{id}", "GET /v2/firewalls/{id}")
	})
}

func TestTroubleOfTheAPIIsSatOut(t *testing.T) {
	tests := map[string]struct {
		fault simulator.Fault
		// atMost is how many writes are tried in ten minutes of it, within is
		// until the port is open after it.
		atMost int
		within time.Duration
		told   string
	}{
		"server error": {simulator.Fault{Method: "PUT", Path: "/v2/firewalls", Status: 500}, 80, time.Minute, "Unexpected server-side error"},
		"no rights":    {simulator.Fault{Method: "PUT", Path: "/v2/firewalls", Status: 403}, 6, 2 * time.Minute, "Check the token"},
		"refused":      {simulator.Fault{Method: "PUT", Path: "/v2/firewalls", Status: 422, Message: "no such thing"}, 2, 10 * time.Minute, "no such thing"},
		"conflict":     {simulator.Fault{Method: "PUT", Path: "/v2/firewalls", Status: 409}, 61, 15 * time.Second, "conflict"},
		"unreadable":   {simulator.Fault{Method: "GET", Path: "/v2/firewalls", Malformed: true}, 0, time.Minute, "can't be read"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCluster(t)
				c.start()
				defer c.stop()
				c.told()
				c.calls()
				fault := c.sim.AddFault(test.fault)
				c.create(nodePort("web", "tcp/80/30080"))
				c.wait(10 * time.Second)
				c.wantTold("Warning FirewallRequestFailed The public access firewall k8s-public", "doesn't follow this Service yet", test.told)
				c.wait(10 * time.Minute)
				if n := count(c.calls(), "PUT"); n > test.atMost {
					t.Errorf("%d writes tried in ten minutes, want at most %d", n, test.atMost)
				}
				c.wantMetric("firewall_resource_syncs_total", -1, "result", "failure")
				c.sim.RemoveFault(fault)
				c.wait(test.within)
				c.wantInbound("tcp 30080 " + everywhere)
				c.wantMetric("firewall_resource_syncs_total", 1, "result", "success")
			})
		})
	}
}

func TestEditIsTriedAtOnceAfterARefusal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t)
		c.start()
		defer c.stop()
		fault := c.sim.AddFault(simulator.Fault{Method: "PUT", Path: "/v2/firewalls", Status: 422})
		c.create(nodePort("web", "tcp/80/30080"))
		c.wait(5 * time.Second)
		c.sim.RemoveFault(fault)
		c.create(nodePort("api", "tcp/80/30090"))
		c.wait(5 * time.Second)
		c.wantInbound("tcp 30080 "+everywhere, "tcp 30090 "+everywhere)
	})
}

func TestUsedUpQuotaIsWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t)
		c.start()
		defer c.stop()
		c.calls()
		fault := c.sim.AddFault(simulator.Fault{Path: "/v2/firewalls", Quota: "minute"})
		c.create(nodePort("web", "tcp/80/30080"))
		c.wait(10 * time.Minute)
		if calls := c.calls(); len(calls) > 25 {
			t.Errorf("%d calls in ten minutes without quota", len(calls))
		}
		c.sim.RemoveFault(fault)
		c.wait(2 * time.Minute)
		c.wantInbound("tcp 30080 " + everywhere)
	})
}

func TestFightIsNoticedAndSpacedOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, nodePort("web", "tcp/80/30080"))
		c.start()
		defer c.stop()
		id := c.firewall().ID
		meddle := func() {
			_ = c.sim.EditFirewall(id, func(fw *simulator.Firewall) { fw.InboundRules = fw.InboundRules[:0] })
		}
		rewrite := func(d time.Duration) int {
			c.calls()
			for range int(d / time.Minute) {
				meddle()
				c.wait(time.Minute)
			}
			return count(c.calls(), "PUT")
		}
		if n := rewrite(11 * time.Minute); n != 2 {
			t.Errorf("%d restorations in 11 minutes, want 2", n)
		}
		if told := c.told(); strings.Contains(told, "FirewallContested") {
			t.Errorf("told a fight after two restorations: %s", told)
		}
		if n := rewrite(5 * time.Minute); n != 1 {
			t.Errorf("%d restorations in the next 5 minutes, want 1", n)
		}
		c.wantTold("Warning FirewallContested", "in 10m0s at the earliest")
		if n := rewrite(4 * time.Hour); n > 7 {
			t.Errorf("%d restorations in four hours of a fight", n)
		}
		// What Services need is opened all the same.
		c.calls()
		c.create(nodePort("api", "tcp/80/30090"))
		c.wait(5 * time.Second)
		c.wantInbound("tcp 30080 "+everywhere, "tcp 30090 "+everywhere)

		c.wait(3 * time.Hour)
		meddle()
		c.told()
		c.wait(5*time.Minute + time.Second)
		c.wantInbound("tcp 30080 "+everywhere, "tcp 30090 "+everywhere)
		if told := c.told(); strings.Contains(told, "FirewallContested") {
			t.Errorf("a fight is still told after hours of peace: %s", told)
		}
	})
}

func TestTwoClustersWithOneNameAreNoticed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newCluster(t, nodePort("a", "tcp/80/30080"))
		b := newCluster(t, nodePort("b", "tcp/80/30090"))
		b.sim, b.transport = a.sim, a.transport
		a.start()
		defer a.stop()
		b.start()
		defer b.stop()
		a.wait(30 * time.Minute)
		a.wantTold("FirewallContested", "PUBLIC_ACCESS_FIREWALL_NAME")
		b.wantTold("FirewallContested")
		a.wait(2 * time.Hour)
		a.calls()
		a.wait(2 * time.Hour)
		if n := count(a.calls(), "PUT"); n > 5 {
			t.Errorf("%d writes in two hours of a fight of two clusters", n)
		}
	})
}

func TestNoFirewallIsMadeInAStrangersAccount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t)
		c.start(func(o *Options) {
			o.Vouch = func(context.Context) error { return errors.New("no droplet of the cluster is shown") }
		})
		defer c.stop()
		c.wait(10 * time.Minute)
		if calls := c.calls(); count(calls, "POST") > 0 {
			t.Errorf("calls %v", calls)
		}
		c.wantTold("no firewall is found, which is not believed: no droplet of the cluster is shown")
	})
}

func TestWriteThatIsNotTakenIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t)
		c.start()
		defer c.stop()
		id := c.firewall().ID
		c.sim.AddFault(simulator.Fault{Method: "PUT", Path: "/v2/firewalls", Status: 200,
			Body: fmt.Sprintf(`{"firewall":{"id":%q,"name":"k8s-public","status":"succeeded","inbound_rules":null,"outbound_rules":null,"droplet_ids":null,"tags":null}}`, id)})
		c.told()
		c.create(nodePort("web", "tcp/80/30080"))
		c.wait(5 * time.Second)
		c.wantTold("Warning FirewallRequestFailed", "shows another firewall than was asked for", "+inbound tcp 30080 from everywhere")
		c.calls()
		c.wait(time.Hour)
		if n := count(c.calls(), "PUT"); n > 6 {
			t.Errorf("%d writes in an hour that have no effect", n)
		}
	})
}

func TestHealthFailsForAStuckLoopOnly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t)
		c.sim.AddFault(simulator.Fault{Status: 500})
		c.start()
		defer c.stop()
		c.wait(time.Hour)
		check := c.controller.HealthChecker()
		if err := check.Check(nil); err != nil {
			t.Errorf("unhealthy for the API's trouble: %v", err)
		}
		c.sim.ClearFaults()
		release := make(chan struct{})
		c.wait(5 * time.Minute)
		begun := make(chan time.Time, 1)
		c.afterGet.Store(new(func() { begun <- time.Now(); <-release }))
		<-begun
		c.wait(stuckAfter - time.Second)
		if err := check.Check(nil); err != nil {
			t.Errorf("unhealthy before its time: %v", err)
		}
		c.wait(2 * time.Second)
		if check.Check(nil) == nil {
			t.Error("healthy although a run doesn't end")
		}
		close(release)
		c.wait(time.Second)
		if err := check.Check(nil); err != nil {
			t.Errorf("unhealthy although the run has ended: %v", err)
		}
	})
}

func TestNothingIsDoneBeforeServicesAreListed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t)
		c.kube.PrependReactor("list", "services", forbidden)
		c.start()
		defer c.stop()
		c.wait(10 * time.Minute)
		c.wantCalls("without a list of Services")
	})
}
func TestCheckGivesWayButPortsAreOpened(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t)
		var refuse atomic.Bool
		c.start(func(o *Options) { o.API.Firewalls = throttledOnce{o.API.Firewalls, &refuse} })
		defer c.stop()
		c.told()
		refuse.Store(true)
		c.wait(5*time.Minute + time.Second)
		if told := c.told(); refuse.Load() || told != "" {
			t.Errorf("told although nothing waits: %s", told)
		}
		c.create(nodePort("web", "tcp/80/30080"))
		c.wait(5 * time.Second)
		c.wantInbound("tcp 30080 " + everywhere)
	})
}
