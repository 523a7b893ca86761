package instances

import (
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/mangle"
)

// mangled is a cluster of three Nodes between which and the API a field can be
// wrong.
func mangled(t *testing.T) (*cluster, *mangle.Transport) {
	c := newCluster(t, standardBrake)
	wire := &mangle.Transport{Next: c.sim.Transport()}
	token, _, err := doapi.NewToken("dop_v1_test")
	if err != nil {
		t.Fatal(err)
	}
	client, err := doapi.New(doapi.Options{TokenSource: doapi.StaticToken(token), Version: "test", Transport: wire})
	if err != nil {
		t.Fatal(err)
	}
	lister := corelisters.NewNodeLister(c.nodes)
	droplets := inventory.NewDroplets(client.Droplets, client.Account, ClusterOf(lister), clock.RealClock{})
	c.instances = New(droplets, lister, events.NewRecorder(c.events, clock.RealClock{}), standardBrake, nil, clock.RealClock{})
	c.addWitness()
	c.addMany(2)
	return c, wire
}

// live has the framework ask all that it asks.
func (c *cluster) live() {
	c.t.Helper()
	if _, err := c.instances.droplets.Identify(c.t.Context()); err != nil {
		c.t.Log(err)
	}
	if removed := c.removed(10 * time.Minute); len(removed) > 0 {
		c.t.Errorf("removed %v", removed)
	}
	nodes := c.nodes.List()
	for _, object := range nodes {
		node := object.(*v1.Node).DeepCopy()
		for _, node.Spec.ProviderID = range []string{node.Spec.ProviderID, ""} {
			found, err := c.instances.InstanceMetadata(c.t.Context(), node)
			if err == nil && (len(found.NodeAddresses) < 2 || found.ProviderID != object.(*v1.Node).Spec.ProviderID) {
				c.t.Errorf("Node %s of %s gets %+v", node.Name, object.(*v1.Node).Spec.ProviderID, found)
			}
		}
	}
}

// One field of the API's answers at a time is missing, null, empty or of another
// type: no Node is removed, and none gets what is another's, or no address.
func TestAFieldThatIsWrongRemovesNoNode(t *testing.T) {
	var changes []mangle.Change
	synctest.Test(t, func(t *testing.T) {
		c, wire := mangled(t)
		c.live()
		changes = wire.Changes()
	})
	for _, change := range mangle.Chosen(changes) {
		if change == (mangle.Change{Field: "droplet.id", Kind: mangle.Number}) {
			continue // another id is another droplet, for all that anybody can tell
		}
		t.Run(change.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, wire := mangled(t)
				wire.Begin(&change)
				c.live()
				wire.Begin(nil)
				c.live()
			})
		})
	}
}
