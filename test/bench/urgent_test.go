package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"digitalocean-cloud-controller-manager/simulator"
)

// TestANewServiceDoesNotWaitForChangesOfOthers has more Services changed than a
// minute's quota allows, and one made meanwhile.
func TestANewServiceDoesNotWaitForChangesOfOthers(t *testing.T) {
	const services = 200
	inBubble(t, func(t *testing.T) {
		sim := simulator.New(simulator.WithLatency(apiLatency))
		m := startInProcess(t, sim, fullSettings(), makeNodes(sim, 10, 0)...)
		defer m.stop()
		for i := range services {
			m.addService(i)
		}
		m.eventually(time.Hour, "all Services have an address", func() bool { return m.balanced() == services })
		time.Sleep(2 * time.Minute)
		sim.ResetRequests()
		begun := time.Now()
		m.annotateServices(services, annotatedInterval)
		time.Sleep(20 * time.Second) // the minute's quota is used up
		made := time.Now()
		m.addService(services)
		m.eventually(time.Hour, "the new one has an address", func() bool { return m.balanced() == services+1 })
		tookNew := time.Since(made)
		m.eventually(time.Hour, "all are changed", func() bool { return annotated(sim) == services })
		took, requests := time.Since(begun), sim.Requests()
		t.Logf("| new | %s | all | %s | %d | %s |", tookNew, took, len(requests), byKind(requests))
		if tookNew > 15*time.Second {
			t.Errorf("the new one has an address after %s", tookNew)
		}
		if most := convergence(len(requests)); took > most || took < 30*time.Second {
			t.Errorf("all are changed after %s, %s are enough", took, most)
		}
	})
}

// Neither does it while the others are changed again, and are being worked on.
func TestANewServiceDoesNotWaitForOthersThatAreChangedAgain(t *testing.T) {
	const services = 300
	inBubble(t, func(t *testing.T) {
		sim := simulator.New(simulator.WithLatency(apiLatency))
		m := startInProcess(t, sim, fullSettings(), makeNodes(sim, 10, 0)...)
		defer m.stop()
		for i := range services {
			m.addService(i)
		}
		m.eventually(time.Hour, "all Services have an address", func() bool { return m.balanced() == services })
		time.Sleep(2 * time.Minute)
		m.annotateServices(services, annotatedInterval-1)
		time.Sleep(66 * time.Second) // the queue has used up the next minute's quota as well
		m.annotateServices(services, annotatedInterval)
		made := time.Now()
		m.addService(services)
		m.eventually(time.Hour, "the new one has an address", func() bool { return m.balanced() == services+1 })
		if took := time.Since(made); took > 15*time.Second {
			t.Errorf("the new one has an address after %s", took)
		}
		m.eventually(time.Hour, "all are changed", func() bool { return annotated(sim) == services })
	})
}

func (m *inProcess) annotateServices(n, seconds int) {
	m.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, interval, seconds)
	for i := range n {
		if _, err := m.kube.CoreV1().Services(metav1.NamespaceDefault).Patch(context.Background(), fmt.Sprint("web-", i), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			m.t.Fatal(err)
		}
	}
}

func annotated(sim *simulator.Simulator) int {
	n := 0
	for _, lb := range sim.LoadBalancers() {
		if lb.HealthCheck.CheckIntervalSeconds == annotatedInterval {
			n++
		}
	}
	return n
}
