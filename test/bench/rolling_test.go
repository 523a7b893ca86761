package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"digitalocean-cloud-controller-manager/simulator"
)

// rollouts are the API calls that it takes to replace 100 Nodes behind 100 load
// balancers, ten at a time, by the time between the steps. They may only fall.
var rollouts = []struct {
	pause time.Duration
	calls int
}{{time.Second, 420}, {5 * time.Second, 470}, {30 * time.Second, 1200}}

// TestRollout replaces Nodes faster than the quota allows to follow: load
// balancers are aimed at what there is when it is their turn.
func TestRollout(t *testing.T) {
	for _, c := range rollouts {
		t.Run(fmt.Sprint("a step each ", c.pause), func(t *testing.T) {
			inBubble(t, func(t *testing.T) { rollOut(t, c.pause, c.calls) })
		})
	}
}

func rollOut(t *testing.T, pause time.Duration, calls int) {
	const nodes, services, step = 100, 100, 10
	sim := simulator.New(simulator.WithLatency(apiLatency))
	objects := makeNodes(sim, 2*nodes, 0)
	m := startInProcess(t, sim, fullSettings(), objects[:nodes]...)
	defer m.stop()
	for i := range services {
		m.addService(i)
	}
	m.eventually(time.Hour, "all Services have an address", func() bool { return m.balanced() == services })
	time.Sleep(6*time.Minute + 20*time.Second) // between the periods' calls
	sim.ResetRequests()
	for i := 0; i < nodes; i += step {
		for j := i; j < i+step; j++ {
			m.addNode(objects[nodes+j])
		}
		time.Sleep(pause)
		for j := i; j < i+step; j++ {
			going := objects[j].(*v1.Node)
			if err := m.kube.CoreV1().Nodes().Delete(context.Background(), going.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			m.deleteDroplet(going)
		}
	}
	begun := time.Now()
	m.eventually(time.Hour, "all load balancers have the new Nodes' droplets alone", func() bool { return m.aimed(objects[nodes:]) == services })
	took, requests := time.Since(begun), sim.Requests()
	t.Logf("| %s | %s | %d | %s |", pause, took, len(requests), byKind(requests))
	if most := calls + calls/10; len(requests) > most {
		t.Errorf("%d API calls, recorded are %d", len(requests), calls)
	}
	if most := convergence(len(requests)); took > most {
		t.Errorf("after the last Node it took %s, %s are enough", took, most)
	}
}

// aimed counts the load balancers whose droplets are exactly those of the Nodes.
func (m *inProcess) aimed(nodes []runtime.Object) int {
	m.t.Helper()
	want := map[string]bool{}
	for _, node := range nodes {
		want[node.(*v1.Node).Spec.ProviderID] = true
	}
	n := 0
	for _, lb := range m.sim.LoadBalancers() {
		right := len(lb.DropletIDs) == len(want)
		for _, id := range lb.DropletIDs {
			right = right && want[fmt.Sprint("digitalocean://", id)]
		}
		if right {
			n++
		}
	}
	return n
}
