package reconciler

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/mangle"
	"digitalocean-cloud-controller-manager/simulator"
)

// ordeal is a stand between which and the API a field is wrong.
type ordeal struct {
	*stand
	// good is the load balancer of "web", and foreign one of somebody else.
	good    simulator.LoadBalancer
	foreign simulator.LoadBalancer
	status  v1.ServiceStatus
}

func inOrdeal(t *testing.T, test func(*ordeal)) {
	inStand(t, nil, func(s *stand) {
		o := &ordeal{stand: s}
		s.wire = &mangle.Transport{Next: s.sim.Transport()}
		s.restart()
		s.addNode(simulator.DropletSpec{Name: "x", IPv6: true, Tags: []string{"pool:web"}})
		o.foreign = s.foreign()
		certificate := s.sim.AddCertificate(simulator.CertificateSpec{Name: "web"})
		o.good = s.ready(annotation.Type, "REGIONAL", annotation.CertificateName, certificate.Name, annotation.DenyRules, "cidr:192.0.2.0/24", annotation.SizeUnit, "2")
		o.status = s.web().Status
		test(o)
	})
}

// foreign is a load balancer that somebody else has made.
func (s *stand) foreign() simulator.LoadBalancer {
	s.t.Helper()
	made, _, err := s.api.Create(s.t.Context(), &godo.LoadBalancerRequest{
		Name: "foreign", Region: "nyc3", Type: "REGIONAL", Tags: []string{"k8s:c2"},
		ForwardingRules: []godo.ForwardingRule{{EntryProtocol: "http", EntryPort: 80, TargetProtocol: "http", TargetPort: 80}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	time.Sleep(2 * time.Minute)
	return s.balancer(made.ID)
}

// changesSeen are the changes of every field that the API sends while all is
// well.
func changesSeen(t *testing.T) (changes []mangle.Change) {
	inOrdeal(t, func(o *ordeal) {
		o.run()
		changes = o.wire.Changes()
	})
	return changes
}

// run has a manager do all that it does.
func (o *ordeal) run() {
	o.look()
	o.restart()
	o.sync()
	o.later(30 * time.Minute)
	o.look()
	o.addNode(simulator.DropletSpec{Name: "y"})
	o.sync()
	o.later(10 * time.Minute)
	api := webService(map[string]string{})
	api.Name, api.UID = "api", "1f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
	o.apply(api)
	o.later(30 * time.Minute)
	o.restart()
	o.sync()
	o.later(10 * time.Minute)
	o.look()
}

// look is a drift controller's, which may fail now, and the framework's question
// that would let go of a Service.
func (o *ordeal) look() {
	o.t.Helper()
	_, _ = o.CheckDrift(o.t.Context())
	o.settle()
	if _, exists, err := o.GetLoadBalancer(context.Background(), "", o.web()); err == nil && !exists {
		o.t.Error("the load balancer is said not to exist")
	}
}

var unstable = cmpopts.IgnoreFields(simulator.LoadBalancer{}, "DropletIDs")

// check wants nothing to be worse than before. Backends may lack the Nodes that
// came meanwhile.
func (o *ordeal) check() {
	o.t.Helper()
	var mine []string
	for _, lb := range o.sim.LoadBalancers() {
		switch lb.ID {
		case o.good.ID:
			if diff := cmp.Diff(o.good, lb, unstable, cmpopts.EquateEmpty(), cmpopts.SortSlices(strings.Compare)); diff != "" {
				o.t.Errorf("the load balancer is another: %s", diff)
			}
			for _, id := range o.good.DropletIDs {
				if !slices.Contains(lb.DropletIDs, id) {
					o.t.Errorf("lost the backend %d of %v", id, o.good.DropletIDs)
				}
			}
		case o.foreign.ID:
			if diff := cmp.Diff(o.foreign, lb); diff != "" {
				o.t.Errorf("another's load balancer is touched: %s", diff)
			}
		default:
			mine = append(mine, lb.Name)
		}
	}
	if len(o.sim.LoadBalancers())-len(mine) != 2 || len(mine) > 1 {
		o.t.Errorf("of two load balancers there are %d, and %v for one Service", len(o.sim.LoadBalancers())-len(mine), mine)
	}
	if diff := cmp.Diff(o.status, o.web().Status); diff != "" {
		o.t.Errorf("status: %s", diff)
	}
	if got := o.web().Annotations[annotation.LoadBalancerID]; got != o.good.ID {
		o.t.Errorf("the Service's id is %q", got)
	}
	for _, call := range o.calls() {
		if strings.HasPrefix(call, "DELETE /v2/load_balancers/") && !strings.HasSuffix(call, "/droplets") {
			o.t.Errorf("call %s", call)
		}
	}
	for _, e := range o.news() {
		if strings.Contains(e, string(events.InternalError)) {
			o.t.Errorf("panic: %s", e)
		}
	}
}

// One field of the API's answers at a time is missing, null, empty or of another
// type: nothing panics, nothing is lost, and all is well when it is over.
func TestAFieldThatIsWrongBreaksNothing(t *testing.T) {
	byField := map[mangle.Field][]mangle.Change{}
	for _, change := range mangle.Chosen(changesSeen(t)) {
		byField[change.Field] = append(byField[change.Field], change)
	}
	for field, changes := range byField {
		t.Run(string(field), func(t *testing.T) {
			t.Parallel()
			for _, change := range changes {
				t.Run(string(change.Kind), func(t *testing.T) { suffer(t, change) })
			}
		})
	}
}

func suffer(t *testing.T, change mangle.Change) {
	inOrdeal(t, func(o *ordeal) {
		o.wire.Begin(&change)
		o.run()
		if o.wire.Hits() == 0 {
			t.Errorf("nothing was changed")
		}
		o.check()
		o.wire.Begin(nil)
		o.restart()
		o.sync()
		o.later(time.Hour)
		o.check()
		if got := len(o.sim.LoadBalancers()); got != 3 {
			t.Errorf("%d load balancers in the end, want 3", got)
		}
		if want, got := len(o.nodes.List()), len(o.mine().DropletIDs); got != want {
			t.Errorf("%d backends in the end, want %d", got, want)
		}
	})
}

// The API says that TLS is passed through, which would change the mode of the
// Service's addresses, and says so too of what is written against it.
func TestTheModeOfAddressesIsThatOfWhatWasWritten(t *testing.T) {
	suffer(t, mangle.Change{Field: "load_balancer.forwarding_rules[].tls_passthrough", Kind: mangle.Bool})
}
