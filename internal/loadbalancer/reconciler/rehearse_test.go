package reconciler

import (
	"strings"
	"testing"
	"time"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/simulator"
)

func (s *stand) plan() string {
	s.t.Helper()
	return s.web().Annotations[annotation.Plan]
}

func TestADryRunOfANewServiceWritesThePlanAndNothingElse(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		s.apply(webService(map[string]string{annotation.DryRun: "true"}))
		s.wantWrites()
		s.wantNews("Dry run, nothing is written: create load balancer a0f1e2d3c4b5a69788796a5b4c3d2e1f; type REGIONAL_NETWORK", events.LoadBalancerPlan)
		if plan := s.plan(); !strings.Contains(plan, "\nforwarding rule tcp:80->tcp:80\n") {
			s.t.Errorf("plan %q", plan)
		}
		s.kube.ClearActions()
		s.sync()
		for _, action := range s.kube.Actions() {
			if action.GetVerb() != "list" {
				s.t.Errorf("what is so already is written again: %v", action)
			}
		}
		svc := s.web()
		if svc.Annotations[annotation.LoadBalancerID] != "" || len(svc.Status.LoadBalancer.Ingress) > 0 {
			s.t.Errorf("Service %+v", svc)
		}
		s.edit(annotation.DryRun, "")
		s.wantWrites("POST /v2/load_balancers")
		if plan := s.plan(); plan != "" {
			s.t.Errorf("the plan stays: %q", plan)
		}
	})
}

func TestADryRunOfALoadBalancerThatExistsTouchesNothing(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		before := s.ready()
		s.byHand(before.ID, func(lb *simulator.LoadBalancer) { lb.DropletIDs = nil })
		s.edit(annotation.DryRun, "true", annotation.SizeUnit, "2")
		s.addNode(simulator.DropletSpec{Name: "late"})
		s.later(time.Second)
		s.pass()
		s.later(10 * time.Minute)
		s.wantWrites()
		want := "change load balancer " + before.ID + "\nsize unit 1 -> 2\ndroplets +2"
		if plan := s.plan(); !strings.HasPrefix(plan, want) {
			s.t.Errorf("plan %q, want %q", plan, want)
		}
		s.edit(annotation.DryRun, "", annotation.SizeUnit, "2")
		s.wantWrites("PUT /v2/load_balancers/" + before.ID)
	})
}

func TestADryRunTellsWhatIsWrong(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		s.ready()
		s.edit(annotation.DryRun, "tru", annotation.SizeUnit, "none")
		s.wantWrites()
		plan := s.plan()
		for _, want := range []string{"nothing, until this is mended", annotation.DryRun + `: "tru"`, annotation.SizeUnit} {
			if !strings.Contains(plan, want) {
				s.t.Errorf("plan %q lacks %q", plan, want)
			}
		}
	})
}

func TestDeletionEndsADryRun(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		before := s.ready()
		s.edit(annotation.DryRun, "true")
		s.calls()
		if err := s.EnsureLoadBalancerDeleted(s.t.Context(), "", s.web()); err != nil {
			s.t.Fatal(err)
		}
		s.wantWrites("DELETE /v2/load_balancers/" + before.ID)
	})
}
