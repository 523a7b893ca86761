package bench

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"digitalocean-cloud-controller-manager/simulator"
)

// typesUID differs at its begin: the default name of a load balancer has no room
// for the last digit.
func typesUID(i int) types.UID {
	return types.UID(fmt.Sprintf("%08d-1111-4111-8111-111111111111", i))
}

// TestGoroutinesEnd makes and deletes Services under faults, again and again,
// and then stops the whole manager: it must have no more goroutines after many
// rounds than after the first, and none at all when it has stopped.
func TestGoroutinesEnd(t *testing.T) {
	const rounds, services = 8, 6
	inBubble(t, func(t *testing.T) {
		sim := simulator.New()
		m := startInProcess(t, sim, fullSettings(), makeNodes(sim, 3, 1)...)
		var first int
		for round := range rounds {
			faults := addFaults(sim)
			for i := range services {
				m.addService(round*services + i)
			}
			time.Sleep(10 * time.Minute)
			for _, id := range faults {
				sim.RemoveFault(id)
			}
			m.eventually(time.Hour, "all Services have an address", func() bool { return m.balanced() == services })
			addFaults(sim)
			time.Sleep(20 * time.Minute)
			sim.ClearFaults()
			m.deleteServices()
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			left := bubbled()
			if round == 0 {
				first = len(left)
				t.Logf("%d goroutines after the first round", first)
			}
			if len(left) > first {
				t.Fatalf("%d goroutines after round %d, %d after the first:\n%s", len(left), round+1, first, strings.Join(left, "\n\n"))
			}
		}
		if lbs := sim.LoadBalancers(); len(lbs) > 0 {
			t.Errorf("%d load balancers are left", len(lbs))
		}
		m.stop()
		time.Sleep(time.Minute) // the longest that a call may last
		synctest.Wait()
		if left := bubbled(); len(left) > 0 {
			t.Errorf("%d goroutines are left after the stop:\n%s", len(left), strings.Join(left, "\n\n"))
		}
	})
}

// addFaults has a part of the calls fail in each way that there is.
func addFaults(sim *simulator.Simulator) (ids []int) {
	for _, f := range []simulator.Fault{
		{Status: 503, Probability: 0.2},
		{Status: 429, Header: map[string]string{"Retry-After": "5"}, Probability: 0.1},
		{Reset: true, Probability: 0.1},
		{Reset: true, AfterActing: true, Probability: 0.1},
		{Malformed: true, Probability: 0.1},
		{Delay: 40 * time.Second, Probability: 0.1},
	} {
		ids = append(ids, sim.AddFault(f))
	}
	return ids
}

// bubbled returns the stacks of the goroutines of this bubble but our own.
func bubbled() []string {
	buffer := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buffer, true)
		if n < len(buffer) {
			buffer = buffer[:n]
			break
		}
		buffer = make([]byte, 2*len(buffer))
	}
	var stacks []string
	for i, stack := range strings.Split(string(buffer), "\n\n") {
		header, _, _ := strings.Cut(stack, "\n")
		// The first one is the caller's.
		if i > 0 && strings.Contains(header, "synctest bubble") && !strings.Contains(stack, "testingSynctestTest(") && !strings.Contains(stack, "internal/synctest.Run(") {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}
