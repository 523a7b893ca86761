package reconciler

import (
	"net/http"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/simulator"
)

// goes has the framework let the Service "web" go.
func (s *stand) goes() error {
	s.t.Helper()
	svc := s.web()
	svc.DeletionTimestamp = &metav1.Time{}
	_, exists, err := s.GetLoadBalancer(s.t.Context(), "", svc)
	if err != nil || !exists {
		return err
	}
	return s.EnsureLoadBalancerDeleted(s.t.Context(), "", svc)
}

func TestARetainedLoadBalancerOutlivesItsService(t *testing.T) {
	for _, value := range []string{"true", "ture"} {
		inStand(t, nil, func(s *stand) {
			before := s.ready(annotation.Type, "REGIONAL")
			s.edit(annotation.RetainOnDelete, value)
			s.calls()
			s.news()
			if err := s.goes(); err != nil {
				s.t.Fatal(err)
			}
			s.wantNews(before.ID+") stays with its address "+before.IP, events.LoadBalancerRetained)
			now := s.balancer(before.ID)
			if len(now.DropletIDs) > 0 || now.IP != before.IP || len(now.ForwardingRules) != 2 {
				s.t.Errorf("%q: load balancer %+v", value, now)
			}
			if slices.ContainsFunc(now.Tags, func(tag string) bool { return tag == "k8s:c1" || tag == "k8s-svc:"+string(s.web().UID) }) {
				s.t.Errorf("%q: tags %v", value, now.Tags)
			}
			for _, call := range s.calls() {
				if call == "DELETE /v2/load_balancers/"+before.ID {
					s.t.Errorf("%q: %s", value, call)
				}
			}
			// Another Service takes it over by its id.
			if err := s.kube.CoreV1().Services("default").Delete(s.t.Context(), "web", metav1.DeleteOptions{}); err != nil {
				s.t.Fatal(err)
			}
			if orphans := s.pass(); len(orphans) > 0 {
				s.t.Errorf("orphans %v", orphans)
			}
			other := webService(map[string]string{annotation.Type: "REGIONAL", annotation.LoadBalancerID: before.ID})
			other.Name, other.UID = "other", "aaaabbbb-4b5a-6978-8796-a5b4c3d2e1f0"
			s.apply(other)
			s.later(2 * DefaultDriftPeriod)
			if now := s.balancer(before.ID); len(now.DropletIDs) != 1 || now.IP != before.IP {
				s.t.Errorf("%q: taken over: %+v", value, now)
			}
		})
	}
}

func TestAServiceOfAnotherTypeKeepsItsLoadBalancerForLater(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		before := s.ready(annotation.RetainOnDelete, "true")
		if err := s.EnsureLoadBalancerDeleted(s.t.Context(), "", s.web()); err != nil {
			s.t.Fatal(err)
		}
		if s.web().Annotations[annotation.LoadBalancerID] != before.ID {
			s.t.Error("the id is not kept")
		}
		s.edit("example.com/again", "x")
		if now := s.mine(); now.ID != before.ID || len(now.DropletIDs) != 1 {
			s.t.Errorf("load balancer %+v", now)
		}
	})
}

func TestARetainedLoadBalancerTargetsNoTag(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		before := s.ready(annotation.RetainOnDelete, "true")
		s.byHand(before.ID, func(lb *simulator.LoadBalancer) { lb.Tag, lb.DropletIDs = "workers", nil })
		s.refresh()
		s.balancers.Doubt(before.ID)
		if err := s.goes(); err != nil {
			s.t.Fatal(err)
		}
		if now := s.balancer(before.ID); now.Tag != "" || len(now.DropletIDs) > 0 {
			s.t.Errorf("load balancer %+v", now)
		}
	})
}

func TestWhatIsNotRetainedIsDeleted(t *testing.T) {
	for _, value := range []string{"", "false"} {
		inStand(t, nil, func(s *stand) {
			before := s.ready(annotation.RetainOnDelete, value)
			if err := s.goes(); err != nil {
				s.t.Fatal(err)
			}
			s.wantWrites("DELETE /v2/load_balancers/" + before.ID)
		})
	}
}

func TestAClassThatIsGoneDeletesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		own      string
		retained bool
	}{"it may have said so": {"", true}, "the Service says": {"false", false}} {
		t.Run(name, func(t *testing.T) {
			inStand(t, nil, func(s *stand) {
				before := s.ready(annotation.RetainOnDelete, test.own)
				s.edit(annotation.Class, "kept")
				s.calls()
				s.news()
				if err := s.goes(); err != nil {
					s.t.Fatal(err)
				}
				if !test.retained {
					s.wantWrites("DELETE /v2/load_balancers/" + before.ID)
					return
				}
				s.wantNews(`class "kept", which may ask for that, isn't`, events.LoadBalancerRetained)
				if now := s.balancer(before.ID); len(now.DropletIDs) > 0 || now.IP != before.IP {
					s.t.Errorf("%+v", now)
				}
			})
		})
	}
}

// The Service doesn't go as long as its droplets get traffic.
func TestALoadBalancerThatCanNotBeReleasedHoldsItsService(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		s.ready(annotation.RetainOnDelete, "true")
		s.sim.AddFault(simulator.Fault{Method: http.MethodDelete, Path: "/v2/load_balancers/*/droplets", Status: 422})
		if err := s.goes(); err == nil {
			s.t.Error("no error")
		}
		s.wantNews("take the droplets out", events.LoadBalancerRequestFailed)
	})
}
