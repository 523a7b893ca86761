package instances

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"digitalocean-cloud-controller-manager/simulator"
)

func setReady(node *v1.Node, ready v1.ConditionStatus) {
	node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: ready}}
}

func TestOneWrongAnswerIsNotHalfOfARemovalForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		c := newCluster(t, standardBrake)
		c.addWitness()
		node, id := c.add("w")
		c.removed(time.Minute)
		for range 2 {
			c.sim.AddFault(simulator.Fault{Path: fmt.Sprint("/v2/droplets/", id), Status: 404, Count: 1})
			time.Sleep(11 * time.Second)
			if exists, err := c.instances.InstanceExists(ctx, node); !exists && err == nil {
				t.Fatal("removed upon one answer")
			}
			setReady(node, v1.ConditionTrue)
			for range 2 * 60 / 5 {
				time.Sleep(5 * time.Minute)
				if _, err := c.instances.InstanceMetadata(ctx, node); err != nil {
					t.Fatal(err)
				}
			}
			setReady(node, v1.ConditionUnknown)
		}
	})
}

func TestForeignNodesDoNotMakeTheGoneOnesLookFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, standardBrake)
		for i := range 80 {
			c.addNode(fmt.Sprint("metal-", i), fmt.Sprint("metal://", i), time.Now().Add(-time.Hour))
		}
		c.addWitness()
		ids := c.addMany(19)
		c.removed(time.Minute)
		for _, id := range ids {
			c.sim.AddFault(simulator.Fault{Path: fmt.Sprint("/v2/droplets/", id), Status: 404})
			c.sim.AddFault(simulator.Fault{Path: "/v2/droplets", OmitItems: -1})
		}
		if removed := c.removed(20 * time.Minute); len(removed) > 0 {
			t.Errorf("removed %v", removed)
		}
	})
}

func TestNodeWhoseDropletNobodyEverSawIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, standardBrake)
		c.addWitness()
		typo := c.addNode("typo", "digitalocean://999", time.Now().Add(-time.Hour))
		typo.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}
		if removed := c.removed(20 * time.Minute); len(removed) > 0 {
			t.Errorf("removed %v", removed)
		}
		if told := c.told(); !strings.Contains(told, "NodeWithoutDroplet") || !strings.Contains(told, "999") {
			t.Errorf("told: %s", told)
		}
	})
}

func TestBogusProviderIDDoesNotHoldUpOthersNorCostMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		c := newCluster(t, standardBrake)
		c.addWitness()
		_, id := c.add("w")
		bogus := c.addNode("bogus", "digitalocean://999", time.Now())
		bogus.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}
		c.removed(time.Minute)
		if err := c.sim.DeleteDroplet(id); err != nil {
			t.Fatal(err)
		}
		c.sim.ResetRequests()
		// The framework's retries of the Node that can't be initialised.
		stop := time.Now().Add(5 * time.Minute)
		go func() {
			for time.Now().Before(stop) {
				_, _ = c.instances.InstanceMetadata(ctx, bogus)
				time.Sleep(time.Second)
			}
		}()
		if removed := c.removed(2 * time.Minute); len(removed) != 1 || removed[0] != "w" {
			t.Errorf("removed %v, want w", removed)
		}
		if n := len(c.sim.Requests()); n > 60 {
			t.Errorf("%d calls in two minutes", n)
		}
		time.Sleep(4 * time.Minute)
	})
}

func TestDeletionBlockedIsOverWhenTheDropletIsSeenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		c := newCluster(t, standardBrake)
		node, _ := c.add("w")
		c.add("other")
		c.removed(time.Minute)
		none := 0
		c.sim.AddFault(simulator.Fault{Path: "/v2/droplets/*", Status: 404})
		c.sim.AddFault(simulator.Fault{Path: "/v2/droplets", OmitItems: -1, Total: &none})
		time.Sleep(time.Minute)
		c.removed(time.Minute)
		if held := len(c.instances.brake.held); held == 0 {
			t.Fatal("no node is held")
		}
		c.sim.ClearFaults()
		setReady(node, v1.ConditionTrue)
		for range 4 {
			time.Sleep(5 * time.Minute)
			for _, object := range c.nodes.List() {
				_, _ = c.instances.InstanceMetadata(ctx, object.(*v1.Node))
			}
		}
		if held := len(c.instances.brake.held); held != 0 {
			t.Errorf("%d nodes are still held", held)
		}
	})
}
