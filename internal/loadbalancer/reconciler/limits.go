package reconciler

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/limits"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// Limits are what Services may ask for.
type Limits struct {
	limits.Limits
	// Namespaces and HasSynced are of an informer of the cluster's namespaces.
	// They may be nil where [limits.Limits.NeedNamespaces] is false.
	Namespaces corelisters.NamespaceLister
	HasSynced  func() bool
}

// crowd is the Services that wait for another load balancer to go.
type crowd struct {
	mu      sync.Mutex
	waiting map[types.NamespacedName]bool
}

func (c *crowd) add(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		c.waiting = map[types.NamespacedName]bool{}
	}
	c.waiting[key] = true
}

// take returns all, and forgets them.
func (c *crowd) take() map[types.NamespacedName]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.waiting
	c.waiting = nil
	return all
}

// goneTakes is how long the framework takes to let a Service go whose load
// balancer is deleted.
const goneTakes = 10 * time.Second

// roomMade has the Services looked at again that wait for a load balancer to go.
func (r *Reconciler) roomMade() {
	for key := range r.crowd.take() {
		r.again.after(key, goneTakes)
	}
}

// errNamespaces is a cluster whose namespaces are not known.
var errNamespaces = errors.New("limits depend on the labels of namespaces, which are not known (yet); the manager needs the verbs list and watch on namespaces")

// namespace returns a namespace's labels.
func (r *Reconciler) namespace(name string) (labels.Set, error) {
	if !r.limits.NeedNamespaces() {
		return nil, nil
	}
	if r.limits.Namespaces == nil || r.limits.HasSynced != nil && !r.limits.HasSynced() {
		return nil, errNamespaces
	}
	namespace, err := r.limits.Namespaces.Get(name)
	if err != nil {
		return nil, fmt.Errorf("look up the labels of a Service's namespace: %w", err)
	}
	return namespace.Labels, nil
}

// labelsOf is [Reconciler.namespace] for where one that isn't known any more is
// one without labels.
func (r *Reconciler) labelsOf(name string) labels.Set {
	set, _ := r.namespace(name)
	return set
}

// checkLimits returns what the Service asks for and the limits don't allow. lb
// is its load balancer, or nil.
func (r *Reconciler) checkLimits(w *work, lb *godo.LoadBalancer) ([]annotation.Problem, error) {
	if len(r.limits.Limits) == 0 {
		return nil, nil
	}
	if _, err := r.namespace(w.svc.Namespace); err != nil {
		return nil, err
	}
	req := limits.Request{
		Service: w.svc, Spec: w.spec, Defaults: r.defaults, Standing: r.standing(w.svc, lb), Namespace: r.labelsOf,
	}
	if r.limits.NeedOthers() {
		all, err := r.services.List(labels.Everything())
		if err != nil {
			return nil, fmt.Errorf("list Services: %w", err)
		}
		req.Others = limits.Others(w.svc, all, r.defaults, r.hasBalancer)
	}
	problems := r.limits.Check(req)
	r.awaitRoom(w.svc, req.Others, problems)
	return problems, nil
}

// awaitRoom has a Service that comes too late looked at again once there is room
// for another load balancer.
func (r *Reconciler) awaitRoom(svc *v1.Service, others []limits.Other, problems []annotation.Problem) {
	if !slices.ContainsFunc(problems, func(p annotation.Problem) bool { return p.Field == limits.FieldType }) {
		return
	}
	r.crowd.add(keyOf(svc))
	if slices.ContainsFunc(others, func(o limits.Other) bool { return o.Service.DeletionTimestamp != nil }) {
		r.again.after(keyOf(svc), goneTakes)
	}
}

func (r *Reconciler) standing(svc *v1.Service, lb *godo.LoadBalancer) limits.Standing {
	switch {
	case lb == nil:
		return limits.None
	case r.isProven(svc, lb):
		return limits.Own
	}
	return limits.Unproven
}

// isProven tells whether the load balancer is the Service's by something that
// nobody can have written who may only write Services: annotations and names
// prove nothing.
func (r *Reconciler) isProven(svc *v1.Service, lb *godo.LoadBalancer) bool {
	return isOwn(svc, lb) || r.recall(svc).agreed.id == lb.ID || loadbalancer.ShowsAddress(svc, addressesOf(lb))
}

// hasBalancer tells whether the Service has a load balancer of its own already,
// though its status may not say so yet.
func (r *Reconciler) hasBalancer(svc *v1.Service) bool {
	if r.recall(svc).agreed.id != "" {
		return true
	}
	lb, known := r.balancers.Known(svc.Annotations[annotation.LoadBalancerID])
	return known && r.isProven(svc, lb)
}

// mayTake returns a [*foreignError] where the Service must not have the load
// balancer, as it isn't its own and a limit forbids to take over another.
func (r *Reconciler) mayTake(svc *v1.Service, lb *godo.LoadBalancer) error {
	if len(r.limits.Limits) == 0 || r.isProven(svc, lb) {
		return nil
	}
	if _, err := r.namespace(svc.Namespace); err != nil {
		return err
	}
	if limit, forbidden := r.limits.ForbidsTakeOver(svc, r.labelsOf); forbidden {
		return &foreignError{id: lb.ID, limit: limit}
	}
	return nil
}
