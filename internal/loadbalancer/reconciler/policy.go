package reconciler

import (
	"fmt"
	"strings"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// heed returns the settings that the load balancer is to have: those that the
// Service asks for, but for what its policy leaves to others. left is what
// differs and stays so, to be told.
func (r *Reconciler) heed(w *work, lb *godo.LoadBalancer, desired loadbalancer.Settings) (settings loadbalancer.Settings, left []loadbalancer.Change) {
	actual := settingsOf(lb)
	if w.spec.Manage == annotation.ManageBackends {
		settings = actual
		settings.DropletIDs = r.beside(w, lb, desired.DropletIDs)
		return settings, nil
	}
	settings = loadbalancer.Ignore(desired, actual, w.spec.Ignored)
	if w.spec.Drift != annotation.DriftReport {
		return settings, nil
	}
	changes := loadbalancer.Of(loadbalancer.ChangeSettings, loadbalancer.Diff(settings, actual))
	asked, left := r.splitDrift(w, lb.ID, desired, changes)
	if r.knowsNothing(w, lb) {
		// Nothing tells an edit of the Service from another's change.
		asked, left = nil, asked
	}
	return loadbalancer.Leave(settings, actual, left), left
}

// knowsNothing tells whether this process never saw the load balancer as its
// Service wanted it, nor made it.
func (r *Reconciler) knowsNothing(w *work, lb *godo.LoadBalancer) bool {
	return r.recall(w.svc).agreed.id != lb.ID
}

// tellLeft tells what differs and is left, as the Service asks for.
func (r *Reconciler) tellLeft(w *work, lb *godo.LoadBalancer, left []loadbalancer.Change) {
	if w.spec.Drift != annotation.DriftReport {
		return
	}
	what := loadbalancer.Describe(left)
	if what != r.recall(w.svc).drift {
		r.metrics.found(left)
		r.note(w.svc, func(m *memory) { m.drift = what })
	}
	if len(left) == 0 {
		r.recorder.Forget(w.svc, events.LoadBalancerDrift)
		return
	}
	message := fmt.Sprintf("Load balancer %s (%s) differs from this Service, and is left as it is, as %s asks for: %s.", lb.Name, lb.ID, annotation.Drift, what)
	if deciders := loadbalancer.Deciders(left); len(deciders) > 0 {
		message += " To make them agree, edit the Service: " + strings.Join(deciders, ", ") + ", or set " + annotation.Drift + ": " + annotation.DriftRevert + "."
	}
	r.recorder.Tell(w.svc, events.LoadBalancerDrift, message)
}
