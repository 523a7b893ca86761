package reconciler

import (
	"context"
	"fmt"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// erroredError is a load balancer that DigitalOcean failed to make.
type erroredError struct {
	id, name string
	// replaced is true where it is deleted and made again after the wait.
	replaced bool
	wait     time.Duration
}

func (e *erroredError) Error() string {
	text := fmt.Sprintf("DigitalOcean failed to make load balancer %s (%s), its status is errored", e.name, e.id)
	if !e.replaced {
		return text + ". It has had an address, so it is not replaced by itself: delete and re-create the Service for another one."
	}
	return text + ". It never served: it is deleted and made again."
}

// failure is what is known of a load balancer that ended errored.
type failure struct {
	id    string
	count int
	// until is when it is replaced.
	until time.Time
}

const (
	shortestReplace = 15 * time.Second
	longestReplace  = 30 * time.Minute
	erroredAgain    = 5 * time.Minute
)

// replaceErrored deletes a load balancer that ended errored and never served, so
// that the next sync makes another: at first soon, then after longer and longer.
func (r *Reconciler) replaceErrored(ctx context.Context, w *work, lb *godo.LoadBalancer) error {
	svc := w.svc
	if !mayReplace(svc, w.spec, lb) {
		return &erroredError{id: lb.ID, name: lb.Name, wait: erroredAgain}
	}
	if wait := r.untilReplace(svc, lb.ID); wait > 0 {
		return &erroredError{id: lb.ID, name: lb.Name, replaced: true, wait: wait}
	}
	// The state may be from the snapshot.
	fresh, err := r.get(ctx, lb.ID, 0, nil)
	if err != nil {
		return err
	}
	if isErrored(fresh) {
		if err := r.delete(ctx, svc, w.spec, fresh); err != nil {
			return err
		}
	}
	return &erroredError{id: lb.ID, name: lb.Name, replaced: true, wait: time.Second}
}

// mayReplace tells whether the load balancer never served, and is the Service's to
// delete.
func mayReplace(svc *v1.Service, spec annotation.Spec, lb *godo.LoadBalancer) bool {
	return len(svc.Status.LoadBalancer.Ingress) == 0 && isOwn(svc, lb) && spec.Manage != annotation.ManageBackends
}

func (r *Reconciler) untilReplace(svc *v1.Service, id string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.failures[svc.UID]
	if f.id != id {
		wait := min(shortestReplace<<min(f.count, 10), longestReplace)
		f = failure{id: id, count: f.count + 1, until: r.clock.Now().Add(wait)}
		r.failures[svc.UID] = f
	}
	return f.until.Sub(r.clock.Now())
}
