package bench

import (
	"fmt"
	"testing"
	"time"

	"digitalocean-cloud-controller-manager/simulator"
)

// creations are the API calls until that many Services, made at once, show an
// address, by how long DigitalOcean takes to make a load balancer. They may only
// fall.
var creations = []struct {
	services   int
	activation time.Duration
	calls      int
}{
	{1, 90 * time.Second, 24}, {10, 90 * time.Second, 33}, {100, 90 * time.Second, 123},
	{500, 90 * time.Second, 588}, {500, 0, 535},
}

// TestCreation has all load balancers made at once, in fake time.
func TestCreation(t *testing.T) {
	for _, c := range creations {
		t.Run(fmt.Sprintf("%d Services, each made in %s", c.services, c.activation), func(t *testing.T) {
			if testing.Short() && c.services > shortServices {
				t.Skip("too many objects for -short")
			}
			inBubble(t, func(t *testing.T) {
				sim := simulator.New(simulator.WithLoadBalancerActivation(c.activation), simulator.WithLatency(apiLatency))
				m := startInProcess(t, sim, fullSettings(), makeNodes(sim, 10, 0)...)
				defer m.stop()
				time.Sleep(time.Minute) // the start's calls are no longer of this minute
				sim.ResetRequests()
				begun := time.Now()
				for i := range c.services {
					m.addService(i)
				}
				m.eventually(time.Hour, "all Services have an address", func() bool { return m.balanced() == c.services })
				took, requests := time.Since(begun), sim.Requests()
				t.Logf("| %d | %s | %s | %d | %s |", c.services, c.activation, took.Round(time.Second), len(requests), byKind(requests))
				if most := c.calls + c.calls/20; len(requests) > most {
					t.Errorf("%d API calls, recorded are %d", len(requests), c.calls)
				}
				if most := c.activation + convergence(len(requests)); took > most {
					t.Errorf("it took %s, %s are enough", took, most)
				}
			})
		})
	}
}
