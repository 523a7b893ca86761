package reconciler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// markAge is how old a list may be in which the load balancer is looked for
// that was made for a Service before.
const markAge = time.Minute

// locate finds the Service's load balancer, never another Service's: by the id
// that is known, or else the one that was made for this very Service, as it was
// at most maxAge ago. It returns nil without an error when the API shows none,
// and a [*foreignError] when the one that the Service names belongs to another
// and it has none of its own.
func (r *Reconciler) locate(ctx context.Context, svc *v1.Service, spec annotation.Spec, maxAge time.Duration) (*godo.LoadBalancer, error) {
	lb, foreign, err := r.locateByID(ctx, svc, spec, maxAge)
	if err != nil {
		return nil, err
	}
	if lb == nil {
		if r.hasDoubt(svc) {
			maxAge = 0
		}
		lb, err = r.locateByMark(ctx, svc, spec, min(maxAge, markAge))
	}
	if err != nil || foreign == nil {
		return lb, err
	}
	if lb == nil {
		return nil, foreign
	}
	r.recorder.Tell(svc, events.LoadBalancerNotOwned, fmt.Sprintf("Load balancer %s (%s) stays this Service's: %s.", lb.Name, lb.ID, foreign))
	return lb, nil
}

// locateByID finds the load balancer by the ids that are known. foreign is why
// the Service can't have one of them.
func (r *Reconciler) locateByID(ctx context.Context, svc *v1.Service, spec annotation.Spec, maxAge time.Duration) (_ *godo.LoadBalancer, foreign, err error) {
	for _, id := range r.knownIDs(svc, spec) {
		lb, err := r.get(ctx, id, maxAge, r.allIDs)
		if doapi.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		// First: whose it is instead is no matter of who may not have it anyhow.
		if err := r.mayTake(svc, lb); isForeign(err) {
			foreign = err
			continue
		} else if err != nil {
			return nil, nil, err
		}
		if owner := r.ownerBefore(svc, lb); owner != nil {
			foreign = &foreignError{id: id, owner: owner}
			continue
		}
		r.setID(svc, lb.ID)
		return lb, foreign, nil
	}
	return nil, foreign, nil
}

// get reads a load balancer, as it was at most maxAge ago. See
// [inventory.LoadBalancers.Get] for peers.
func (r *Reconciler) get(ctx context.Context, id string, maxAge time.Duration, peers func() []string) (*godo.LoadBalancer, error) {
	lb, err := r.balancers.Get(ctx, id, maxAge, peers)
	if err != nil {
		return nil, &requestError{fmt.Sprintf("get load balancer %s", id), err}
	}
	return lb, nil
}

// allIDs are the ids of all Services' load balancers.
func (r *Reconciler) allIDs() []string {
	all, err := r.services.List(labels.Everything())
	if err != nil {
		return nil // an informer's lister never fails
	}
	var ids []string
	for _, svc := range all {
		if id := svc.Annotations[annotation.LoadBalancerID]; id != "" && svc.Spec.Type == v1.ServiceTypeLoadBalancer {
			ids = append(ids, id)
		}
	}
	return ids
}

// pendingIDs are the ids of the load balancers that DigitalOcean is making.
func (r *Reconciler) pendingIDs() []string { return r.balancers.In(statusNew) }

// ownerBefore returns another Service to which the load balancer belongs rather
// than to this one: that with the better claim, or of equal ones the oldest. One
// that is disowned has given up its claim.
func (r *Reconciler) ownerBefore(svc *v1.Service, lb *godo.LoadBalancer) *v1.Service {
	best, owner := r.claim(svc, lb), svc
	if best == loadbalancer.Made {
		return nil
	}
	all, err := r.services.List(labels.Everything())
	if err != nil {
		return nil // an informer's lister never fails
	}
	for _, other := range all {
		if other.UID == svc.UID || other.Spec.Type != v1.ServiceTypeLoadBalancer {
			continue
		}
		claim := r.claim(other, lb)
		if claim == loadbalancer.NoClaim || claim < best || claim == best && !loadbalancer.IsOlder(other, owner) {
			continue
		}
		if r.givesUp(other, lb) {
			continue
		}
		best, owner = claim, other
	}
	if owner == svc {
		return nil
	}
	return owner
}

// claim is the Service's claim to the load balancer, by what the two show and
// what this process remembers.
func (r *Reconciler) claim(svc *v1.Service, lb *godo.LoadBalancer) loadbalancer.Claim {
	claim := loadbalancer.ClaimOf(svc, identityOf(lb))
	switch {
	case r.recall(svc).agreed.id == lb.ID:
		claim = max(claim, loadbalancer.Shown)
	case r.id(svc) == lb.ID:
		claim = max(claim, loadbalancer.Named)
	}
	return claim
}

// givesUp tells whether the Service doesn't have the load balancer in spite of
// its claim: as it is disowned, or as limits forbid it.
func (r *Reconciler) givesUp(svc *v1.Service, lb *godo.LoadBalancer) bool {
	spec, _ := annotation.Parse(svc, r.defaults)
	return spec.Disowned || isForeign(r.mayTake(svc, lb))
}

func identityOf(lb *godo.LoadBalancer) loadbalancer.Identity {
	return loadbalancer.Identity{ID: lb.ID, Name: lb.Name, Tags: lb.Tags, Addresses: addressesOf(lb)}
}

// knownIDs are the ids under which the load balancer may be found, the most
// likely first.
func (r *Reconciler) knownIDs(svc *v1.Service, spec annotation.Spec) []string {
	var ids []string
	for _, id := range []string{spec.LoadBalancerID, r.id(svc)} {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// locateByMark searches all load balancers for the one that was made for the
// Service, whatever its name is now. A list of all costs the same one call as a
// list by name, unless there are more than 200.
func (r *Reconciler) locateByMark(ctx context.Context, svc *v1.Service, spec annotation.Spec, maxAge time.Duration) (*godo.LoadBalancer, error) {
	all, err := r.balancers.All(ctx, maxAge)
	if err != nil {
		return nil, &requestError{"list load balancers", err}
	}
	found := slices.IndexFunc(all, func(lb *godo.LoadBalancer) bool { return isOwn(svc, lb) })
	if found < 0 {
		found = slices.IndexFunc(all, func(lb *godo.LoadBalancer) bool { return r.hasAddressOf(svc, lb) })
	}
	if found < 0 {
		return nil, nil
	}
	lb := all[found]
	r.setID(svc, lb.ID)
	if spec.LoadBalancerID != lb.ID {
		r.recorder.Tell(svc, events.LoadBalancerAdopted, fmt.Sprintf("Found load balancer %s (%s), which was made for this Service before.", lb.Name, lb.ID))
	}
	return lb, nil
}

// hasAddressOf tells whether the load balancer is the Service's by the address
// that the Service's status holds, which only a manager writes: the last resort
// when its id and its marks are lost. One that another Service has, or another
// cluster, is not.
func (r *Reconciler) hasAddressOf(svc *v1.Service, lb *godo.LoadBalancer) bool {
	if lb.IP == "" || !slices.ContainsFunc(svc.Status.LoadBalancer.Ingress, func(i v1.LoadBalancerIngress) bool { return i.IP == lb.IP }) {
		return false
	}
	return !r.isMarkedForOthers(svc, lb) && r.ownerBefore(svc, lb) == nil
}

// isOwn tells whether a load balancer was made for the Service.
func isOwn(svc *v1.Service, lb *godo.LoadBalancer) bool {
	return loadbalancer.ClaimOf(svc, identityOf(lb)) == loadbalancer.Made
}

// vouch makes sure that the API which shows no load balancer of the Service is
// the one that would. A Service that never had one needs less: nothing is lost.
func (r *Reconciler) vouch(ctx context.Context, svc *v1.Service, spec annotation.Spec) error {
	return r.droplets.Vouch(ctx, hadNone(svc, spec) || r.id(svc) != "")
}

// hadNone tells whether nothing in the Service says that it ever had a load
// balancer.
func hadNone(svc *v1.Service, spec annotation.Spec) bool {
	return spec.LoadBalancerID == "" && len(svc.Status.LoadBalancer.Ingress) == 0
}

func (r *Reconciler) id(svc *v1.Service) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ids[svc.UID]
}

func (r *Reconciler) setID(svc *v1.Service, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id == "" {
		delete(r.ids, svc.UID)
		return
	}
	r.ids[svc.UID] = id
}

func (r *Reconciler) delete(ctx context.Context, svc *v1.Service, spec annotation.Spec, lb *godo.LoadBalancer) error {
	_, err := r.api.Delete(ctx, lb.ID)
	switch {
	case doapi.IsNotFound(err):
		// It was there when it was last read; the token may be another now.
		if err := r.vouch(ctx, svc, spec); err != nil {
			return err
		}
	case err != nil:
		return &requestError{fmt.Sprintf("delete load balancer %s", lb.ID), err}
	}
	r.balancers.Deleted(lb.ID)
	r.setID(svc, "")
	r.book.Changed(svc, "deleted "+lb.ID)
	klog.FromContext(ctx).Info("Deleted load balancer", "service", klog.KObj(svc), "id", lb.ID, "name", lb.Name)
	for _, reason := range []events.Reason{events.LoadBalancerCreated, events.LoadBalancerUpdated} {
		r.recorder.Forget(svc, reason)
	}
	return r.forgetID(ctx, svc)
}

// forgetID takes the id of a load balancer that is gone from a Service that
// stays, where it would be told as a loss when the Service gets another one.
func (r *Reconciler) forgetID(ctx context.Context, svc *v1.Service) error {
	if svc.DeletionTimestamp != nil {
		return nil
	}
	return r.annotate(ctx, svc, map[string]any{annotation.LoadBalancerID: nil})
}

func (r *Reconciler) setDoubt(svc *v1.Service, doubt bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !doubt {
		delete(r.doubts, svc.UID)
		return
	}
	r.doubts[svc.UID] = true
}

func (r *Reconciler) hasDoubt(svc *v1.Service) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.doubts[svc.UID]
}
