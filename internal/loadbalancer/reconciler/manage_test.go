package reconciler

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/simulator"
)

// terraform makes a load balancer with a droplet of its own.
func (s *stand) terraform() (simulator.LoadBalancer, int) {
	s.t.Helper()
	theirs := s.sim.AddDroplet(simulator.DropletSpec{Name: "theirs"})
	lb, _, err := clientOf(s.t, s.sim).LoadBalancers.Create(s.t.Context(), &godo.LoadBalancerRequest{
		Name: "terraform", Region: "nyc3", Type: "REGIONAL", SizeUnit: 2, DropletIDs: []int{theirs.ID},
		ForwardingRules: []godo.ForwardingRule{{EntryProtocol: "http", EntryPort: 8080, TargetProtocol: "http", TargetPort: 30080}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.later(2 * time.Minute)
	s.calls()
	return s.balancer(lb.ID), theirs.ID
}

func TestOnlyTheBackendsOfATerraformLoadBalancerAreOurs(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		lb, theirs := s.terraform()
		a := s.addNode(simulator.DropletSpec{Name: "a"})
		before := s.ready(annotation.LoadBalancerID, lb.ID, annotation.Manage, "backends", annotation.SizeUnit, "7")
		s.later(2 * DefaultDriftPeriod)
		now := s.mine()
		if len(now.DropletIDs) != 3 {
			s.t.Errorf("droplets %v", now.DropletIDs)
		}
		now.DropletIDs = before.DropletIDs
		if diff := cmp.Diff(lb, now); diff != "" {
			s.t.Errorf("more than the droplets changed: %s", diff)
		}
		s.calls()
		s.news()
		s.byHand(lb.ID, func(lb *simulator.LoadBalancer) { lb.SizeUnit, lb.ForwardingRules[0].EntryPort = 5, 9090 })
		s.pass()
		s.wantWrites()
		s.wantNews("")
		s.removeNode(a.Name)
		s.later(time.Second)
		s.pass()
		s.wantWrites("DELETE /v2/load_balancers/" + lb.ID + "/droplets")
		s.news()
		if err := s.goes(); err != nil {
			s.t.Fatal(err)
		}
		s.wantNews("is somebody else's. The cluster's droplets were taken out", events.LoadBalancerRetained)
		s.wantDroplets(theirs)
		if now := s.mine(); now.SizeUnit != 5 || now.ForwardingRules[0].EntryPort != 9090 {
			s.t.Errorf("load balancer %+v", now)
		}
	})
}

func TestATerraformLoadBalancerIsNeverMade(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		s.apply(webService(map[string]string{annotation.Manage: "backends"}))
		s.wantNews("must be accompanied by "+annotation.LoadBalancerID, events.LoadBalancerConfigError)
		s.edit(annotation.LoadBalancerID, "4de7ac8b-495b-4884-9a69-1050c6793cd6")
		s.later(time.Minute)
		s.wantWrites()
	})
}

// A slip must not delete what Terraform has made.
func TestAMistakeInManageDeletesNothing(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		lb, _ := s.terraform()
		s.ready(annotation.LoadBalancerID, lb.ID, annotation.Manage, "backends")
		s.later(2 * DefaultDriftPeriod)
		s.edit(annotation.Manage, "backend")
		if err := s.goes(); err != nil {
			s.t.Fatal(err)
		}
		for _, r := range s.sim.Requests() {
			if r.Method == http.MethodDelete && r.Path == "/v2/load_balancers/"+lb.ID {
				s.t.Error("deleted")
			}
		}
	})
}

func TestInvalidBackendsBesideOthersDropletsLeaveThoseAlone(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		lb, theirs := s.terraform()
		s.ready(annotation.LoadBalancerID, lb.ID, annotation.Manage, "backends")
		s.later(2 * DefaultDriftPeriod)
		first := s.mine().DropletIDs
		s.edit(annotation.SizeUnit, "none")
		b := s.addNode(simulator.DropletSpec{Name: "b"})
		s.later(time.Second)
		s.sync()
		s.wantDroplets(append(first, b.ID)...)
		if first[0] != theirs && first[1] != theirs {
			s.t.Errorf("droplets %v lack %d", first, theirs)
		}
	})
}

func TestALoadBalancerThatTargetsATagTakesNoDroplets(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		lb, _ := s.terraform()
		s.byHand(lb.ID, func(lb *simulator.LoadBalancer) { lb.Tag, lb.DropletIDs = "theirs", nil })
		s.apply(webService(map[string]string{annotation.LoadBalancerID: lb.ID, annotation.Manage: "backends"}))
		s.wantNews(`targets the droplets of the tag "theirs"`, events.LoadBalancerConfigError)
		s.later(2 * DefaultDriftPeriod)
		s.wantWrites()
	})
}

// Where the annotation is gone, by a slip or not, the settings are met for the
// first time: nothing of Terraform's is overwritten on the spot.
func TestSettingsThatWereTerraformsAreToldBeforeTheyChange(t *testing.T) {
	for name, between := range map[string]func(*stand){
		"with all its memory": func(*stand) {},
		"after a restart":     (*stand).restart,
	} {
		t.Run(name, func(t *testing.T) {
			inStand(t, nil, func(s *stand) {
				lb, _ := s.terraform()
				before := s.ready(annotation.LoadBalancerID, lb.ID, annotation.Manage, "backends")
				s.later(2 * DefaultDriftPeriod)
				between(s)
				s.sync()
				s.calls()
				s.news()
				before.DropletIDs = s.mine().DropletIDs
				s.edit(annotation.Manage, "")
				s.wantNews("size unit 2 -> 1", events.LoadBalancerFirstContact)
				if diff := cmp.Diff(before, s.mine()); diff != "" {
					s.t.Errorf("something changed at once: %s", diff)
				}
				s.edit(annotation.Manage, "backends")
				s.later(2 * DefaultDriftPeriod)
				if now := s.mine(); now.SizeUnit != 2 || len(now.DropletIDs) == 0 {
					s.t.Errorf("load balancer %+v once the slip is mended", now)
				}
				s.edit(annotation.Manage, "")
				s.later(2 * DefaultDriftPeriod)
				if now := s.mine(); now.SizeUnit != 1 || s.web().Annotations[annotation.DefaultsVersion] == "" {
					s.t.Errorf("load balancer %+v, annotations %v after a drift period", now, s.web().Annotations)
				}
			})
		})
	}
}

// Also where nothing but droplets differs.
func TestDropletsOfOthersAreToldBeforeTheyGo(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		lb := s.ready(annotation.RetainOnDelete, "true")
		if err := s.goes(); err != nil {
			s.t.Fatal(err)
		}
		theirs := s.sim.AddDroplet(simulator.DropletSpec{Name: "theirs"})
		s.byHand(lb.ID, func(lb *simulator.LoadBalancer) { lb.DropletIDs = []int{theirs.ID} })
		s.restart()
		svc := webService(map[string]string{annotation.LoadBalancerID: lb.ID, annotation.Manage: "backends"})
		s.apply(svc)
		s.later(2 * DefaultDriftPeriod)
		with := s.mine().DropletIDs
		s.calls()
		s.news()
		s.edit(annotation.Manage, "")
		s.wantNews(strconv.Itoa(theirs.ID), events.LoadBalancerFirstContact)
		s.wantDroplets(with...)
		s.later(2 * DefaultDriftPeriod)
		if got := s.mine().DropletIDs; slices.Contains(got, theirs.ID) {
			s.t.Errorf("droplets %v after a drift period", got)
		}
		s.wantNews("removed "+strconv.Itoa(theirs.ID), events.LoadBalancerUpdated)
	})
}

// Nobody in the cluster ever asked for them, nor gave the name.
func TestCiphersAndNameThatWereTerraformsStayWhenNobodyAsksForOthers(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		lb, _ := s.terraform()
		s.byHand(lb.ID, func(lb *simulator.LoadBalancer) { lb.TLSCipherPolicy = "STRONG" })
		s.ready(annotation.LoadBalancerID, lb.ID, annotation.Manage, "backends", annotation.Name, "ours")
		s.later(2 * DefaultDriftPeriod)
		s.edit(annotation.Manage, "", annotation.Name, "")
		s.later(2 * DefaultDriftPeriod)
		if now := s.mine(); now.SizeUnit != 1 || now.TLSCipherPolicy != "STRONG" || now.Name != lb.Name {
			s.t.Errorf("size %d, ciphers %q, name %q", now.SizeUnit, now.TLSCipherPolicy, now.Name)
		}
	})
}

// The version of the defaults is of the load balancer that the Service had before.
func TestAVersionFromAnotherLoadBalancerIsNoWorkOnTerraforms(t *testing.T) {
	for name, between := range map[string]func(*stand){
		"with all its memory": func(*stand) {},
		"after a restart":     (*stand).restart,
	} {
		t.Run(name, func(t *testing.T) {
			inStand(t, nil, func(s *stand) {
				own := s.ready(annotation.Type, annotation.TypeRegional)
				lb, _ := s.terraform()
				if s.version() == "" {
					s.t.Fatal("no version")
				}
				s.edit(annotation.LoadBalancerID, lb.ID, annotation.Manage, "backends")
				s.later(2 * DefaultDriftPeriod)
				s.sync()
				if s.mine().ID != lb.ID || own.ID == lb.ID {
					s.t.Fatalf("load balancer %+v", s.mine())
				}
				between(s)
				s.sync()
				s.news()
				s.edit(annotation.Manage, "")
				s.wantNews("size unit 2 -> 1", events.LoadBalancerFirstContact)
				if now := s.mine(); now.SizeUnit != 2 {
					s.t.Errorf("size unit %d at once", now.SizeUnit)
				}
			})
		})
	}
}
