package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"digitalocean-cloud-controller-manager/simulator"
)

// fullHour are the API calls of an hour in which nothing happens, with
// everything on that asks by itself: node controllers, load balancers, the
// public access firewall, the cluster's tag, drift. They may only fall. The
// goal at 5,000 Nodes and 500 Services is less than 500, a tenth of the quota.
var fullHour = []struct{ nodes, services, calls int }{
	{10, 1, 60}, {100, 10, 60}, {10, 500, 110}, {1000, 100, 120}, {5000, 500, 400},
}

// shortServices bounds the cells of -short.
const shortServices = 100

// TestFullSteadyHour runs the whole manager for some hours of fake time and
// counts the calls of the last.
func TestFullSteadyHour(t *testing.T) {
	for _, cell := range fullHour {
		t.Run(fmt.Sprintf("%d nodes, %d Services", cell.nodes, cell.services), func(t *testing.T) {
			if testing.Short() && (cell.nodes > shortNodes || cell.services > shortServices) {
				t.Skip("too many objects for -short")
			}
			inBubble(t, func(t *testing.T) {
				requests := fullSteadyHour(t, cell.nodes, cell.services)
				t.Logf("| %d | %d | %d | %s |", cell.nodes, cell.services, len(requests), byKind(requests))
				if len(requests) > cell.calls {
					t.Errorf("%d API calls an hour, recorded are %d", len(requests), cell.calls)
				}
				for _, r := range requests {
					if strings.HasPrefix(r.Path, "/v2/tags/k8s-svc:") {
						continue // the marks of many new load balancers go over some hours
					}
					if r.Status != 200 {
						t.Errorf("%s %s?%s was answered %d", r.Method, r.Path, r.Query, r.Status)
					}
					if r.Method != "GET" {
						t.Errorf("a write in an hour in which nothing happens: %s %s", r.Method, r.Path)
					}
				}
			})
		})
	}
}

// fullSteadyHour returns the calls of the fourth hour: load balancers are made
// in the first, and the marks of new ones go from the second on, ten a pass.
func fullSteadyHour(t *testing.T, nodes, services int) []simulator.Request {
	t.Helper()
	sim := simulator.New()
	m := startInProcess(t, sim, fullSettings(), makeNodes(sim, nodes, 0)...)
	for i := range services {
		m.addService(i)
	}
	m.eventually(time.Hour, "all Services have an address", func() bool { return m.balanced() == services })
	time.Sleep(3 * time.Hour)
	sim.ResetRequests()
	time.Sleep(time.Hour)
	synctest.Wait()
	requests := sim.Requests()
	if got := len(sim.LoadBalancers()); got != services {
		t.Errorf("%d load balancers for %d Services", got, services)
	}
	m.stop()
	return requests
}

// byKind counts requests by method and kind of object, the most frequent first.
func byKind(requests []simulator.Request) string {
	counts := map[string]int{}
	for _, r := range requests {
		counts[kind(r)]++
	}
	kinds := make([]string, 0, len(counts))
	for k := range counts {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	for i, k := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", counts[k], k)
	}
	return strings.Join(kinds, ", ")
}

// kind is a request's method and path, with ids left out.
func kind(r simulator.Request) string {
	parts := strings.Split(strings.TrimPrefix(r.Path, "/v2/"), "/")
	for i := 1; i < len(parts); i += 2 {
		parts[i] = "*"
	}
	return r.Method + " " + strings.Join(parts, "/")
}
