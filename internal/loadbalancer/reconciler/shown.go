package reconciler

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	servicehelpers "k8s.io/cloud-provider/service/helpers"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// shown is what a Service's status was last given.
type shown struct {
	// service is the Service for which the status was computed; nil: none was.
	service *v1.Service
	status  *v1.LoadBalancerStatus
	// handed is what was written, or handed to the framework to be written, and
	// when; corrections is how often that was done anew though nothing had
	// changed.
	handed      *v1.LoadBalancerStatus
	written     time.Time
	corrections int
}

// show returns what the Service's status is to show. The mode of an address
// stays as it is until the Service is edited: in-cluster callers depend on it,
// and an adopted Service may have another than a new one would get. After a
// restart, a load balancer that needed no write is a Service that was not edited.
// settings are the load balancer's.
func (r *Reconciler) show(w *work, lb *godo.LoadBalancer, settings loadbalancer.Settings) *v1.LoadBalancerStatus {
	if w.held && w.taken {
		return w.svc.Status.LoadBalancer.DeepCopy() // it serves others still
	}
	status := statusOf(w.svc, w.spec, lb, settings)
	before := r.recall(w.svc).shown
	switch {
	case w.spec.IPMode != "": // the Service decides
	case len(lb.ForwardingRules) == 0: // an answer without them: each has some
		keepModes(status, &w.svc.Status.LoadBalancer)
	case before.service != nil && isSameRequest(before.service, w.svc):
		keepModes(status, before.status)
	case before.service == nil && !w.wrote, w.held:
		keepModes(status, &w.svc.Status.LoadBalancer)
	}
	if w.held {
		return status // it isn't as the Service wants it yet
	}
	r.note(w.svc, func(m *memory) { m.shown.service, m.shown.status = w.svc, status.DeepCopy() })
	return status
}

// settingsAfter are the load balancer's after an update. What the mode of an
// address hangs on is as it was written, whatever the API says of it: the wrong
// mode has in-cluster traffic pass the load balancer by.
func (r *Reconciler) settingsAfter(w *work, lb *godo.LoadBalancer, desired loadbalancer.Desired) loadbalancer.Settings {
	settings := settingsOf(lb)
	if !w.held {
		written, _ := r.heed(w, lb, desired.Settings)
		settings.ForwardingRules, settings.EnableProxyProtocol = written.ForwardingRules, written.EnableProxyProtocol
	}
	return settings
}

// keepModes takes the modes of addresses that were shown before.
func keepModes(status, before *v1.LoadBalancerStatus) {
	for i := range status.Ingress {
		now := &status.Ingress[i]
		old := slices.IndexFunc(before.Ingress, func(b v1.LoadBalancerIngress) bool { return b.IP == now.IP && b.IPMode != nil })
		if now.IP != "" && old >= 0 {
			now.IPMode = new(*before.Ingress[old].IPMode)
		}
	}
}

// isSameRequest tells whether nobody edited the Service's specification or
// annotations, but for those that change without anybody's edit.
func isSameRequest(a, b *v1.Service) bool {
	if a == b {
		return true
	}
	asked := func(svc *v1.Service) map[string]string {
		kept := maps.Clone(svc.Annotations)
		maps.DeleteFunc(kept, func(key, _ string) bool {
			d, known := annotation.Lookup(key)
			return known && d.Written
		})
		return kept
	}
	return apiequality.Semantic.DeepEqual(a.Spec, b.Spec) && apiequality.Semantic.DeepEqual(asked(a), asked(b))
}

// handedOut notes a status that is as it should be, or that the framework is
// about to write.
func (r *Reconciler) handedOut(svc *v1.Service, status *v1.LoadBalancerStatus) {
	now := r.clock.Now()
	r.note(svc, func(m *memory) { m.shown.handed, m.shown.written = status.DeepCopy(), now })
}

// writeStatus writes the status unless it is so already. One that somebody else
// overwrites is put right once a drift period at most.
func (r *Reconciler) writeStatus(ctx context.Context, svc *v1.Service, status *v1.LoadBalancerStatus) error {
	before := r.recall(svc).shown
	if servicehelpers.LoadBalancerStatusEqual(&svc.Status.LoadBalancer, status) {
		if before.handed == nil {
			r.handedOut(svc, status)
		}
		return nil
	}
	overwritten := before.handed != nil && servicehelpers.LoadBalancerStatusEqual(before.handed, status)
	if overwritten && r.clock.Since(before.written) < r.period {
		return nil // also while the informer lags behind what was written
	}
	err := r.patch(ctx, svc, map[string]any{
		"metadata": map[string]any{"uid": svc.UID},
		"status":   map[string]any{"loadBalancer": status},
	}, "status")
	if err != nil {
		return err
	}
	r.handedOut(svc, status)
	if !overwritten {
		return nil
	}
	r.note(svc, func(m *memory) { m.shown.corrections++ })
	if before.corrections > 0 {
		r.recorder.Tell(svc, events.StatusOverwritten, "Another controller"+statusWriter(svc)+" writes this Service's status, which was put right again. Give the Service a loadBalancerClass of that controller, or stop it; it may be another cloud controller manager, as the public one that was not stopped.")
	}
	return nil
}

// statusWriter is under which name the Service's status was last written, in
// brackets; empty where nothing tells.
func statusWriter(svc *v1.Service) string {
	var last *metav1.ManagedFieldsEntry
	for i, f := range svc.ManagedFields {
		if f.Subresource == "status" && f.Time != nil && (last == nil || f.Time.After(last.Time.Time)) {
			last = &svc.ManagedFields[i]
		}
	}
	if last == nil {
		return ""
	}
	return " (" + last.Manager + ")"
}
