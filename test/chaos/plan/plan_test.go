package plan

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/simulator"
)

func storms(short bool) []Plan {
	var plans []Plan
	for seed := range uint64(200) {
		plans = append(plans, New(Options{Seed: seed, Length: 30 * time.Second, Short: short}))
	}
	return plans
}

func TestSeedGivesTheSameStorm(t *testing.T) {
	a, b := storms(false), storms(false)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("the same seeds gave other storms:\n%s", diff)
	}
	if cmp.Equal(a[1].Actions, a[2].Actions) {
		t.Error("two seeds gave one storm")
	}
}

func TestLongerStormBeginsAsTheShorterOne(t *testing.T) {
	short := New(Options{Seed: 7, Length: 10 * time.Second}).Actions
	long := New(Options{Seed: 7, Length: time.Minute}).Actions
	if len(long) <= len(short) {
		t.Fatalf("a minute has %d actions, ten seconds %d", len(long), len(short))
	}
	if diff := cmp.Diff(short, long[:len(short)]); diff != "" {
		t.Error(diff)
	}
}

func TestEveryKindHappens(t *testing.T) {
	seen := map[Kind]int{}
	for _, p := range storms(false) {
		for _, a := range p.Actions {
			seen[a.Kind]++
		}
	}
	for _, m := range makers {
		if seen[m.kind] < 20 {
			t.Errorf("%s: %d times in 200 storms", m.kind, seen[m.kind])
		}
	}
}

func TestActionsComeInOrderAndWithinTheStorm(t *testing.T) {
	for _, p := range storms(false) {
		if !slices.IsSortedFunc(p.Actions, func(a, b Action) int { return int(a.At - b.At) }) {
			t.Fatal("not in order")
		}
		if len(p.Actions) < 20 {
			t.Errorf("only %d actions", len(p.Actions))
		}
		if last := p.Actions[len(p.Actions)-1]; last.At >= 30*time.Second {
			t.Errorf("too late: %s", last)
		}
	}
}

func TestLimitsOfAStorm(t *testing.T) {
	for seed, p := range storms(false) {
		hands, gone := map[string]int{}, 0
		for _, a := range p.Actions {
			switch a.Kind {
			case EditLoadBalancer, DeleteLoadBalancer, FailLoadBalancer:
				hands[a.Object]++
			case EditFirewall, DeleteFirewall:
				hands["firewall"]++
			case DeleteDroplet:
				gone++
			}
			if a.Object == NodeName(0) {
				t.Errorf("seed %d: the Node that must stay: %s", seed, a)
			}
		}
		for object, n := range hands {
			if n > handEdits {
				t.Errorf("seed %d: %d changes of %s by hand, which is a fight", seed, n, object)
			}
		}
		if gone > maxGone {
			t.Errorf("seed %d: %d droplets gone", seed, gone)
		}
	}
}

// The simulator panics at a fault that can't act.
func TestEveryFaultActs(t *testing.T) {
	sim, kinds := simulator.New(), map[string]bool{}
	for _, p := range storms(false) {
		for _, a := range p.Actions {
			if a.Kind == BreakAPI {
				sim.RemoveFault(sim.AddFault(a.Fault))
				kinds[fmt.Sprint(a.Fault.ListLag > 0, a.Fault.Errored, a.Fault.Status)] = true
			}
		}
	}
	if len(kinds) < 6 {
		t.Errorf("only %d kinds of faults: %v", len(kinds), kinds)
	}
}

func TestShortStormHasNothingSlow(t *testing.T) {
	for seed, p := range storms(true) {
		for _, a := range p.Actions {
			if i := slices.IndexFunc(makers, func(m maker) bool { return m.kind == a.Kind }); makers[i].slow || a.Fault.Quota == "hour" {
				t.Errorf("seed %d: %s", seed, a)
			}
		}
	}
}

// Storms are of little use where most Services are refused, or none is.
func TestAnnotationsAreValidAndInvalid(t *testing.T) {
	valid, invalid, regional := 0, 0, 0
	for _, p := range storms(false) {
		for _, a := range p.Actions {
			if a.Kind != CreateService {
				continue
			}
			spec, problems := annotation.Parse(service1(a), annotation.Defaults{Type: annotation.TypeRegionalNetwork})
			if len(problems) > 0 {
				invalid++
				continue
			}
			valid++
			if spec.Type == annotation.TypeRegional {
				regional++
			}
		}
	}
	if valid < 2*invalid || invalid < 50 || regional < 100 {
		t.Errorf("%d valid, of them %d of type %s, and %d invalid", valid, regional, annotation.TypeRegional, invalid)
	}
}

func service1(a Action) *v1.Service {
	svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
	for key, value := range a.Annotations {
		if len(value) > len(CertificateOf) && value[:len(CertificateOf)] == CertificateOf {
			value = "892071a0-bb95-49bc-8021-3afd67a210bf"
		}
		svc.Annotations[key] = value
	}
	for _, p := range a.Ports {
		port := v1.ServicePort{Port: p.Port, Protocol: v1.ProtocolTCP}
		if p.UDP {
			port.Protocol = v1.ProtocolUDP
		}
		svc.Spec.Ports = append(svc.Spec.Ports, port)
	}
	return svc
}
