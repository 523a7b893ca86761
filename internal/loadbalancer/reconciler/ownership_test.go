package reconciler

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/simulator"
)

// deleted deletes a Service as the framework does.
func (s *stand) deleted(svc *v1.Service) {
	s.t.Helper()
	now := svc.DeepCopy()
	at := svc.CreationTimestamp
	at.Time = time.Now()
	now.DeletionTimestamp = &at
	_, exists, err := s.GetLoadBalancer(s.t.Context(), "", now)
	if err != nil {
		s.t.Fatal(err)
	}
	if exists {
		if err := s.EnsureLoadBalancerDeleted(s.t.Context(), "", now); err != nil {
			s.t.Fatal(err)
		}
	}
}

// Whoever may write Services can write the version of the defaults as well.
func TestAnnotationsAreNoProofThatALoadBalancerWasTakenOver(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		lb := s.stranger(func(lb *simulator.LoadBalancer) { lb.SizeUnit = 3 })
		s.apply(webService(map[string]string{annotation.LoadBalancerID: lb.ID, annotation.DefaultsVersion: "1", annotation.Hostname: "x.example.com"}))
		s.restart()
		s.refresh()
		s.calls()
		s.news()
		s.deleted(s.web())
		s.wantWrites()
		s.wantNews("stays", events.LoadBalancerNotOwned)
	})
}

func TestAnOlderServiceDoesNotGetWhatAYoungerOneServes(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		lb := s.stranger(func(*simulator.LoadBalancer) {})
		s.made("old", 60, annotation.SizeUnit, "2")
		s.made("young", 1, annotation.LoadBalancerID, lb.ID)
		s.later(DefaultDriftPeriod) // the first contact
		s.served("young")
		steal := func(reasons ...events.Reason) {
			old := s.named("old")
			old.Annotations[annotation.LoadBalancerID] = lb.ID
			s.calls()
			s.news()
			s.apply(old)
			s.later(2 * DefaultDriftPeriod)
			s.wantWrites()
			s.wantNews("belongs to the Service default/young", reasons...)
		}
		steal(events.LoadBalancerNotOwned)
		s.restart()
		steal(events.LoadBalancerAdopted, events.LoadBalancerNotOwned)
		if got := s.balancer(lb.ID).SizeUnit; got != 1 {
			s.t.Errorf("size %d", got)
		}
		old := s.named("old")
		old.Annotations[annotation.LoadBalancerID] = lb.ID
		s.deleted(old)
		if all := s.sim.LoadBalancers(); len(all) != 1 || all[0].ID != lb.ID {
			s.t.Errorf("left is %v, which should be the young Service's %s", all, lb.ID)
		}
		s.deleted(s.named("young"))
		if all := s.sim.LoadBalancers(); len(all) != 0 {
			s.t.Errorf("left is %v", all)
		}
	})
}

func TestADisownedServicesLoadBalancerMayPassToAnother(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		lb := s.ready()
		s.edit(annotation.Disown, "true")
		s.calls()
		s.made("heir", 1, annotation.LoadBalancerID, lb.ID)
		s.later(DefaultDriftPeriod)
		got := s.served("heir")
		if got.ID != lb.ID {
			s.t.Errorf("load balancer %s, not %s", got.ID, lb.ID)
		}
		s.deleted(s.web())
		if s.balancer(lb.ID).ID != lb.ID {
			s.t.Error("it went with the Service that gave it up")
		}
	})
}
