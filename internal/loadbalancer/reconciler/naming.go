package reconciler

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/internal/doapi"
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
	other, err := r.holderOf(ctx, wanted, lb, markAge)
	if err != nil {
		return "", err
	}
	if other != nil {
		r.tellNameTaken(w, wanted, other)
		return byDefault, nil
	}
	r.recorder.Forget(w.svc, events.LoadBalancerNameTaken)
	return wanted, nil
}

// createNamed makes the load balancer, under its default name where somebody
// else got the template's since the list was read. A name that is taken is also
// what a load balancer looks like that was made for this Service, and whose
// answer was lost: only one that is shown to be another's counts.
func (r *Reconciler) createNamed(ctx context.Context, w *work, desired loadbalancer.Desired) (*godo.LoadBalancer, error) {
	lb, err := r.create(ctx, w.svc, desired)
	byDefault := loadbalancer.DefaultName(w.svc)
	if !isNameTaken(err) || w.spec.Name != "" || desired.Name == byDefault {
		return lb, err
	}
	other, listErr := r.holderOf(ctx, desired.Name, nil, 0)
	if listErr != nil || other == nil || isOwn(w.svc, other) {
		return nil, err
	}
	r.tellNameTaken(w, desired.Name, other)
	desired.Name = byDefault
	return r.create(ctx, w.svc, desired)
}

// isNameTaken tells whether the API refused a name that another has.
func isNameTaken(err error) bool {
	return doapi.Classify(err) == doapi.ClassUser && strings.Contains(strings.ToLower(doapi.Message(err)), "name is not unique")
}

// holderOf returns the load balancer of that name, other than lb, as of at most
// maxAge ago; nil: none is shown.
func (r *Reconciler) holderOf(ctx context.Context, name string, lb *godo.LoadBalancer, maxAge time.Duration) (*godo.LoadBalancer, error) {
	all, err := r.balancers.All(ctx, maxAge)
	if err != nil {
		return nil, &requestError{"list load balancers", err}
	}
	for _, other := range all {
		if other.Name == name && (lb == nil || other.ID != lb.ID) {
			return other, nil
		}
	}
	return nil, nil
}

func (r *Reconciler) tellNameTaken(w *work, wanted string, other *godo.LoadBalancer) {
	r.recorder.Tell(w.svc, events.LoadBalancerNameTaken, fmt.Sprintf(
		"The name %q, which the manager's template gives this Service's load balancer, is that of load balancer %s already. It is called %s instead; rename it with the annotation for its name if that doesn't suit.", wanted, other.ID, loadbalancer.DefaultName(w.svc)))
}
