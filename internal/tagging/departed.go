package tagging

import (
	"maps"
	"strings"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// departed are Services that were deleted before their mark was removed. Their
// load balancers are gone with them, but DigitalOcean keeps a tag that is on
// nothing, and an account would fill up with those of short-lived Services.
type departed struct {
	// marks are the tags, by the Service as it was last.
	marks map[string]*v1.Service
	// seen is when the list was looked at last, shown are the marks that it had
	// then, in lower case, and shows tells whether it shows tags at all.
	seen  time.Time
	shown map[string]int
	shows bool
}

func newDeparted() departed { return departed{marks: map[string]*v1.Service{}} }

func (d *departed) observe(balancers []*godo.LoadBalancer, now time.Time, shows bool) {
	d.seen, d.shown, d.shows = now, countMarks(balancers), shows
}

// mayBeMarked tells whether the Service's mark may exist still, without asking.
func (d *departed) mayBeMarked(svc *v1.Service) bool {
	if !d.shows || !svc.CreationTimestamp.Time.Before(d.seen) {
		return true
	}
	return d.shown[strings.ToLower(loadbalancer.ServiceTag(svc))] > 0
}

// serviceDeleted notes a Service that is gone from the informer's cache.
func (c *Controller) serviceDeleted(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	svc, ok := object.(*v1.Service)
	if !ok || svc.Spec.Type != v1.ServiceTypeLoadBalancer || svc.Spec.LoadBalancerClass != nil || c.disowned(svc) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.departed.mayBeMarked(svc) {
		c.departed.marks[loadbalancer.ServiceTag(svc)] = svc
	}
}

func (c *Controller) hasDeparted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.departed.marks) > 0
}

// takeDeparted takes up to so many of the marks. One that a load balancer still
// carries is let be: the load balancer outlived its Service, and its mark tells
// whose it was.
func (c *Controller) takeDeparted(balancers []*godo.LoadBalancer, limit int) map[string]*v1.Service {
	carried := countMarks(balancers)
	taken := map[string]*v1.Service{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for mark, svc := range c.departed.marks {
		switch {
		case carried[strings.ToLower(mark)] > 0:
			delete(c.departed.marks, mark)
		case len(taken) < limit:
			taken[mark] = svc
			delete(c.departed.marks, mark)
		}
	}
	return taken
}

// putBack returns marks that were taken and not removed.
func (c *Controller) putBack(marks map[string]*v1.Service) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(c.departed.marks, marks)
}
