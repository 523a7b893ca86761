package reconciler

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	servicehelpers "k8s.io/cloud-provider/service/helpers"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/limits"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/simulator"
)

func limited(l ...limits.Limit) func(*Options) {
	return func(o *Options) { o.Limits.Limits = l }
}

var noTakeOver = limits.Limit{Name: "own", Forbid: []string{annotation.LoadBalancerID}}

// made makes another Service, of an age in minutes, and syncs it.
func (s *stand) made(name string, age int, annotations ...string) *v1.Service {
	s.t.Helper()
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name), Annotations: map[string]string{},
			CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Duration(age) * time.Minute)),
			Finalizers:        []string{servicehelpers.LoadBalancerCleanupFinalizer},
		},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{{Port: 80, NodePort: 30080, Protocol: v1.ProtocolTCP}}},
	}
	for i := 0; i < len(annotations); i += 2 {
		svc.Annotations[annotations[i]] = annotations[i+1]
	}
	s.apply(svc)
	return s.named(name)
}

func (s *stand) named(name string) *v1.Service {
	s.t.Helper()
	svc, err := s.kube.CoreV1().Services("default").Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return svc
}

// served waits for the Service's address.
func (s *stand) served(name string) simulator.LoadBalancer {
	s.t.Helper()
	s.later(3 * time.Minute)
	svc := s.named(name)
	if len(svc.Status.LoadBalancer.Ingress) == 0 {
		s.t.Fatalf("Service %s has no address; its annotations are %v", name, svc.Annotations)
	}
	return s.balancer(svc.Annotations[annotation.LoadBalancerID])
}

func TestALimitKeepsAServiceFromTakingOverByID(t *testing.T) {
	inStand(t, limited(noTakeOver), func(s *stand) {
		before := s.stranger(func(*simulator.LoadBalancer) {})
		s.calls()
		s.news()
		// An attacker also claims to have worked on it before, by the annotation
		// that only the manager should write, and by its name.
		s.made("mallory", 1, annotation.LoadBalancerID, before.ID, annotation.DefaultsVersion, "1", annotation.Name, "terraform", annotation.Hostname, "x.example.com")
		s.wantNews(`the limit "own"`, events.LoadBalancerNotOwned)
		s.later(time.Hour)
		s.restart()
		s.sync()
		s.later(time.Hour)
		s.wantWrites()

		// Deleting the Service leaves it alone as well.
		mallory := s.named("mallory")
		if _, exists, err := s.GetLoadBalancer(s.t.Context(), "", mallory); exists || err != nil {
			s.t.Errorf("exists %t, %v", exists, err)
		}
		if err := s.EnsureLoadBalancerDeleted(s.t.Context(), "", mallory); err != nil {
			s.t.Error(err)
		}
		s.wantWrites()
		if diff := cmp.Diff(before, s.balancer(before.ID)); diff != "" {
			s.t.Error(diff)
		}

		// The way out that the event names.
		delete(mallory.Annotations, annotation.LoadBalancerID)
		delete(mallory.Annotations, annotation.Name)
		s.apply(mallory)
		if own := s.served("mallory"); own.ID == before.ID {
			s.t.Error("it was taken over once the annotation was gone")
		}
	})
}

func TestALimitLeavesAServiceItsOwnLoadBalancer(t *testing.T) {
	tests := []struct {
		name  string
		annos []string
		after func(*stand, simulator.LoadBalancer)
	}{
		{"by its address, when mark and memory are gone", []string{annotation.Name, "mine"}, func(s *stand, lb simulator.LoadBalancer) {
			s.byHand(lb.ID, func(lb *simulator.LoadBalancer) { lb.Tags = []string{"k8s:c1"} })
		}},
		{"by its mark, when a host name hides the address", []string{annotation.Name, "mine", annotation.Hostname, "x.example.com", annotation.Type, "REGIONAL"}, func(*stand, simulator.LoadBalancer) {}},
		{"by its default name", []string{annotation.Hostname, "x.example.com", annotation.Type, "REGIONAL"}, func(s *stand, lb simulator.LoadBalancer) {
			s.byHand(lb.ID, func(lb *simulator.LoadBalancer) { lb.Tags = nil })
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inStand(t, limited(noTakeOver, limits.Limit{Name: "type", Forbid: []string{annotation.IP}}), func(s *stand) {
				s.made("team", 1, test.annos...)
				lb := s.served("team")
				test.after(s, lb)
				s.restart()
				s.news()
				svc := s.named("team")
				svc.Annotations[annotation.SizeUnit] = "2"
				s.apply(svc)
				s.later(10 * time.Minute)
				if got := s.balancer(lb.ID).SizeUnit; got != 2 {
					s.t.Errorf("size %d, told %q", got, s.news())
				}
				if err := s.EnsureLoadBalancerDeleted(s.t.Context(), "", s.named("team")); err != nil {
					s.t.Fatal(err)
				}
				if left := s.sim.LoadBalancers(); len(left) != 0 {
					s.t.Errorf("%d load balancers are left", len(left))
				}
			})
		})
	}
}

// The claim of an older Service that may not take over must not put the owner
// off.
func TestAForbiddenClaimDoesNotHoldUpTheOwner(t *testing.T) {
	inStand(t, limited(noTakeOver), func(s *stand) {
		s.made("team", 1, annotation.Name, "mine")
		lb := s.served("team")
		s.byHand(lb.ID, func(lb *simulator.LoadBalancer) { lb.Tags = []string{"k8s:c1"} })
		s.news()
		s.made("mallory", 1000, annotation.LoadBalancerID, lb.ID)
		s.wantNews(`not made for this Service, and the limit "own"`, events.LoadBalancerNotOwned)
		svc := s.named("team")
		svc.Annotations[annotation.SizeUnit] = "2"
		s.apply(svc)
		s.later(10 * time.Minute)
		if got := s.balancer(lb.ID).SizeUnit; got != 2 {
			s.t.Errorf("size %d, told %q", got, s.news())
		}
	})
}

func TestAServiceWithItsOwnLoadBalancerKeepsItWhenItNamesAnother(t *testing.T) {
	inStand(t, limited(noTakeOver), func(s *stand) {
		before := s.stranger(func(*simulator.LoadBalancer) {})
		s.made("team", 1)
		lb := s.served("team")
		svc := s.named("team")
		svc.Annotations[annotation.LoadBalancerID] = before.ID
		s.calls()
		s.apply(svc)
		s.later(10 * time.Minute)
		s.wantWrites()
		if got := s.named("team").Annotations[annotation.LoadBalancerID]; got != lb.ID {
			s.t.Errorf("the Service has load balancer %s, want its own, %s", got, lb.ID)
		}
	})
}

func TestACountLimitHoldsForNewServicesOnly(t *testing.T) {
	l := []limits.Limit{{Name: "few", Max: new(2)}}
	inStand(t, func(o *Options) { o.Limits.Limits = l }, func(s *stand) {
		s.made("one", 30)
		s.made("two", 20)
		s.served("one")
		two := s.served("two")
		s.news()
		s.made("three", 10)
		s.wantNews(`limit "few"`, events.LoadBalancerConfigError)
		s.made("four", 5)
		s.later(time.Hour)
		if n := len(s.sim.LoadBalancers()); n != 2 {
			s.t.Fatalf("%d load balancers", n)
		}

		// Lowered: both stay, and are worked on.
		l[0].Max = new(0)
		s.restart()
		s.sync()
		svc := s.named("two")
		svc.Annotations[annotation.SizeUnit] = "2"
		s.apply(svc)
		s.later(10 * time.Minute)
		if got := s.balancer(two.ID).SizeUnit; got != 2 {
			s.t.Errorf("size %d, told %q", got, s.news())
		}
		l[0].Max = new(2)
		s.restart()
		s.sync()

		// Room for one: the oldest gets it, within seconds.
		if err := s.EnsureLoadBalancerDeleted(s.t.Context(), "", s.named("two")); err != nil {
			s.t.Fatal(err)
		}
		if err := s.kube.CoreV1().Services("default").Delete(s.t.Context(), "two", metav1.DeleteOptions{}); err != nil {
			s.t.Fatal(err)
		}
		s.refresh()
		s.later(goneTakes + time.Second)
		if n := len(s.sim.LoadBalancers()); n != 2 {
			s.t.Fatalf("%d load balancers once there is room", n)
		}
		s.served("three")
		if svc := s.named("four"); svc.Annotations[annotation.LoadBalancerID] != "" {
			s.t.Error("the youngest got a load balancer as well")
		}
	})
}

// Only a manager writes a status: an id that leads nowhere is no load balancer.
func TestACountLimitIsNotEvadedByAnInventedID(t *testing.T) {
	inStand(t, limited(limits.Limit{Name: "none", Max: new(0)}), func(s *stand) {
		s.made("mallory", 1, annotation.LoadBalancerID, "5a4981aa-9653-4bd1-bef5-d6bff52042e4", annotation.DefaultsVersion, "1")
		s.later(time.Hour)
		s.wantWrites()
	})
}

func TestALoweredLimitKeepsTheLoadBalancerAndItsBackends(t *testing.T) {
	l := []limits.Limit{{Name: "small", MaxSizeUnit: 3}}
	inStand(t, func(o *Options) { o.Limits.Limits = l }, func(s *stand) {
		s.made("team", 1, annotation.SizeUnit, "3")
		lb := s.served("team")
		l[0].MaxSizeUnit = 2
		s.restart()
		s.news()
		second := s.addNode(simulator.DropletSpec{Name: "w2"})
		svc := s.named("team")
		svc.Annotations[annotation.HTTPIdleTimeoutSeconds] = "90"
		s.apply(svc)
		s.later(time.Minute)
		after := s.balancer(lb.ID)
		if after.SizeUnit != 3 || !slices.Contains(after.DropletIDs, second.ID) || after.HTTPIdleTimeoutSeconds != lb.HTTPIdleTimeoutSeconds {
			s.t.Errorf("size %d, droplets %v, idle timeout %d", after.SizeUnit, after.DropletIDs, after.HTTPIdleTimeoutSeconds)
		}
		if told := strings.Join(s.news(), "\n"); !strings.Contains(told, `must be at most 2 nodes (limit "small"`) {
			s.t.Errorf("told %s", told)
		}
	})
}

func TestLimitsForSelectedNamespacesWaitForTheirLabels(t *testing.T) {
	namespaces := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	var synced atomic.Bool
	tenant, err := labels.Parse("tenant")
	if err != nil {
		t.Fatal(err)
	}
	options := func(o *Options) {
		o.Limits = Limits{
			Limits:     limits.Limits{{Name: "tenants", Namespaces: tenant, Types: []string{"REGIONAL"}}},
			Namespaces: corelisters.NewNamespaceLister(namespaces), HasSynced: synced.Load,
		}
	}
	inStand(t, options, func(s *stand) {
		s.made("team", 1)
		s.later(time.Minute)
		s.wantWrites()
		synced.Store(true)
		s.later(time.Minute) // still unknown: the namespace is younger than the informer
		s.wantWrites()
		label := func(labels map[string]string) {
			if err := namespaces.Add(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: labels}}); err != nil {
				s.t.Fatal(err)
			}
		}
		label(map[string]string{"tenant": "a"})
		s.later(time.Minute)
		s.wantWrites()
		if told := strings.Join(s.news(), "\n"); !strings.Contains(told, `limit "tenants"`) {
			s.t.Errorf("told %s", told)
		}
		label(nil)
		s.later(waitUser)
		s.served("team")
	})
}

func TestNewLoadBalancersAreNamedByTheTemplate(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		s.made("old", 30)
		old := s.served("old")
		s.cluster.Names = loadbalancer.NameTemplate{Text: "{{cluster}}-{{namespace}}-{{name}}", Cluster: "prod"}
		s.news()
		s.made("team", 20)
		team := s.served("team")
		if team.Name != "prod-default-team" || s.balancer(old.ID).Name != old.Name {
			s.t.Errorf("names %q and %q", team.Name, s.balancer(old.ID).Name)
		}

		// Without any mark it is found by its address, and keeps its name.
		s.byHand(team.ID, func(lb *simulator.LoadBalancer) { lb.Tags = []string{"k8s:c1"} })
		s.restart()
		s.sync()
		s.later(10 * time.Minute)
		if got := s.balancer(team.ID).Name; got != "prod-default-team" {
			s.t.Errorf("it was renamed to %q", got)
		}

		// The annotation renames it; without it, the template does again.
		for _, name := range []string{"mine", ""} {
			svc := s.named("team")
			svc.Annotations[annotation.Name] = name
			s.apply(svc)
			s.later(10 * time.Minute)
		}
		if got := s.balancer(team.ID).Name; got != "prod-default-team" {
			s.t.Errorf("without the annotation it is called %q", got)
		}
	})
}

func TestANameOfTheTemplateThatIsTakenIsTold(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		other := s.stranger(func(lb *simulator.LoadBalancer) { lb.Name = "default-team" })
		s.cluster.Names = loadbalancer.NameTemplate{Text: "{{namespace}}-{{name}}"}
		s.news()
		svc := s.made("team", 1)
		if told := strings.Join(s.news(), "\n"); !strings.Contains(told, fmt.Sprintf(`%s The name "default-team"`, events.LoadBalancerNameTaken)) || !strings.Contains(told, other.ID) {
			s.t.Errorf("told %s", told)
		}
		if lb := s.served("team"); lb.Name != loadbalancer.DefaultName(svc) {
			s.t.Errorf("name %q", lb.Name)
		}
	})
}

// The list by which names are compared may be a minute old, and other Services
// are made at the same time.
func TestANameOfTheTemplateThatWasJustTakenHoldsNothingUp(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		s.cluster.Names = loadbalancer.NameTemplate{Text: "{{namespace}}-{{name}}"}
		other := s.stranger(func(*simulator.LoadBalancer) {})
		s.made("first", 2) // which reads the list
		s.byHand(other.ID, func(lb *simulator.LoadBalancer) { lb.Name = "default-team" })
		s.news()
		svc := s.made("team", 1)
		if lb := s.served("team"); lb.Name != loadbalancer.DefaultName(svc) {
			s.t.Errorf("name %q", lb.Name)
		}
		told := strings.Join(s.news(), "\n")
		if !strings.Contains(told, string(events.LoadBalancerNameTaken)) || !strings.Contains(told, other.ID) || strings.Contains(told, string(events.LoadBalancerRequestFailed)) {
			s.t.Errorf("told %s", told)
		}
	})
}
