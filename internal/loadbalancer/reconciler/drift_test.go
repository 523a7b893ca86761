package reconciler

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/simulator"
)

const list = "GET /v2/load_balancers"

func resized(lb *simulator.LoadBalancer) { lb.SizeUnit = 3 }

// ready has the Service "web" balanced, for long enough that lists are believed.
func (s *stand) ready(annotations ...string) simulator.LoadBalancer {
	s.t.Helper()
	svc := webService(map[string]string{})
	for i := 0; i < len(annotations); i += 2 {
		svc.Annotations[annotations[i]] = annotations[i+1]
	}
	s.apply(svc)
	s.later(2 * time.Minute)
	s.calls()
	s.news()
	return s.mine()
}

func TestALookCostsOneListWhereNothingChanged(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		s.ready()
		for range 3 {
			s.pass()
			s.wantCalls(list)
			s.wantNews("")
			s.later(2 * time.Minute)
		}
	})
}

func TestWhatSomebodyElseChangedIsPutBack(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	inStand(t, func(o *Options) { o.Metrics = NewMetrics(registry.MustRegister) }, func(s *stand) {
		before := s.ready()
		s.byHand(before.ID, func(lb *simulator.LoadBalancer) {
			lb.SizeUnit = 3
			lb.ForwardingRules[0].TargetPort = 8080
		})
		s.pass()
		s.wantCalls(list, list+"/"+before.ID, "PUT /v2/load_balancers/"+before.ID)
		s.wantNews("size unit 3 -> 1; forwarding rules +tcp:80->tcp:80 -tcp:80->tcp:8080. To change it for good, edit the Service: "+annotation.SizeUnit, events.LoadBalancerDrift)
		if diff := cmp.Diff(before, s.mine()); diff != "" {
			s.t.Error(diff)
		}
		s.later(2 * time.Minute)
		s.pass()
		s.wantCalls(list)
	})
	want := `
# HELP digitalocean_ccm_drift_reverted_total [ALPHA] Settings of load balancers, by field, that were put back after somebody else had changed them.
# TYPE digitalocean_ccm_drift_reverted_total counter
digitalocean_ccm_drift_reverted_total{field="forwarding rules"} 1
digitalocean_ccm_drift_reverted_total{field="size unit"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "digitalocean_ccm_drift_reverted_total"); err != nil {
		t.Error(err)
	}
}

func TestDropletsRemovedByHandComeBack(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		before := s.ready()
		s.byHand(before.ID, func(lb *simulator.LoadBalancer) { lb.DropletIDs = nil })
		s.pass()
		s.wantWrites("POST /v2/load_balancers/" + before.ID + "/droplets")
		s.wantNews("droplets +1", events.LoadBalancerDrift)
	})
}

// A droplet that is destroyed leaves its load balancer by itself: nobody did
// anything to that.
func TestADestroyedDropletIsNoDrift(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		gone := s.addNode(simulator.DropletSpec{Name: "gone"})
		before := s.ready()
		if err := s.sim.DeleteDroplet(gone.ID); err != nil {
			s.t.Fatal(err)
		}
		s.pass()
		if now := s.balancer(before.ID); len(now.DropletIDs) != 1 {
			s.t.Errorf("droplets %v", now.DropletIDs)
		}
		s.wantNews("")
	})
}

// What the Service asks for and what somebody else changed are told apart.
func TestAnEditBesideDriftIsToldAsAnEdit(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		before := s.ready()
		s.byHand(before.ID, resized)
		s.edit(annotation.DenyRules, "ip:203.0.113.9")
		s.wantWrites("PUT /v2/load_balancers/" + before.ID)
		s.wantNews("denied sources +ip:203.0.113.9", events.LoadBalancerDrift, events.LoadBalancerUpdated)
	})
}

func TestANameOfTheConsoleIsAccepted(t *testing.T) {
	rename := func(lb *simulator.LoadBalancer) { lb.Name = "renamed" }
	t.Run("without a name annotation", func(t *testing.T) {
		inStand(t, nil, func(s *stand) {
			lb := s.ready()
			s.byHand(lb.ID, rename)
			s.pass()
			s.wantCalls(list)
			// Nor does another change undo it, or a restart.
			s.edit(annotation.SizeUnit, "2")
			s.restart()
			s.sync()
			if got := s.balancer(lb.ID); got.Name != "renamed" || got.SizeUnit != 2 {
				s.t.Errorf("name %s, size %d", got.Name, got.SizeUnit)
			}
		})
	})
	t.Run("not against the annotation", func(t *testing.T) {
		inStand(t, nil, func(s *stand) {
			lb := s.ready(annotation.Name, "web-1")
			s.byHand(lb.ID, rename)
			s.pass()
			s.wantNews("name renamed -> web-1", events.LoadBalancerDrift)
		})
	})
	t.Run("the annotation's goes with it", func(t *testing.T) {
		inStand(t, nil, func(s *stand) {
			lb := s.ready(annotation.Name, "web-1")
			s.edit(annotation.Name, "")
			if got, want := s.balancer(lb.ID).Name, loadbalancer.DefaultName(s.web()); got != want {
				s.t.Errorf("name %s, want %s", got, want)
			}
		})
	})
}

func TestAMissingLoadBalancerIsMadeAgain(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		lb := s.ready()
		if err := s.sim.DeleteLoadBalancer(lb.ID); err != nil {
			s.t.Fatal(err)
		}
		s.pass()
		s.later(10 * time.Second)
		s.wantWrites("POST /v2/load_balancers")
		if now := s.mine(); now.ID == lb.ID || s.web().Status.LoadBalancer.Ingress[0].IP != now.IP {
			s.t.Errorf("load balancer %s, status %v", now.ID, s.web().Status.LoadBalancer)
		}
	})
}

func TestAnErroredLoadBalancerThatServedIsReported(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		lb := s.ready()
		s.byHand(lb.ID, func(lb *simulator.LoadBalancer) { lb.Status = "errored" })
		s.pass()
		s.wantNews("its status is errored", events.LoadBalancerErrored)
		s.wantWrites()
		// The next look finds that it works again, and does what was left undone.
		s.byHand(lb.ID, func(lb *simulator.LoadBalancer) { lb.Status, lb.SizeUnit = "active", 3 })
		s.pass()
		s.wantWrites("PUT /v2/load_balancers/" + lb.ID)
	})
}

// A Service that waits for an edit is not tried at each look.
func TestALookLeavesServicesAloneThatWait(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		s.ready()
		fault := s.sim.AddFault(simulator.Fault{Method: "PUT", Status: 422})
		s.edit(annotation.SizeUnit, "2")
		s.calls()
		s.pass()
		s.wantCalls(list)
		s.sim.RemoveFault(fault)
		s.later(waitUser)
		if n := s.mine().SizeUnit; n != 2 {
			s.t.Errorf("size %d", n)
		}
	})
}

func TestAFightMakesTheManagerGiveWay(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		lb := s.ready()
		for range fightCount {
			s.byHand(lb.ID, resized)
			s.pass()
			s.later(5 * time.Minute)
		}
		s.wantNews("again and again", events.LoadBalancerDrift, events.LoadBalancerDrift, events.LoadBalancerDrift, events.LoadBalancerContested)
		s.byHand(lb.ID, resized)
		s.calls()
		s.pass()
		s.wantWrites()
		// Backends are kept up to date all the while.
		node := s.addNode(simulator.DropletSpec{Name: "w2"})
		s.later(time.Second)
		s.pass()
		s.wantWrites("POST /v2/load_balancers/" + lb.ID + "/droplets")
		if now := s.mine(); now.SizeUnit != 3 || len(now.DropletIDs) != 2 || now.DropletIDs[1] != node.ID {
			s.t.Errorf("size %d, droplets %v", now.SizeUnit, now.DropletIDs)
		}
		s.later(firstTruce)
		if now := s.mine(); now.SizeUnit != 1 {
			s.t.Errorf("size %d after the truce", now.SizeUnit)
		}
		// The next truce is longer; an edit of the Service ends it.
		s.byHand(lb.ID, resized)
		s.later(firstTruce)
		s.pass()
		if now := s.mine(); now.SizeUnit != 3 {
			s.t.Errorf("size %d within the second truce", now.SizeUnit)
		}
		s.edit(annotation.DenyRules, "ip:203.0.113.9")
		if now := s.mine(); now.SizeUnit != 1 {
			s.t.Errorf("size %d after an edit", now.SizeUnit)
		}
	})
}

func TestOrphansAreThoseOfNoService(t *testing.T) {
	tests := map[string]struct {
		cluster string
		edit    func(*simulator.LoadBalancer)
		want    int
	}{
		"the cluster's tag":                    {"c1", func(lb *simulator.LoadBalancer) { lb.Tags = []string{"k8s:c1"} }, 1},
		"another cluster's tag":                {"c1", func(lb *simulator.LoadBalancer) { lb.Tags = []string{"k8s:c2", "k8s-svc:x"} }, 0},
		"a mark alone, which may be another's": {"c1", func(lb *simulator.LoadBalancer) { lb.Tags = []string{"k8s-svc:x"} }, 0},
		"a stranger's":                         {"c1", func(lb *simulator.LoadBalancer) { lb.Tags = []string{"k8s"} }, 0},
		"a mark, in a cluster without an id":   {"", func(lb *simulator.LoadBalancer) { lb.Tags = []string{"k8s-svc:x"} }, 0},
		"a stranger's, in one without an id":   {"", func(lb *simulator.LoadBalancer) { lb.Tags = nil }, 0},
		"another's mark, in one without an id": {"", func(lb *simulator.LoadBalancer) { lb.Tags = []string{"k8s:c2", "k8s-svc:x"} }, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inStand(t, nil, func(s *stand) {
				s.cluster.ID = test.cluster
				lost := s.ready()
				// Its Service is gone without having been cleaned up; another stays.
				if err := s.tracker.Delete(v1.SchemeGroupVersion.WithResource("services"), "default", "web"); err != nil {
					s.t.Fatal(err)
				}
				other := webService(map[string]string{})
				other.UID = "11111111-4b5a-6978-8796-a5b4c3d2e1f0"
				s.apply(other)
				s.byHand(lost.ID, test.edit)
				s.later(2 * time.Minute)
				s.calls()
				orphans := s.pass()
				if len(orphans) != test.want || test.want == 1 && orphans[0] != lost.ID {
					s.t.Errorf("orphans %v of %v", orphans, s.sim.LoadBalancers())
				}
				s.wantWrites()
			})
		})
	}
}
