package reconciler

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/simulator"
)

// adopted leaves the Service "web" as the public manager would: with an id and a
// status, without this manager's marks.
func (s *stand) adopted(edit func(*simulator.LoadBalancer), annotations ...string) simulator.LoadBalancer {
	s.t.Helper()
	lb := s.ready(annotations...)
	s.end()
	s.byHand(lb.ID, func(lb *simulator.LoadBalancer) {
		lb.Tags = []string{"k8s:c1"}
		edit(lb)
	})
	svc := s.web()
	delete(svc.Annotations, annotation.DefaultsVersion)
	s.start()
	s.apply(svc)
	return s.balancer(lb.ID)
}

// stranger makes a load balancer that nobody in the cluster knows.
func (s *stand) stranger(edit func(*simulator.LoadBalancer)) simulator.LoadBalancer {
	s.t.Helper()
	lb := s.ready()
	if err := s.tracker.Delete(v1.SchemeGroupVersion.WithResource("services"), "default", "web"); err != nil {
		s.t.Fatal(err)
	}
	s.restart()
	s.byHand(lb.ID, func(lb *simulator.LoadBalancer) {
		lb.Tags, lb.Name = nil, "terraform"
		edit(lb)
	})
	return s.balancer(lb.ID)
}

func (s *stand) version() string { return s.web().Annotations[annotation.DefaultsVersion] }

func TestAnAdoptedLoadBalancerIsReportedBeforeItIsChanged(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		lb := s.adopted(resized)
		s.wantNews("size unit 3 -> 1", events.LoadBalancerFirstContact)
		s.wantWrites()
		if v := s.version(); v != "" {
			s.t.Errorf("version %q while it differs", v)
		}
		// Its backends follow meanwhile.
		s.addNode(simulator.DropletSpec{Name: "w2"})
		s.later(2 * time.Minute)
		s.sync()
		s.wantWrites("POST /v2/load_balancers/" + lb.ID + "/droplets")
		s.wantNews("droplets +1", events.LoadBalancerUpdated)
		// A restart begins the period again.
		s.restart()
		s.sync()
		s.later(DefaultDriftPeriod - time.Second)
		if n := s.mine().SizeUnit; n != 3 {
			s.t.Errorf("size %d before the period is over", n)
		}
		s.calls()
		s.later(2 * time.Second)
		s.wantWrites("PUT /v2/load_balancers/" + lb.ID)
		s.wantNews("size unit 3 -> 1", events.LoadBalancerFirstContact, events.LoadBalancerUpdated)
		if n, v := s.mine().SizeUnit, s.version(); n != 1 || v != "1" {
			s.t.Errorf("size %d, version %q", n, v)
		}
	})
}

func TestAnAdoptedLoadBalancerThatAgreesIsNotTouched(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		s.adopted(func(*simulator.LoadBalancer) {})
		s.wantWrites()
		s.wantNews("")
		if v := s.version(); v != "1" {
			s.t.Errorf("version %q", v)
		}
	})
}

// An edit in the user's sense: the Service follows the load balancer.
func TestAFirstContactEndsWhenTheServiceAgrees(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		s.adopted(resized)
		s.edit(annotation.SizeUnit, "3")
		s.wantWrites()
		if v := s.version(); v != "1" {
			s.t.Errorf("version %q", v)
		}
	})
}

func TestAStrangersLoadBalancerIsLeftWholeAtFirst(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		lb := s.stranger(func(lb *simulator.LoadBalancer) { lb.DropletIDs, lb.SizeUnit = nil, 3 })
		s.calls()
		// As a copy of another cluster's Service: with the version.
		s.apply(webService(map[string]string{annotation.LoadBalancerID: lb.ID, annotation.DefaultsVersion: "1"}))
		s.wantWrites()
		s.wantNews("size unit 3 -> 1; droplets +1", events.LoadBalancerFirstContact)
		if n := len(s.web().Status.LoadBalancer.Ingress); n > 0 {
			s.t.Error("its address is shown while it doesn't serve the Service")
		}
		s.restart()
		s.sync()
		s.wantWrites()
		s.later(DefaultDriftPeriod + time.Second)
		s.wantWrites("PUT /v2/load_balancers/" + lb.ID)
		now := s.mine()
		if now.SizeUnit != 1 || len(now.DropletIDs) != 1 || now.Name != "terraform" {
			s.t.Errorf("load balancer %+v", now)
		}
		if got := s.web().Status.LoadBalancer.Ingress; len(got) == 0 || got[0].IP != lb.IP {
			s.t.Errorf("status %v", got)
		}
		// What is taken over is the Service's: after a restart as well.
		s.restart()
		s.byHand(lb.ID, resized)
		s.sync()
		if n := s.mine().SizeUnit; n != 1 {
			s.t.Errorf("size %d", n)
		}
	})
}

func TestAStrangersLoadBalancerIsNotDeleted(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		lb := s.stranger(func(lb *simulator.LoadBalancer) { lb.SizeUnit = 3 })
		s.calls()
		s.apply(webService(map[string]string{annotation.LoadBalancerID: lb.ID}))
		_, exists, err := s.GetLoadBalancer(s.t.Context(), "", s.web())
		if exists || err != nil {
			s.t.Errorf("exists %t (%v) before it is taken over", exists, err)
		}
		if err := s.EnsureLoadBalancerDeleted(s.t.Context(), "", s.web()); err != nil {
			s.t.Error(err)
		}
		s.wantWrites()
		s.later(DefaultDriftPeriod + time.Second)
		s.sync()
		s.later(DefaultDriftPeriod + time.Second)
		s.calls()
		if err := s.EnsureLoadBalancerDeleted(s.t.Context(), "", s.web()); err != nil {
			s.t.Error(err)
		}
		s.wantWrites("DELETE /v2/load_balancers/" + lb.ID)
	})
}

func TestAnInvalidServiceDoesNotReachForAStrangersBackends(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		lb := s.stranger(func(lb *simulator.LoadBalancer) { lb.DropletIDs = nil })
		s.apply(webService(map[string]string{annotation.LoadBalancerID: lb.ID, annotation.SizeUnit: "many"}))
		s.wantWrites()
		s.wantNews(annotation.SizeUnit, events.LoadBalancerConfigError)
	})
}

func TestALoadBalancerOfAnotherVPCIsNotTakenOver(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		lb := s.stranger(func(*simulator.LoadBalancer) {})
		s.cluster.VPC = "9b6a2f1e-6c1d-4a53-8f0e-1d2c3b4a5968"
		s.calls()
		s.apply(webService(map[string]string{annotation.LoadBalancerID: lb.ID}))
		s.later(2 * DefaultDriftPeriod)
		s.wantWrites()
		s.wantNews("this one is in VPC "+lb.VPCUUID, events.LoadBalancerConfigError)
	})
}

func TestAMissingLoadBalancerMayBeKeptMissing(t *testing.T) {
	inStand(t, func(o *Options) { o.KeepMissing = true }, func(s *stand) {
		lb := s.ready()
		if err := s.sim.DeleteLoadBalancer(lb.ID); err != nil {
			s.t.Fatal(err)
		}
		s.pass()
		s.wantWrites()
		s.wantNews("Nothing is made: load balancer "+lb.ID, events.LoadBalancerNotFound)
		if got := s.web().Status.LoadBalancer.Ingress; len(got) == 0 {
			s.t.Error("the status is blank")
		}
		s.edit(annotation.LoadBalancerID, "")
		s.later(10 * time.Second)
		s.wantWrites("POST /v2/load_balancers")
	})
}

func TestATypeThatWasStrippedIsThatOfTheLoadBalancer(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		s.ready(annotation.Type, annotation.TypeRegional)
		s.edit(annotation.Type, "", annotation.LoadBalancerID, "")
		s.wantWrites()
		s.wantNews("")
		if got := s.web().Annotations[annotation.Type]; got != annotation.TypeRegional {
			s.t.Errorf("type %q", got)
		}
	})
}

func mode(svc *v1.Service) v1.LoadBalancerIPMode { return *svc.Status.LoadBalancer.Ingress[0].IPMode }

func TestAnAdoptedServiceKeepsItsModeUntilItIsEdited(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		s.ready(annotation.Type, annotation.TypeRegional, annotation.Protocol, "http")
		if got := mode(s.web()); got != v1.LoadBalancerIPModeProxy {
			s.t.Fatalf("mode %s of a new Service", got)
		}
		s.end()
		svc := s.web()
		delete(svc.Annotations, annotation.DefaultsVersion)
		for i := range svc.Status.LoadBalancer.Ingress {
			svc.Status.LoadBalancer.Ingress[i].IPMode = new(v1.LoadBalancerIPModeVIP)
		}
		s.start()
		s.apply(svc)
		s.later(10 * time.Minute)
		s.pass()
		s.restart()
		s.sync()
		if got := mode(s.web()); got != v1.LoadBalancerIPModeVIP {
			s.t.Errorf("mode %s of an adopted Service", got)
		}
		s.edit("example.com/note", "x")
		if got := mode(s.web()); got != v1.LoadBalancerIPModeProxy {
			s.t.Errorf("mode %s after an edit", got)
		}
	})
}

func TestAnOverwrittenStatusIsPutRightOnceAPeriod(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		lb := s.ready()
		overwrite := func() {
			svc := s.web()
			svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "192.0.2.1", IPMode: new(v1.LoadBalancerIPModeVIP)}}
			s.apply(svc)
		}
		address := func() string { return s.web().Status.LoadBalancer.Ingress[0].IP }
		s.later(DefaultDriftPeriod)
		overwrite()
		if got := address(); got != lb.IP {
			s.t.Errorf("address %s", got)
		}
		overwrite()
		s.later(time.Minute)
		s.pass()
		if got := address(); got == lb.IP {
			s.t.Error("put right twice in a period")
		}
		s.wantNews("")
		s.later(DefaultDriftPeriod)
		s.pass()
		if got := address(); got != lb.IP {
			s.t.Errorf("address %s", got)
		}
		s.wantNews("Another controller", events.StatusOverwritten)
		s.wantWrites()
	})
}

func TestCandidatesAreReadOnceForAllServices(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		first, second := &work{}, &work{}
		for _, w := range []*work{first, second} {
			if err := s.shareBackends(s.t.Context(), w); err != nil {
				s.t.Fatal(err)
			}
		}
		if &first.candidates[0] != &second.candidates[0] {
			s.t.Error("they were read twice at once")
		}
		s.addNode(simulator.DropletSpec{Name: "w2"})
		time.Sleep(quiet)
		if err := s.shareBackends(s.t.Context(), second); err != nil {
			s.t.Fatal(err)
		}
		var names []string
		for _, c := range second.candidates {
			names = append(names, c.Node)
		}
		if len(names) != 2 || !strings.Contains(strings.Join(names, " "), "w2") {
			s.t.Errorf("a change of Nodes that was gathered is not seen: %v", names)
		}
		if diff := cmp.Diff(1, len(first.candidates)); diff != "" {
			s.t.Error("what another Service goes by was changed", diff)
		}
	})
}
