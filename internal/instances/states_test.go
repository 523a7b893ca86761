package instances

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/component-base/metrics/testutil"
	testingclock "k8s.io/utils/clock/testing"

	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/simulator"
)

func taint(node *v1.Node) {
	node.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}
}

func TestStateOf(t *testing.T) {
	tests := []struct {
		name       string
		providerID string
		tainted    bool
		facts      facts
		want       state
	}{
		{"in order", "digitalocean://1", false, facts{}, stateInitialized},
		{"old and in order", "digitalocean://1", false, facts{old: true}, stateInitialized},
		{"just registered", "", true, facts{}, stateUninitialized},
		{"just registered with a provider ID", "digitalocean://1", true, facts{}, stateUninitialized},
		{"neither taint nor provider ID", "", false, facts{}, stateNeverInitialized},
		{"neither, and nothing found", "", false, facts{noted: stateWaitingForDroplet, old: true}, stateNeverInitialized},
		{"foreign", "aws:///x/i-1", false, facts{}, stateForeign},
		{"foreign and tainted", "123", true, facts{}, stateForeign},
		{"nothing found", "", true, facts{noted: stateWaitingForDroplet}, stateWaitingForDroplet},
		{"nothing found for long", "", true, facts{noted: stateWaitingForDroplet, old: true}, stateWithoutDroplet},
		{"ambiguous", "", true, facts{noted: stateAmbiguous, old: true}, stateAmbiguous},
		{"no address", "digitalocean://1", true, facts{noted: stateWaitingForAddress}, stateWaitingForAddress},
		{"off", "digitalocean://1", false, facts{off: true}, stateShutdown},
		{"gone", "digitalocean://1", false, facts{noted: stateGone, off: true}, stateGone},
		{"gone and held by the brake", "digitalocean://1", false, facts{noted: stateGone, blocked: true}, stateDeletionBlocked},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			node := &v1.Node{Spec: v1.NodeSpec{ProviderID: test.providerID}}
			if test.tainted {
				taint(node)
			}
			if got := stateOf(node, test.facts); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// sweep asks for the metadata of every Node, as the node controller does.
func (c *cluster) sweep() {
	for _, object := range c.nodes.List() {
		_, _ = c.instances.InstanceMetadata(context.Background(), object.(*v1.Node))
	}
}

func (c *cluster) wantStates(want map[state]int) {
	c.t.Helper()
	if diff := cmp.Diff(want, c.instances.countStates()); diff != "" {
		c.t.Error(diff)
	}
}

func TestEveryStateIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, standardBrake)
		ready := func(name string) int {
			node, id := c.add(name)
			setReady(node, v1.ConditionTrue)
			return id
		}
		ready("witness")
		_, off := c.add("off")
		if err := c.sim.StopDroplet(off); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		for _, name := range []string{"fresh", "lost"} {
			taint(c.addNode(name, "", now))
		}
		taint(c.addNode("twins", "", now))
		for range 2 {
			c.sim.AddDroplet(simulator.DropletSpec{Name: "twins"})
		}
		late := c.sim.AddDroplet(simulator.DropletSpec{Name: "no-address", Pending: true})
		taint(c.addNode("no-address", fmt.Sprint("digitalocean://", late.ID), now))
		c.sim.AddDroplet(simulator.DropletSpec{Name: "untainted"})
		c.addNode("untainted", "", now)
		c.addNode("foreign", "aws:///x/i-1", now)
		lonely, replaced := ready("lonely"), ready("replaced")

		c.wantStates(map[state]int{stateUninitialized: 4, stateInitialized: 4, stateNeverInitialized: 1, stateForeign: 1})
		time.Sleep(time.Second)
		c.removed(5 * time.Second) // looks at what is not ready
		c.sweep()
		for _, id := range []int{lonely, replaced} {
			if err := c.sim.DeleteDroplet(id); err != nil {
				t.Fatal(err)
			}
		}
		c.sim.AddDroplet(simulator.DropletSpec{Name: "replaced"})
		time.Sleep(5 * time.Minute)
		c.sim.AddDroplet(simulator.DropletSpec{Name: "fresh"})
		c.sweep()
		c.wantStates(map[state]int{
			stateUninitialized: 1, // found by now, and not yet told to the API server
			stateInitialized:   1, stateNeverInitialized: 1, stateForeign: 1,
			stateWaitingForDroplet: 1, stateAmbiguous: 1, stateWaitingForAddress: 1, stateShutdown: 1,
			stateGone: 1, stateReplaced: 1,
		})
		time.Sleep(5 * time.Minute)
		if got := c.instances.countStates()[stateWithoutDroplet]; got != 1 {
			t.Errorf("%d nodes are without a droplet for long, want 1", got)
		}
	})
}

func TestNodeHeldByTheBrakeIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, config.Nodes{DeletionBrake: config.Brake{Count: 1, Percent: 20, Window: time.Minute}})
		c.addWitness()
		ids := c.addMany(3)
		c.removed(time.Minute)
		for _, id := range ids {
			if err := c.sim.DeleteDroplet(id); err != nil {
				t.Fatal(err)
			}
		}
		c.removed(10 * time.Minute)
		c.wantStates(map[state]int{stateInitialized: 1, stateDeletionBlocked: 3})
	})
}

func TestMetricHasEveryStateAndForgetsRemovedNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, standardBrake)
		node := c.addNode("lost", "", time.Now())
		taint(node)
		c.sweep()
		scrape := func() []string {
			registry := testutil.NewFakeKubeRegistry("1.37.0")
			registry.CustomMustRegister(NewCollector(c.instances))
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, m := range families[0].GetMetric() {
				if m.GetGauge().GetValue() > 0 {
					lines = append(lines, fmt.Sprint(m.GetLabel()[0].GetValue(), " ", m.GetGauge().GetValue()))
				}
			}
			if families[0].GetName() != "digitalocean_ccm_nodes" || len(families[0].GetMetric()) != len(allStates) {
				t.Errorf("%s has %d series, want %d", families[0].GetName(), len(families[0].GetMetric()), len(allStates))
			}
			return lines
		}
		if diff := cmp.Diff([]string{"waiting_for_droplet 1"}, scrape()); diff != "" {
			t.Error(diff)
		}
		if err := c.nodes.Delete(node); err != nil {
			t.Fatal(err)
		}
		if lines := scrape(); len(lines) > 0 || len(c.instances.notes.byID) > 0 {
			t.Errorf("of a node that doesn't exist any more: %v, notes %v", lines, c.instances.notes.byID)
		}
	})
}

func TestStatesAreDocumented(t *testing.T) {
	page := document(t)
	for _, s := range allStates {
		if !strings.Contains(page, "| `"+string(s)+"` |") {
			t.Errorf("docs/nodes.md doesn't explain the state %s", s)
		}
	}
}

func TestOnlyWhatWasReadLaterTakesALossBack(t *testing.T) {
	tests := []struct {
		noted state
		// read is when the droplet was read, from when it was noted.
		read    time.Duration
		want    state
		wasLost bool
	}{
		{stateGone, -time.Minute, stateGone, false},
		{stateReplaced, -time.Minute, stateReplaced, false},
		{stateNotRemoved, 0, stateNotRemoved, false},
		{stateGone, time.Second, "", true},
		{stateAmbiguous, -time.Minute, "", false},
		{stateWaitingForDroplet, time.Second, "", false},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s, read after %s", test.noted, test.read), func(t *testing.T) {
			clock := testingclock.NewFakePassiveClock(time.Unix(1_800_000_000, 0))
			n, node := newNotes(clock), &v1.Node{}
			n.add(node, test.noted)
			if wasLost := n.seen(node, clock.Now().Add(test.read)); wasLost != test.wasLost || n.of(node) != test.want {
				t.Errorf("was lost %t, state %q; want %t, %q", wasLost, n.of(node), test.wasLost, test.want)
			}
		})
	}
}
