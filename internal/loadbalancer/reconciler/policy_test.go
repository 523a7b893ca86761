package reconciler

import (
	"strings"
	"testing"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/simulator"
)

func TestReportedDriftIsLeftAndToldOnce(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	inStand(t, func(o *Options) { o.Metrics = NewMetrics(registry.MustRegister) }, func(s *stand) {
		before := s.ready(annotation.Drift, "report")
		s.byHand(before.ID, resized)
		s.pass()
		s.wantWrites()
		s.wantNews("is left as it is, as "+annotation.Drift+" asks for: size unit 3 -> 1. To make them agree, edit the Service: "+annotation.SizeUnit, events.LoadBalancerDrift)
		s.later(2 * time.Minute)
		s.pass()
		s.wantWrites()
		s.wantNews("")
		if size := s.mine().SizeUnit; size != 3 {
			s.t.Errorf("size unit %d", size)
		}
	})
	want := `
# HELP digitalocean_ccm_drift_found_total [ALPHA] Settings of load balancers, by field, that somebody else changed though their Service did not.
# TYPE digitalocean_ccm_drift_found_total counter
digitalocean_ccm_drift_found_total{field="size unit"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "digitalocean_ccm_drift_found_total", "digitalocean_ccm_drift_reverted_total"); err != nil {
		t.Error(err)
	}
}

func TestAnEditIsWrittenBesideReportedDrift(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		before := s.ready(annotation.Drift, "report")
		s.byHand(before.ID, resized)
		s.edit(annotation.DenyRules, "ip:203.0.113.9")
		s.wantWrites("PUT /v2/load_balancers/" + before.ID)
		s.wantNews("denied sources +ip:203.0.113.9", events.LoadBalancerDrift, events.LoadBalancerUpdated)
		if now := s.mine(); now.SizeUnit != 3 || len(now.Firewall.Deny) != 1 {
			s.t.Errorf("load balancer %+v", now)
		}
		s.edit(annotation.SizeUnit, "2")
		if size := s.mine().SizeUnit; size != 2 {
			s.t.Errorf("size unit %d after the Service asks for 2", size)
		}
	})
}

func TestReportedDriftOutlivesARestartUntilThePolicyChanges(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		before := s.ready(annotation.Drift, "report")
		s.byHand(before.ID, resized)
		s.restart()
		s.sync()
		s.wantWrites()
		s.wantNews("size unit 3 -> 1", events.LoadBalancerDrift)
		s.edit(annotation.Drift, "revert")
		s.wantWrites("PUT /v2/load_balancers/" + before.ID)
		s.wantNews("it was put back: size unit 3 -> 1", events.LoadBalancerDrift)
	})
}

func TestBackendsFollowWhileDriftIsReported(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		before := s.ready(annotation.Drift, "report")
		s.byHand(before.ID, func(lb *simulator.LoadBalancer) { lb.SizeUnit, lb.DropletIDs = 3, nil })
		s.pass()
		s.wantWrites("POST /v2/load_balancers/" + before.ID + "/droplets")
		if now := s.mine(); now.SizeUnit != 3 || len(now.DropletIDs) != 1 {
			s.t.Errorf("load balancer %+v", now)
		}
	})
}

func TestIgnoredFieldsAreOthersAndTheRestIsPutBack(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		before := s.ready(annotation.Drift, "ignore:size-unit,deny-rules")
		s.byHand(before.ID, resized)
		s.pass()
		s.wantWrites()
		s.wantNews("")
		s.byHand(before.ID, func(lb *simulator.LoadBalancer) { lb.ForwardingRules[0].TargetPort = 8080 })
		s.pass()
		s.wantWrites("PUT /v2/load_balancers/" + before.ID)
		s.wantNews("put back: forwarding rules", events.LoadBalancerDrift)
		if size := s.mine().SizeUnit; size != 3 {
			s.t.Errorf("size unit %d", size)
		}
		s.edit(annotation.SizeUnit, "2")
		s.wantWrites()
		s.restart()
		s.sync()
		s.wantWrites()
	})
}

// What is left to others is known as of now when the whole is written.
func TestNothingThatIsLeftIsTakenFromAnOldReading(t *testing.T) {
	for _, policy := range []string{"report", "ignore:size-unit"} {
		inStand(t, nil, func(s *stand) {
			before := s.ready(annotation.Drift, policy)
			s.byHand(before.ID, resized) // the snapshot is of before
			s.edit(annotation.DenyRules, "ip:203.0.113.9")
			if now := s.mine(); now.SizeUnit != 3 || len(now.Firewall.Deny) != 1 {
				s.t.Errorf("%s: load balancer %+v", policy, now)
			}
		})
	}
}

func TestExchangedDropletsWriteNothingOfAnOldReading(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		old := s.addNode(simulator.DropletSpec{Name: "old"})
		before := s.ready(annotation.Drift, "report")
		s.byHand(before.ID, resized)
		s.addNode(simulator.DropletSpec{Name: "new"})
		s.removeNode(old.Name)
		s.sync()
		s.wantWrites("PUT /v2/load_balancers/" + before.ID)
		if now := s.mine(); now.SizeUnit != 3 || len(now.DropletIDs) != 2 {
			s.t.Errorf("load balancer %+v", now)
		}
	})
}

// removeNode removes a Node, not its droplet.
func (s *stand) removeNode(name string) {
	s.t.Helper()
	node, exists, err := s.nodes.GetByKey(name)
	if err != nil || !exists {
		s.t.Fatalf("no Node %q: %v", name, err)
	}
	if err := s.nodes.Delete(node); err != nil {
		s.t.Fatal(err)
	}
}
