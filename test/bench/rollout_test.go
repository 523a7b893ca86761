package bench

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"digitalocean-cloud-controller-manager/simulator"
)

// TestNodesThatGo counts the API calls when a Node goes. DigitalOcean takes a
// droplet that is gone out of all load balancers by itself.
func TestNodesThatGo(t *testing.T) {
	tests := map[string]struct {
		dropletGoes, anotherComes bool
		services, writes, reads   int
	}{
		"with its droplet":                              {true, false, 50, 0, 2},
		"with its droplet, and another comes":           {true, true, 50, 50, 2},
		"while its droplet stays":                       {false, false, 50, 50, 1},
		"while its droplet stays, and another comes":    {false, true, 50, 50, 51},
		"with its droplet, from a single load balancer": {true, false, 1, 1, 0},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				ctx := context.Background()
				sim := simulator.New(simulator.WithLatency(apiLatency))
				objects := makeNodes(sim, 11, 0)
				m := startInProcess(t, sim, fullSettings(), objects[1:]...)
				defer m.stop()
				for i := range c.services {
					m.addService(i)
				}
				m.eventually(time.Hour, "all Services have an address", func() bool { return m.balanced() == c.services })
				time.Sleep(6*time.Minute + 20*time.Second) // between the periods' calls
				sim.ResetRequests()
				if c.anotherComes {
					m.addNode(objects[0])
				}
				going := objects[1].(*v1.Node)
				if err := m.kube.CoreV1().Nodes().Delete(ctx, going.Name, metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				if c.dropletGoes {
					m.deleteDroplet(going)
				}
				time.Sleep(30 * time.Second)
				synctest.Wait()
				requests := sim.Requests()
				writes := result{requests: requests}.writes()
				t.Logf("| %s | %d | %s |", name, c.services, byKind(requests))
				if writes > c.writes || len(requests)-writes > c.reads {
					t.Errorf("%d writes and %d reads, recorded are %d and %d", writes, len(requests)-writes, c.writes, c.reads)
				}
				m.wantBackends(going, c.anotherComes)
			})
		})
	}
}

func (m *inProcess) addNode(node runtime.Object) {
	m.t.Helper()
	if _, err := m.kube.CoreV1().Nodes().Create(context.Background(), node.(*v1.Node), metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
}

func (m *inProcess) deleteDroplet(node *v1.Node) {
	m.t.Helper()
	for _, d := range m.sim.Droplets() {
		if d.Name == node.Name {
			if err := m.sim.DeleteDroplet(d.ID); err != nil {
				m.t.Fatal(err)
			}
		}
	}
}

// wantBackends fails where a load balancer's droplets aren't all but the one
// that goes, and but the last where that hasn't come.
func (m *inProcess) wantBackends(going *v1.Node, anotherComes bool) {
	m.t.Helper()
	want := map[int]bool{}
	for _, d := range m.sim.Droplets() {
		if d.Name != going.Name && (d.Name != "node-0" || anotherComes) {
			want[d.ID] = true
		}
	}
	for _, lb := range m.sim.LoadBalancers() {
		got := map[int]bool{}
		for _, id := range lb.DropletIDs {
			got[id] = true
			if !want[id] {
				m.t.Errorf("load balancer %s has droplet %d", lb.Name, id)
			}
		}
		if len(got) != len(want) {
			m.t.Errorf("load balancer %s has %d droplets of %d", lb.Name, len(got), len(want))
		}
	}
}
