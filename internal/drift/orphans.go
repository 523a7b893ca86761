package drift

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/internal/events"
)

// maxNamed is how many orphans an event names.
const maxNamed = 10

// tellOrphans tells of load balancers without a Service. They stay: their Service
// may be in a backup, or in a cluster with the same id.
func (c *Controller) tellOrphans(orphans []*godo.LoadBalancer) {
	c.options.Metrics.orphaned(len(orphans))
	if c.options.Recorder == nil || c.options.Lease == nil {
		return
	}
	if len(orphans) == 0 {
		c.options.Recorder.Forget(c.options.Lease, events.LoadBalancersOrphaned)
		return
	}
	c.options.Recorder.Tell(c.options.Lease, events.LoadBalancersOrphaned, describeOrphans(orphans))
}

// describeOrphans is the same text for the same load balancers in any order.
func describeOrphans(orphans []*godo.LoadBalancer) string {
	sorted := slices.SortedFunc(slices.Values(orphans), func(a, b *godo.LoadBalancer) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	var names []string
	for _, lb := range sorted[:min(len(sorted), maxNamed)] {
		names = append(names, fmt.Sprintf("%s (%s)", lb.Name, lb.ID))
	}
	text := strings.Join(names, ", ")
	if more := len(sorted) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "Load balancers with this cluster's mark belong to no Service: " + text +
		". They are billed and left alone. Delete those that nothing needs, or take one over by naming its id in a Service."
}
