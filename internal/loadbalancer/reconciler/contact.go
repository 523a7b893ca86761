package reconciler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// DefaultDriftPeriod is the drift period where none is set.
const DefaultDriftPeriod = 5 * time.Minute

// contact is the first meeting with a load balancer that differs from its
// Service, and on which this manager has not worked for it yet.
type contact struct {
	id    string
	since time.Time
}

// meet notes in the work whose the load balancer is.
func (r *Reconciler) meet(w *work, lb *godo.LoadBalancer) {
	w.taken = !r.isServices(w.svc, w.spec, lb)
	w.adopting = r.isFirstContact(w, lb)
}

// isFirstContact tells whether this manager has not worked on the load balancer
// for the Service yet. The mark proves that it has, as only it sets one; and
// so does the version of the defaults, unless the Service names a stranger's
// load balancer now. Work on the backends alone is none on the settings.
func (r *Reconciler) isFirstContact(w *work, lb *godo.LoadBalancer) bool {
	agreed := r.recall(w.svc).agreed
	backendsNow := w.spec.Manage == annotation.ManageBackends
	switch {
	case loadbalancer.HasTag(lb.Tags, loadbalancer.ServiceTag(w.svc)):
		return false
	case agreed.id == lb.ID:
		return agreed.backends && !backendsNow
	}
	return w.taken || w.svc.Annotations[annotation.DefaultsVersion] == "" && !backendsNow
}

// isServices tells whether the load balancer is the Service's already, by
// whichever manager: it was made for it, or its address is in the status, which
// only a manager writes. Where a host name hides the address, the name that the
// Service gives must do.
func (r *Reconciler) isServices(svc *v1.Service, spec annotation.Spec, lb *godo.LoadBalancer) bool {
	if r.isProven(svc, lb) {
		return true
	}
	return r.recall(svc).agreed.id == "" && lb.Name == spec.Name && !r.isMarkedForOthers(svc, lb) &&
		slices.ContainsFunc(svc.Status.LoadBalancer.Ingress, func(i v1.LoadBalancerIngress) bool { return i.Hostname != "" })
}

// isStrangers tells whether the Service only names the load balancer, and
// nothing proves that it was taken over: then it is not the Service's to delete.
// Neither are annotations proof, which whoever may write Services can write.
func (r *Reconciler) isStrangers(svc *v1.Service, spec annotation.Spec, lb *godo.LoadBalancer) bool {
	w := &work{svc: svc, spec: spec}
	r.meet(w, lb)
	if !w.adopting || !w.taken {
		return false
	}
	if svc.DeletionTimestamp != nil {
		r.recorder.Tell(svc, events.LoadBalancerNotOwned, fmt.Sprintf("Load balancer %s (%s) stays: this Service named it, and nothing but its annotations says that it took it over.", lb.Name, lb.ID))
	}
	return true
}

// isMarkedForOthers tells whether the load balancer carries another cluster's
// tag, or the mark of another Service. It does, to be safe, while the own
// cluster isn't known.
func (r *Reconciler) isMarkedForOthers(svc *v1.Service, lb *godo.LoadBalancer) bool {
	cluster, err := r.cluster()
	own := append(loadbalancer.ClusterTags(cluster), loadbalancer.ServiceTag(svc))
	return err != nil || slices.ContainsFunc(lb.Tags, func(tag string) bool {
		marks := strings.HasPrefix(tag, loadbalancer.ClusterTagPrefix) || loadbalancer.IsServiceTag(tag)
		return marks && !loadbalancer.HasTag(own, tag)
	})
}

// waitsForContact holds back what differs at the first contact for a drift
// period, and says what will be changed: the settings of the Service's own load
// balancer, whose backends are kept up to date meanwhile, beside those that may be
// others', and everything of one that is taken over, whose traffic may still be
// another's.
func (r *Reconciler) waitsForContact(w *work, lb *godo.LoadBalancer, desired loadbalancer.Desired, changes []loadbalancer.Change) bool {
	if !w.adopting {
		return false
	}
	held := changes
	if !w.taken && !r.dropsOthers(w, lb, desired) {
		held = loadbalancer.Of(loadbalancer.ChangeSettings, changes)
	}
	if len(held) == 0 {
		return false
	}
	due := r.contactDue(w.svc, lb.ID)
	wait := due.Sub(r.clock.Now())
	if wait <= 0 {
		return false
	}
	r.again.after(keyOf(w.svc), wait)
	r.recorder.Tell(w.svc, events.LoadBalancerFirstContact, fmt.Sprintf(
		"Load balancer %s (%s) differs from this Service, for which this manager works on it for the first time. Not before %s this is changed: %s. Until then, edit the Service to keep it as it is, or set %s: \"true\".",
		lb.Name, lb.ID, due.UTC().Format(time.RFC3339), loadbalancer.Describe(held), annotation.Disown))
	return true
}

// contactDue is when a load balancer that was met may be changed.
func (r *Reconciler) contactDue(svc *v1.Service, id string) time.Time {
	now := r.clock.Now()
	r.note(svc, func(m *memory) {
		if m.contact.id != id {
			m.contact = contact{id, now}
		}
	})
	return r.recall(svc).contact.since.Add(r.period)
}

// keptName tells whether the load balancer keeps the name that it has: no
// annotation gives it one, so that of the console is as good. Where the Service
// gave the name itself until now, it goes with the annotation.
func (r *Reconciler) keptName(svc *v1.Service, spec annotation.Spec, lb *godo.LoadBalancer) bool {
	if lb == nil || spec.Name != "" {
		return false
	}
	agreed := r.recall(svc).agreed
	return !agreed.named || agreed.id != lb.ID || agreed.settings == nil || agreed.settings.Name != lb.Name
}
