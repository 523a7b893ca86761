package instances

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/simulator"
)

// cluster is a simulator with Nodes and the Instances under test.
type cluster struct {
	t         *testing.T
	sim       *simulator.Simulator
	nodes     cache.Indexer
	events    *record.FakeRecorder
	instances *Instances
}

func newCluster(t *testing.T, settings config.Nodes, options ...simulator.Option) *cluster {
	c := &cluster{t: t, sim: simulator.New(options...), nodes: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}), events: record.NewFakeRecorder(1000)}
	token, _, err := doapi.NewToken("dop_v1_test")
	if err != nil {
		t.Fatal(err)
	}
	client, err := doapi.New(doapi.Options{TokenSource: doapi.StaticToken(token), Version: "test", Transport: c.sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	lister := corelisters.NewNodeLister(c.nodes)
	droplets := inventory.NewDroplets(client.Droplets, client.Account, ClusterOf(lister), clock.RealClock{})
	c.instances = New(droplets, lister, events.NewRecorder(c.events, clock.RealClock{}), settings, nil, clock.RealClock{})
	return c
}

var standardBrake = config.Nodes{DeletionBrake: config.Brake{Count: 3, Percent: 20, Window: time.Minute}}

// add makes a droplet and its Node, an hour old and not ready.
func (c *cluster) add(name string) (*v1.Node, int) {
	created := time.Now().Add(-time.Hour)
	id := c.sim.AddDroplet(simulator.DropletSpec{Name: name, CreatedAt: created}).ID
	return c.addNode(name, fmt.Sprint("digitalocean://", id), created), id
}

// addWitness makes a Node that is ready, by whose droplet the token is known to
// show the cluster.
func (c *cluster) addWitness() {
	witness, _ := c.add("witness")
	setReady(witness, v1.ConditionTrue)
}

// addMany makes n droplets and their Nodes.
func (c *cluster) addMany(n int) (ids []int) {
	for i := range n {
		_, id := c.add(fmt.Sprint("w", i))
		ids = append(ids, id)
	}
	return ids
}

func (c *cluster) addNode(name, providerID string, created time.Time) *v1.Node {
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(created)},
		Spec:       v1.NodeSpec{ProviderID: providerID},
	}
	if err := c.nodes.Add(node); err != nil {
		c.t.Fatal(err)
	}
	return node
}

func (c *cluster) told() string {
	var all []string
	for len(c.events.Events) > 0 {
		all = append(all, <-c.events.Events)
	}
	return strings.Join(all, "\n")
}

// removed runs the lifecycle controller's passes for a while and returns the
// Nodes that it would have removed; they are gone for the next pass.
func (c *cluster) removed(during time.Duration) []string {
	var removed []string
	for range int(during / (5 * time.Second)) {
		for _, object := range c.nodes.List() {
			node := object.(*v1.Node)
			if exists, err := c.instances.InstanceExists(context.Background(), node); err == nil && !exists {
				removed = append(removed, node.Name)
				if err := c.nodes.Delete(node); err != nil {
					c.t.Fatal(err)
				}
			}
		}
		time.Sleep(5 * time.Second)
	}
	return removed
}

func TestNodeOfADeletedDropletIsRemoved(t *testing.T) {
	for _, n := range []int{2, 3, 100} {
		t.Run(fmt.Sprint("cluster of ", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, standardBrake)
				var ids []int
				for i := range n {
					_, id := c.add(fmt.Sprint("w", i))
					ids = append(ids, id)
				}
				c.removed(time.Minute)
				if err := c.sim.DeleteDroplet(ids[0]); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]string{"w0"}, c.removed(5*time.Minute)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestBrakeHoldsWhenManyLookGone(t *testing.T) {
	tests := []struct {
		name        string
		nodes, gone int
		settings    config.Brake
		want        int
		long        bool
	}{
		{"4 of 100 go", 100, 4, standardBrake.DeletionBrake, 4, true},
		{"15 of 100 go", 100, 15, standardBrake.DeletionBrake, 15, true},
		{"30 of 100 stay", 100, 30, standardBrake.DeletionBrake, 0, true},
		{"99 of 100 stay", 100, 99, standardBrake.DeletionBrake, 0, true},
		{"3 of 5 go", 5, 3, standardBrake.DeletionBrake, 3, false},
		{"4 of 5 stay", 5, 4, standardBrake.DeletionBrake, 0, false},
		{"4 of 5 go when the brake is off", 5, 4, config.Brake{Off: true}, 4, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.long && testing.Short() {
				t.Skip("short")
			}
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, config.Nodes{DeletionBrake: test.settings})
				var ids []int
				for i := range test.nodes {
					_, id := c.add(fmt.Sprintf("w%03d", i))
					ids = append(ids, id)
				}
				// The last Node is ready, as its droplet lives.
				last, err := c.instances.nodes.Get(fmt.Sprintf("w%03d", test.nodes-1))
				if err != nil {
					t.Fatal(err)
				}
				last.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
				c.removed(time.Minute)
				for _, id := range ids[:test.gone] {
					if err := c.sim.DeleteDroplet(id); err != nil {
						t.Fatal(err)
					}
				}
				if got := c.removed(20 * time.Minute); len(got) != test.want {
					t.Errorf("%d nodes are removed, want %d", len(got), test.want)
				}
				if blocked := strings.Contains(c.told(), "NodeDeletionBlocked"); blocked != (test.want == 0) {
					t.Errorf("told of a blocked deletion: %t", blocked)
				}
			})
		})
	}
}

func TestYoungNodesAreNeverGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, standardBrake)
		c.add("old")
		node, id := c.add("young")
		node.CreationTimestamp = metav1.Now()
		if err := c.sim.DeleteDroplet(id); err != nil {
			t.Fatal(err)
		}
		if got := c.removed(110 * time.Second); len(got) > 0 {
			t.Errorf("removed %v within two minutes", got)
		}
		if diff := cmp.Diff([]string{"young"}, c.removed(5*time.Minute)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNodeWithoutOurProviderIDIsNeverRemovedAndCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, standardBrake)
		for i, id := range []string{"", "123", "digitalocean://", "digitalocean:///5", "digitalocean://0", "digitalocean://abc", "aws:///x/i-1", "k3s://n"} {
			c.addNode(fmt.Sprint("n", i), id, time.Now().Add(-time.Hour))
		}
		if got := c.removed(10 * time.Minute); len(got) > 0 {
			t.Errorf("removed %v", got)
		}
		if n := len(c.sim.Requests()); n > 0 {
			t.Errorf("%d calls", n)
		}
		if told := c.told(); strings.Count(told, "ForeignProviderID") != 7 {
			t.Errorf("want one event for each of 7 foreign nodes, got:\n%s", told)
		}
	})
}

func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		c := newCluster(t, standardBrake)
		c.add("other")
		node, id := c.add("w")
		for _, off := range []bool{true, false} {
			change := c.sim.StartDroplet
			if off {
				change = c.sim.StopDroplet
			}
			if err := change(id); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			c.sim.ResetRequests()
			if exists, err := c.instances.InstanceExists(ctx, node); !exists || err != nil {
				t.Errorf("exists %t, %v", exists, err)
			}
			if got, err := c.instances.InstanceShutdown(ctx, node); got != off || err != nil {
				t.Errorf("shut down %t (%v), want %t", got, err, off)
			}
			if n := len(c.sim.Requests()); n != 1 {
				t.Errorf("both questions cost %d calls, want 1", n)
			}
		}
	})
}

func TestMetadataIsNeverNilNorShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, standardBrake)
		node, _ := c.add("w")
		foreign := c.addNode("f", "aws:///x/i-1", time.Now())
		for _, n := range []*v1.Node{node, foreign} {
			first, err := c.instances.InstanceMetadata(context.Background(), n)
			if err != nil || first == nil {
				t.Fatalf("%s: %v, %v", n.Name, first, err)
			}
			_ = append(first.NodeAddresses, v1.NodeAddress{Address: "changed by the caller"})
			for i := range first.NodeAddresses {
				first.NodeAddresses[i].Address = "changed by the caller"
			}
			second, err := c.instances.InstanceMetadata(context.Background(), n)
			if err != nil || strings.Contains(fmt.Sprint(second), "changed by the caller") {
				t.Errorf("%s: the caller's change shows: %v (%v)", n.Name, second, err)
			}
		}
	})
}

func TestMetadataWaitsForANewNodesAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, standardBrake)
		d := c.sim.AddDroplet(simulator.DropletSpec{Name: "w", Pending: true})
		node := c.addNode("w", fmt.Sprint("digitalocean://", d.ID), time.Now())
		node.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}

		_, err := c.instances.InstanceMetadata(context.Background(), node)
		if err == nil || !errors.Is(err, errNotYet) {
			t.Errorf("without an address: %v", err)
		}
		time.AfterFunc(5*time.Second, func() {
			address := "10.20.0.8"
			if err := c.sim.PatchDroplet(d.ID, simulator.DropletPatch{PrivateIPv4: &address}); err != nil {
				t.Error(err)
			}
		})
		metadata, err := c.instances.InstanceMetadata(context.Background(), node)
		if err != nil || metadata.NodeAddresses[0].Address != "10.20.0.8" {
			t.Errorf("with a late address: %v, %v", metadata, err)
		}
	})
}

func TestProvidedAddressThatTheDropletLacksIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, standardBrake)
		node, id := c.add("w")
		node.Annotations = map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: "100.64.0.7"}
		if _, err := c.instances.InstanceMetadata(context.Background(), node); err != nil {
			t.Fatal(err)
		}
		told := c.told()
		for _, want := range []string{"NodeAddressMismatch", "100.64.0.7", fmt.Sprint(id)} {
			if !strings.Contains(told, want) {
				t.Errorf("%q isn't told: %s", want, told)
			}
		}
	})
}

func TestNodeWithoutTaintAndProviderIDIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, standardBrake)
		c.sim.AddDroplet(simulator.DropletSpec{Name: "w"})
		time.Sleep(time.Second)
		node := c.addNode("w", "", time.Now().Add(-time.Second))
		if _, err := c.instances.InstanceMetadata(context.Background(), node); err != nil {
			t.Fatal(err)
		}
		if told := c.told(); !strings.Contains(told, "NodeNeverInitialized") || !strings.Contains(told, "--cloud-provider=external") {
			t.Errorf("told: %s", told)
		}
	})
}
