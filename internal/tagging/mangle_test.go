package tagging

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/internal/crash"
	"digitalocean-cloud-controller-manager/internal/mangle"
)

// ordeal is a rig between which and the API a field is wrong.
type ordeal struct {
	*rig
	wire *mangle.Transport
	stop func()
}

func inOrdeal(t *testing.T, test func(*ordeal)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := &ordeal{rig: newRig(t)}
		o.wire = &mangle.Transport{Next: o.sim.Transport()}
		o.balancer("stranger", "k8s:green", "k8s-svc:other")
		o.add(service("a", o.balancer("a", clusterTag)), service("b", o.balancer("b", "k8s-svc:uid-b")))
		o.begin()
		test(o)
		o.stop()
	})
}

func (o *ordeal) begin() { _, o.stop = o.process(crash.Point{}, o.wire) }

// run has a controller do all that it does: tag what lacks the tag, begin anew,
// and tag what was changed by hand.
func (o *ordeal) run() {
	time.Sleep(2 * DefaultPeriod)
	o.stop()
	for _, lb := range o.sim.LoadBalancers() {
		if lb.Name == "a" {
			o.retag(lb.ID)
		}
	}
	o.begin()
	time.Sleep(3 * DefaultPeriod)
}

// One field of the API's answers at a time is missing, null, empty or of another
// type: nothing panics, no stranger's tag is touched and no tag deleted that
// isn't a mark of a Service's, and all is well when it is over.
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
				o.wire.Begin(nil)
				time.Sleep(4 * DefaultPeriod)
				want := map[string][]string{"stranger": {"k8s-svc:other", "k8s:green"}, "a": {clusterTag}, "b": {clusterTag}}
				if diff := cmp.Diff(want, o.outcome().Balancers); diff != "" {
					t.Errorf("tags in the end: %s", diff)
				}
				if deleted := slices.DeleteFunc(o.calls(), func(call string) bool {
					return !strings.HasPrefix(call, "DELETE") || call == "DELETE /v2/tags/k8s-svc:uid-b"
				}); len(deleted) > 0 {
					t.Errorf("calls %v", deleted)
				}
			})
		})
	}
}
