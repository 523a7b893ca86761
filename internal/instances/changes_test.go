package instances

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/simulator"
)

func document(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "nodes.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func TestIPv6ThatIsEnabledLaterReachesTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, standardBrake)
		node, id := c.add("w")
		setReady(node, v1.ConditionTrue)
		const late = "2001:db8::77"
		has := func() bool {
			metadata, err := c.instances.InstanceMetadata(context.Background(), node)
			if err != nil {
				t.Fatal(err)
			}
			return slices.Contains(metadata.NodeAddresses, v1.NodeAddress{Type: v1.NodeExternalIP, Address: late})
		}
		if has() {
			t.Fatal("the address is there before it was enabled")
		}
		address := late
		if err := c.sim.PatchDroplet(id, simulator.DropletPatch{PublicIPv6: &address}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute) // the framework's next round
		if !has() {
			t.Error("the address isn't among the Node's")
		}
	})
}

// withGoneDroplet makes a cluster in which a ready Node's droplet was deleted.
func withGoneDroplet(t *testing.T) (c *cluster, node *v1.Node, id int) {
	c = newCluster(t, standardBrake)
	witness, _ := c.add("other")
	setReady(witness, v1.ConditionTrue)
	node, id = c.add("worker-1")
	setReady(node, v1.ConditionTrue)
	c.sweep()
	if err := c.sim.DeleteDroplet(id); err != nil {
		t.Fatal(err)
	}
	return c, node, id
}

// rounds are the node controller's, each five minutes. The lifecycle controller
// doesn't ask for ready Nodes.
func (c *cluster) rounds(n int) (told string) {
	for range n {
		time.Sleep(5 * time.Minute)
		c.sweep()
	}
	return c.told()
}

func TestReadyNodeWhoseDropletWasReplacedIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, node, id := withGoneDroplet(t)
		// A namesake that is another Node's droplet took nobody's place.
		namesake := c.sim.AddDroplet(simulator.DropletSpec{Name: "worker-1"}).ID
		setReady(c.addNode("namesake", fmt.Sprint("digitalocean://", namesake), time.Now().Add(-time.Hour)), v1.ConditionTrue)
		if told := c.rounds(2); strings.Contains(told, "DropletReplaced") || !strings.Contains(told, "DropletGone") {
			t.Errorf("told: %s", told)
		}
		next := c.sim.AddDroplet(simulator.DropletSpec{Name: "Worker-1"}).ID
		told := c.rounds(4)
		for _, want := range []string{"Warning DropletReplaced", fmt.Sprint(id), fmt.Sprint(next), "kubectl delete node worker-1"} {
			if !strings.Contains(told, want) {
				t.Errorf("%q isn't told: %s", want, told)
			}
		}
		if n := strings.Count(told, "DropletReplaced"); n != 1 {
			t.Errorf("told %d times in 20 minutes", n)
		}
		if told := c.rounds(5); strings.Count(told, "DropletReplaced") != 1 {
			t.Errorf("not told again after half an hour: %s", told)
		}
		if _, exists, _ := c.nodes.Get(node); !exists {
			t.Error("the node was removed")
		}
	})
}

func TestReadyNodeWithoutADropletIsToldEachHalfHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, id := withGoneDroplet(t)
		told := c.rounds(24)
		if n := strings.Count(told, "Warning DropletGone"); n < 3 || n > 4 || !strings.Contains(told, fmt.Sprint(id)) {
			t.Errorf("told %d times in two hours: %s", n, told)
		}
	})
}

func TestGoneDropletsCostLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := withGoneDroplet(t)
		c.rounds(2)
		c.sim.ResetRequests()
		c.rounds(12)
		// Each round: both droplets or a list, a witness, a search by name.
		if n := len(c.sim.Requests()); n > 12*4 {
			t.Errorf("%d calls in an hour", n)
		}
	})
}

func TestDropletThatShowsAgainIsNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, standardBrake)
		c.add("other")
		node, id := c.add("w")
		for _, object := range c.nodes.List() {
			setReady(object.(*v1.Node), v1.ConditionTrue)
		}
		c.sweep()
		fault := c.sim.AddFault(simulator.Fault{Path: fmt.Sprint("/v2/droplets/", id), Status: 404})
		none := 0
		list := c.sim.AddFault(simulator.Fault{Path: "/v2/droplets", OmitItems: -1, Total: &none})
		c.rounds(3)
		if got := stateOf(node, c.instances.factsOf(node)); got != stateGone {
			t.Errorf("state %s, want gone", got)
		}
		c.sim.RemoveFault(fault)
		c.sim.RemoveFault(list)
		c.rounds(3)
		if got := stateOf(node, c.instances.factsOf(node)); got != stateInitialized {
			t.Errorf("state %s after the droplet showed again", got)
		}
	})
}

func TestNodeThatTheAPIServerKeepsIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, standardBrake)
		c.addWitness()
		node, id := c.add("w")
		c.removed(time.Minute)
		if err := c.sim.DeleteDroplet(id); err != nil {
			t.Fatal(err)
		}
		refused := 0
		for range 15 * 60 / 5 {
			time.Sleep(5 * time.Second)
			if exists, err := c.instances.InstanceExists(context.Background(), node); err == nil && !exists {
				refused++ // the manager's role lacks the right
			}
		}
		if refused < 2 {
			t.Errorf("the framework was told %d times to remove the node", refused)
		}
		told := c.told()
		if strings.Count(told, "NodeNotRemoved") != 1 || !strings.Contains(told, "ClusterRole") {
			t.Errorf("told: %s", told)
		}
		c.wantStates(map[state]int{stateInitialized: 1, stateNotRemoved: 1})
	})
}

func TestNoNodeGoesWhoseDropletListsDoNotShowYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, standardBrake, simulator.WithListLag(time.Minute))
		for i := range 20 {
			node, _ := c.add(fmt.Sprint("old-", i))
			setReady(node, v1.ConditionTrue)
		}
		time.Sleep(2 * time.Minute)
		c.sweep()
		var young []*v1.Node
		for i := range 5 {
			name := fmt.Sprint("young-", i)
			id := c.sim.AddDroplet(simulator.DropletSpec{Name: name}).ID
			node := c.addNode(name, fmt.Sprint("digitalocean://", id), time.Now())
			taint(node)
			young = append(young, node)
		}
		for _, node := range young {
			if _, err := c.instances.InstanceMetadata(context.Background(), node); err != nil {
				t.Errorf("not initialised: %v", err)
			}
			node.Spec.Taints = nil
		}
		if removed := c.removed(10 * time.Minute); len(removed) > 0 {
			t.Errorf("removed %v", removed)
		}
		c.wantStates(map[state]int{stateInitialized: 25})
	})
}
