package reconciler

import (
	"fmt"
	"testing"
	"time"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/simulator"
)

// amongMany has enough load balancers that it is worth a call to find out whether
// a droplet is gone, which spares one for each of them.
func (s *stand) amongMany() {
	s.t.Helper()
	for i := range 5 {
		s.made(fmt.Sprint("other-", i), 60)
	}
	s.later(5 * time.Minute)
	s.calls()
	s.news()
}

func TestDropletsThatAreGoneAreTakenOutByDigitalOcean(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		a := s.addNode(simulator.DropletSpec{Name: "a"})
		s.ready()
		s.amongMany()
		s.removeNode("a")
		if err := s.sim.DeleteDroplet(a.ID); err != nil {
			s.t.Fatal(err)
		}
		s.sync()
		s.wantWrites()
		s.wantNews("")
		if len(s.mine().DropletIDs) != 1 {
			s.t.Errorf("droplets %v", s.mine().DropletIDs)
		}
	})
}

// What is left to others is no matter of whether it is gone.
func TestDropletsOfOthersAreNotAskedFor(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		lb, _ := s.terraform()
		s.ready(annotation.LoadBalancerID, lb.ID, annotation.Manage, "backends")
		s.amongMany()
		s.pass()
		s.wantCalls(list)
	})
}

// What is held, or wrong with the Service, is no reason to forget its backends.
func TestBackendsThatCouldNotBeWrittenAreWrittenSoon(t *testing.T) {
	tests := map[string]func(*stand){
		"at the first contact": func(s *stand) { s.adopted(resized) },
		"of an invalid Service": func(s *stand) {
			s.ready()
			s.edit(annotation.SizeUnit, "no number")
		},
		"of another type": func(s *stand) {
			s.ready()
			s.edit(annotation.Type, annotation.TypeRegional)
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			inStand(t, nil, func(s *stand) {
				prepare(s)
				s.addNode(simulator.DropletSpec{Name: "a"})
				s.later(time.Second)
				fault := s.sim.AddFault(simulator.Fault{Method: "POST", Path: "/v2/load_balancers", Status: 503})
				s.sync()
				s.later(20 * time.Second)
				if n := len(s.mine().DropletIDs); n != 1 {
					t.Fatalf("%d droplets while the API refuses", n)
				}
				s.sim.RemoveFault(fault)
				s.later(time.Minute)
				if n := len(s.mine().DropletIDs); n != 2 {
					t.Errorf("%d droplets a minute later", n)
				}
			})
		})
	}
}

// A droplet of which nothing definite is ever known is no backend for ever.
func TestADropletThatStaysUnclearIsTakenOutAfterAWhile(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		a := s.addNode(simulator.DropletSpec{Name: "a"})
		s.ready()
		s.amongMany()
		s.removeNode("a")
		s.sim.AddFault(simulator.Fault{Method: "GET", Path: fmt.Sprint("/v2/droplets/", a.ID), Status: 500})
		s.sync()
		s.later(time.Minute)
		if n := len(s.mine().DropletIDs); n != 2 {
			t.Errorf("%d droplets while it isn't clear yet", n)
		}
		s.later(2 * unclearPatience)
		if n := len(s.mine().DropletIDs); n != 1 {
			t.Errorf("%d droplets in the end", n)
		}
		s.calls()
		s.later(time.Hour)
		s.wantCalls()
	})
}
