package firewall

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/mangle"
	"digitalocean-cloud-controller-manager/simulator"
)

// ordeal is a cluster between which and the API a field is wrong.
type ordeal struct {
	*cluster
	wire *mangle.Transport
	// foreign is a firewall of somebody else.
	foreign simulator.Firewall
}

const strangers = "strangers"

func inOrdeal(t *testing.T, test func(*ordeal)) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		o := &ordeal{cluster: newCluster(t)}
		o.post("/v2/firewalls", `{"name":"`+strangers+`","inbound_rules":[{"protocol":"tcp","ports":"22","sources":{"addresses":["192.0.2.1"]}}]}`)
		id := o.addLoadBalancer()
		o.create(nodePort("web", "tcp/80/30080"))
		o.create(balancer("edge", []string{"tcp/443/31443"}, annotated(annotation.LoadBalancerID, id)))
		o.wire = &mangle.Transport{Next: o.sim.Transport()}
		o.transport = o.wire
		o.start()
		o.wait(time.Hour)
		o.foreign = o.named(strangers)
		test(o)
		o.stop()
	})
}

func (o *ordeal) named(name string) simulator.Firewall {
	o.t.Helper()
	var found []simulator.Firewall
	for _, fw := range o.sim.Firewalls() {
		if fw.Name == name {
			found = append(found, fw)
		}
	}
	if len(found) != 1 {
		o.t.Fatalf("%d firewalls %s, want 1", len(found), name)
	}
	return found[0]
}

// run has a controller do all that it does: look, change, begin anew, make anew.
func (o *ordeal) run() {
	o.wait(10 * time.Minute)
	o.create(nodePort("api", "tcp/80/30081"))
	o.wait(10 * time.Minute)
	o.stop()
	o.start()
	o.create(nodePort("late", "tcp/80/30082"))
	o.wait(10 * time.Minute)
	if err := o.sim.DeleteFirewall(o.named(identity.Name).ID); err != nil {
		o.t.Fatal(err)
	}
	o.send(http.MethodDelete, "/v2/tags/"+identity.Tags[0], "")
	o.wait(10 * time.Minute)
}

// Nothing is ever deleted, nothing of others is written to, and there are never
// two firewalls, whatever the API's answers lack.
func (o *ordeal) check() {
	o.t.Helper()
	mine := 0
	for _, fw := range o.sim.Firewalls() {
		if fw.Name == identity.Name {
			mine++
		}
	}
	if mine > 1 {
		o.t.Errorf("%d firewalls %s", mine, identity.Name)
	}
	if diff := cmp.Diff(o.foreign, o.named(strangers)); diff != "" {
		o.t.Errorf("another's firewall: %s", diff)
	}
	for _, call := range o.calls() {
		if strings.HasPrefix(call, "DELETE") && call != "DELETE /v2/tags/"+identity.Tags[0] {
			o.t.Errorf("call %s", call)
		}
	}
	if told := o.told(); strings.Contains(told, "panic") {
		o.t.Error(told)
	}
}

// One field of the API's answers at a time is missing, null, empty or of another
// type: nothing panics, nothing is lost, and all is well when it is over.
func TestAFieldThatIsWrongBreaksNothing(t *testing.T) {
	var changes []mangle.Change
	inOrdeal(t, func(o *ordeal) {
		o.run()
		changes = mangle.Chosen(o.wire.Changes())
	})
	for _, change := range changes {
		t.Run(change.String(), func(t *testing.T) {
			inOrdeal(t, func(o *ordeal) {
				o.wire.Begin(&change)
				o.run()
				if o.wire.Hits() == 0 {
					t.Error("nothing was changed")
				}
				o.check()
				o.wire.Begin(nil)
				o.stop()
				o.start()
				o.wait(time.Hour)
				o.check()
				var open []string
				for _, rule := range inboundOf(o.named(identity.Name)) {
					open = append(open, strings.Join(strings.Fields(rule)[:2], " "))
				}
				if diff := cmp.Diff([]string{"tcp 10256", "tcp 30080-30082", "tcp 443"}, open); diff != "" {
					t.Errorf("open in the end: %s", diff)
				}
			})
		})
	}
}
