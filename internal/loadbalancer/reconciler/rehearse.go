package reconciler

import (
	"context"
	"fmt"
	"slices"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// Bounds of a plan's text, in bytes.
const (
	maxPlan      = 4 << 10
	maxPlanEvent = 900
)

// rehearse tells what would be done for a Service that is not to be written
// for, and does nothing of it. The status stays as it is.
func (r *Reconciler) rehearse(ctx context.Context, w *work, lb *godo.LoadBalancer, desired loadbalancer.Desired, problems []annotation.Problem) (*v1.LoadBalancerStatus, error) {
	var plan []string
	isSettled := false
	switch {
	case len(problems) > 0:
		plan = []string{"nothing, until this is mended"}
		for _, p := range problems {
			plan = append(plan, p.String())
		}
	case lb == nil:
		plan = loadbalancer.PlanCreate(desired)
	default:
		// As it was last read: a plan needs no call of its own.
		changes, left := r.differences(w, lb, desired)
		r.compared(w.svc, slices.Concat(changes, left))
		plan = loadbalancer.PlanChange(lb.ID, changes, left)
		isSettled = len(changes) == 0
	}
	if r.rehearsal != nil {
		return r.observe(w, lb, plan, isSettled, problems)
	}
	r.recorder.Tell(w.svc, events.LoadBalancerPlan, "Dry run, nothing is written: "+loadbalancer.JoinPlan(plan, "; ", maxPlanEvent))
	if err := r.notePlan(ctx, w.svc, loadbalancer.JoinPlan(plan, "\n", maxPlan)); err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, &invalidError{problems, lb == nil}
	}
	return w.svc.Status.LoadBalancer.DeepCopy(), nil
}

// notePlan writes the plan to the Service, or removes it with "", unless it is
// so already.
func (r *Reconciler) notePlan(ctx context.Context, svc *v1.Service, plan string) error {
	if svc.Annotations[annotation.Plan] == plan {
		return nil
	}
	value := any(plan)
	if plan == "" {
		value = nil
	}
	if err := r.annotate(ctx, svc, map[string]any{annotation.Plan: value}); err != nil {
		return fmt.Errorf("write the plan of a dry run to the Service: %w", err)
	}
	return nil
}

// performs notes that the Service is written for: a plan from before is none
// any more.
func (r *Reconciler) performs(ctx context.Context, svc *v1.Service) error {
	r.recorder.Forget(svc, events.LoadBalancerPlan)
	return r.notePlan(ctx, svc, "")
}
