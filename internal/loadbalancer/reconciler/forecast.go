package reconciler

import (
	"context"
	"errors"
	"fmt"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	servicehelpers "k8s.io/cloud-provider/service/helpers"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// Action is what becomes of a Service's load balancer.
type Action string

// Actions.
const (
	// ActionNone is where everything is as it should be, or nothing is to be
	// done.
	ActionNone Action = "none"
	// ActionCreate makes a load balancer.
	ActionCreate Action = "create"
	// ActionUpdate changes the one that exists.
	ActionUpdate Action = "update"
	// ActionRefuse leaves it as it is but for its backends, until somebody mends
	// the Service.
	ActionRefuse Action = "refuse"
	// ActionWait leaves it until DigitalOcean has made it.
	ActionWait Action = "wait"
	// ActionReplace deletes one that DigitalOcean failed to make, and makes
	// another.
	ActionReplace Action = "replace"
	// ActionDelete, ActionRetain and ActionRelease are for Services that want no
	// load balancer any more: it is deleted, kept, or loses the cluster's
	// droplets.
	ActionDelete  Action = "delete"
	ActionRetain  Action = "retain"
	ActionRelease Action = "release"
)

// Forecast is what a manager that has just started would do for a Service.
type Forecast struct {
	Action Action
	// Ours is false for Services that the manager has nothing to do with.
	Ours bool
	// Disowned is true where an annotation keeps the manager away, and DryRun
	// where one has it tell its plan only.
	Disowned, DryRun bool
	// LoadBalancer is the one that exists; nil: none.
	LoadBalancer *godo.LoadBalancer
	// Desired is what the load balancer is to be. It means nothing with
	// ActionRefuse, nor for a Service that wants none.
	Desired loadbalancer.Desired
	// Changes are what is to be changed, those that can't be made among them.
	Changes []loadbalancer.Change
	// Left are the differences that the Service leaves to others.
	Left []loadbalancer.Change
	// Problems are what is wrong with the Service.
	Problems []annotation.Problem
	// Refusal is why the Service can't have the load balancer that it names; nil
	// where it can.
	Refusal error
	// FirstContact is true where no such manager has worked on the load balancer
	// for the Service: changes wait for a drift period. TakenOver is true where
	// it isn't even the Service's yet.
	FirstContact, TakenOver bool
}

// Forecast decides for a Service as a sync does, and does nothing of it: it reads
// the API and the listers, and tells the recorder what a sync would tell of
// what is odd. An error is one of the API.
func (r *Reconciler) Forecast(ctx context.Context, svc *v1.Service) (f Forecast, err error) {
	ctx, done := r.begin(ctx, svc, &err)
	defer done()
	wanted := svc.Spec.Type == v1.ServiceTypeLoadBalancer && svc.Spec.LoadBalancerClass == nil
	f = Forecast{Action: ActionNone, Ours: wanted || servicehelpers.HasLBFinalizer(svc)}
	if !f.Ours {
		return f, nil
	}
	spec, problems := annotation.Parse(svc, r.defaults)
	f.Disowned, f.DryRun = spec.Disowned, spec.DryRun
	if spec.Disowned {
		return f, nil
	}
	if !wanted || svc.DeletionTimestamp != nil {
		return f, r.forecastDeletion(ctx, svc, spec, &f)
	}
	w := &work{svc: svc, spec: spec, foretold: true}
	if w.cluster, err = r.cluster(); err != nil {
		return f, err
	}
	if err := r.shareBackends(ctx, w); err != nil {
		return f, err
	}
	f.LoadBalancer, f.Desired, f.Problems, err = r.decide(ctx, w, problems)
	if err == nil {
		err = r.forecastSync(ctx, w, &f)
	}
	if isRefusal(err) {
		f.Action, f.Refusal = ActionRefuse, err
		return f, nil
	}
	return f, err
}

// Close frees what a Reconciler holds that is never run, as for forecasts alone.
func (r *Reconciler) Close() { r.again.stop() }

// isRefusal tells an error that the Service itself is the cause of.
func isRefusal(err error) bool {
	_, missing := errors.AsType[*missingError](err)
	return missing || isForeign(err)
}

// forecastSync follows the steps of a sync after the decision.
func (r *Reconciler) forecastSync(ctx context.Context, w *work, f *Forecast) error {
	f.FirstContact, f.TakenOver = w.adopting, w.taken
	lb := f.LoadBalancer
	switch {
	case len(f.Problems) > 0:
		f.Action = ActionRefuse
	case lb == nil:
		f.Action = ActionCreate
		return r.mayMake(ctx, w)
	case isPending(lb):
		f.Action = ActionWait
	case isErrored(lb):
		f.Action = ActionReplace
		if !mayReplace(w.svc, w.spec, lb) {
			f.Action, f.Refusal = ActionRefuse, &erroredError{id: lb.ID, name: lb.Name}
		}
	default:
		f.Changes, f.Left = r.differences(w, lb, f.Desired)
		f.Action = actionFor(f.Changes)
	}
	return nil
}

// actionFor is what follows from differences. Those that can't be made are all
// there is to say of a load balancer of another kind.
func actionFor(changes []loadbalancer.Change) Action {
	switch {
	case isOfAnotherKind(changes):
		return ActionRefuse
	case len(mutable(changes)) > 0:
		return ActionUpdate
	case len(changes) > 0:
		return ActionRefuse
	}
	return ActionNone
}

// forecastDeletion follows the steps of a deletion.
func (r *Reconciler) forecastDeletion(ctx context.Context, svc *v1.Service, spec annotation.Spec, f *Forecast) error {
	lb, err := r.locate(ctx, svc, spec, snapshotAge)
	switch {
	case isForeign(err):
		return nil
	case err != nil:
		return err
	case lb == nil:
		if err := r.vouch(ctx, svc, spec); err != nil {
			return fmt.Errorf("no load balancer is found, which is not believed: %w", err)
		}
		return nil
	case r.isStrangers(svc, spec, lb):
		return nil
	}
	f.LoadBalancer, f.Action = lb, farewellOf(spec)
	return nil
}

// farewellOf is what becomes of the load balancer of a Service that wants none
// any more.
func farewellOf(spec annotation.Spec) Action {
	switch {
	case spec.Manage == annotation.ManageBackends:
		return ActionRelease
	case spec.RetainOnDelete:
		return ActionRetain
	}
	return ActionDelete
}
