package tagging

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// marksPerPass is how many marks go with one pass: each costs a call, and none
// is urgent. At the first start of many Services there are many.
const marksPerPass = 10

// pass tags what lacks the cluster's tag, and removes marks that have served
// their purpose. Where all is as it should be, it makes no call besides the
// list, if that is due.
func (c *Controller) pass(ctx context.Context) error {
	cluster, err := c.options.Cluster()
	if err != nil {
		return err
	}
	tags := loadbalancer.ClusterTags(cluster)
	services, err := c.services.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list Services: %w", err)
	}
	if (len(tags) == 0 || !slices.ContainsFunc(services, isOurs)) && !c.hasDeparted() {
		return nil
	}
	balancers, err := c.options.Balancers.All(ctx, c.options.MaxAge)
	if err != nil {
		return fmt.Errorf("list load balancers: %w", err)
	}
	c.observe(balancers)
	w := world{
		balancers: balancers, services: services, disowned: c.disowned, backendsOnly: c.backendsOnly,
		before: c.options.Clock.Now().Add(-c.options.Period),
	}
	if len(tags) > 0 {
		w.tag = tags[0]
	}
	p := decide(w)
	return errors.Join(c.tagAll(ctx, w.tag, c.due(p.untagged)), c.unmarkSome(ctx, p.marks, balancers))
}

// observe notes what the list tells, for the pass and for Services that are
// deleted before the next.
func (c *Controller) observe(balancers []*godo.LoadBalancer) {
	now := c.options.Clock.Now()
	c.memory.observe(balancers, now, c.options.MaxAge+writeLag)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.departed.observe(balancers, now, c.memory.shows)
}

// due leaves out the load balancers that were tagged a moment ago, or can't be.
func (c *Controller) due(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), c.memory.isSettled)
}

// unmarkSome removes marks: first those of Services that are gone, as there is no
// other occasion.
func (c *Controller) unmarkSome(ctx context.Context, marks map[string]*v1.Service, balancers []*godo.LoadBalancer) error {
	left := marksPerPass
	departed := c.takeDeparted(balancers, left)
	for mark, svc := range departed {
		left--
		if err := c.unmark(ctx, mark, svc); err != nil {
			c.putBack(departed)
			return err
		}
		delete(departed, mark)
	}
	for _, mark := range slices.Sorted(maps.Keys(marks)) {
		if left == 0 {
			return nil
		}
		if c.memory.isUnmarked(mark) {
			continue
		}
		left--
		if err := c.unmark(ctx, mark, marks[mark]); err != nil {
			return err
		}
	}
	return nil
}
