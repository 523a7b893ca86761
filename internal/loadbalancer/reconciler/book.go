package reconciler

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/state"
)

// errDefect stands for the panic that ended a sync.
var errDefect = errors.New("a defect in the manager stopped the work; its log says more")

// ensure makes the Service's load balancer as the Service wants it, and tells
// the book and the metrics what came of it.
func (r *Reconciler) ensure(ctx context.Context, svc *v1.Service) (status *v1.LoadBalancerStatus, err error) {
	begun := r.clock.Now()
	err = errDefect // unless the work ends as it should
	defer func() { r.synced(svc, err, r.clock.Since(begun)) }()
	return r.sync(ctx, svc)
}

func (r *Reconciler) synced(svc *v1.Service, err error, took time.Duration) {
	standing, result := sortOut(err)
	if spec, _ := annotation.Parse(svc, r.defaults); spec.Disowned {
		standing = state.StandingDisowned
	}
	s := state.Sync{BalancerID: r.id(svc), Standing: standing, Result: result}
	if err != nil && result != state.ResultWaiting {
		s.Error = err.Error()
	}
	r.book.Synced(svc, s)
	r.process.Synced(state.KindLoadBalancer, result, took)
}

// sortOut tells where a sync's error leaves the load balancer, and who must act.
func sortOut(err error) (state.Standing, state.Result) {
	var (
		invalid *invalidError
		pending *pendingError
		errored *erroredError
		resize  *resizeError
		foreign *foreignError
		missing *missingError
	)
	switch {
	case err == nil:
		return state.StandingSettled, state.ResultSuccess
	case errors.As(err, &invalid), errors.As(err, &foreign), errors.As(err, &missing):
		return state.StandingInvalid, state.ResultUser
	case errors.As(err, &pending):
		return state.StandingPending, state.ResultWaiting
	case errors.As(err, &errored):
		return state.StandingErrored, state.ResultCloud
	case errors.As(err, &resize):
		return state.StandingDiffers, state.ResultConflict // time mends it
	case errors.Is(err, errGone):
		return state.StandingFailing, state.ResultConflict
	}
	result := state.ResultOf(err)
	if result == state.ResultUser {
		return state.StandingInvalid, result
	}
	return state.StandingFailing, result
}

// compared tells the book in what the load balancer differs.
func (r *Reconciler) compared(svc *v1.Service, changes []loadbalancer.Change) {
	differences := make([]state.Difference, len(changes))
	for i, c := range changes {
		differences[i] = state.Difference{Field: c.Field, Text: c.Text, Fixed: c.Kind == loadbalancer.ChangeImmutable}
	}
	r.book.Compared(svc, differences)
}
