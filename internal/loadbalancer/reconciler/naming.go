package reconciler

import (
	"context"
	"fmt"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// name returns the name that the Service's load balancer is to have, wanted
// unless that is of no use. lb is the load balancer that exists, or nil.
func (r *Reconciler) name(ctx context.Context, w *work, lb *godo.LoadBalancer, wanted string) (string, error) {
	byDefault := loadbalancer.DefaultName(w.svc)
	switch {
	case r.keptName(w.svc, w.spec, lb):
		return lb.Name, nil
	case w.spec.Name != "" || wanted == byDefault:
		return wanted, nil // the user's word, or one that nobody else has
	}
	// The template's; others may have got it.
	all, err := r.balancers.All(ctx, markAge)
	if err != nil {
		return "", &requestError{"list load balancers", err}
	}
	for _, other := range all {
		if other.Name == wanted && (lb == nil || other.ID != lb.ID) {
			r.recorder.Tell(w.svc, events.LoadBalancerNameTaken, fmt.Sprintf(
				"The name %q, which the manager's template gives this Service's load balancer, is that of load balancer %s already. It is called %s instead; rename it with the annotation for its name if that doesn't suit.", wanted, other.ID, byDefault))
			return byDefault, nil
		}
	}
	r.recorder.Forget(w.svc, events.LoadBalancerNameTaken)
	return wanted, nil
}
