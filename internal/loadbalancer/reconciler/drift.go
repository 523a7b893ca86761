package reconciler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// CheckDrift reads all load balancers in one list and has every Service looked
// at by the own queue, which costs a call only where something is to be done. It
// returns the load balancers of this cluster that belong to no Service. The
// list is whole, or an error; what it lacks is looked for by the queue.
func (r *Reconciler) CheckDrift(ctx context.Context) (orphans []*godo.LoadBalancer, err error) {
	s, err := r.survey(ctx)
	if err != nil {
		return nil, err
	}
	r.doubtTarget(ctx, s.balancers)
	r.dropLeftTarget(ctx, s.balancers)
	now := r.clock.Now()
	for _, svc := range s.services {
		if isOurs(svc) && !r.recall(svc).postponed.After(now) {
			r.again.after(keyOf(svc), 0)
		}
	}
	return r.orphansIn(s), nil
}

// Orphans returns the load balancers of this cluster that belong to no Service. It
// only reads. The list is whole, or an error.
func (r *Reconciler) Orphans(ctx context.Context) ([]*godo.LoadBalancer, error) {
	s, err := r.survey(ctx)
	if err != nil {
		return nil, err
	}
	return r.orphansIn(s), nil
}

// survey is everything there is at one time.
type survey struct {
	balancers []*godo.LoadBalancer
	services  []*v1.Service
	cluster   loadbalancer.Cluster
}

// survey reads all load balancers, whatever is known of them already.
func (r *Reconciler) survey(ctx context.Context) (s survey, err error) {
	if s.balancers, err = r.balancers.All(ctx, 0); err != nil {
		return s, &requestError{"list load balancers", err}
	}
	if s.cluster, err = r.cluster(); err != nil {
		return s, err
	}
	if s.services, err = r.services.List(labels.Everything()); err != nil {
		return s, fmt.Errorf("list Services: %w", err)
	}
	return s, nil
}

func (r *Reconciler) orphansIn(s survey) []*godo.LoadBalancer {
	var orphans []*godo.LoadBalancer
	for _, lb := range s.balancers {
		if isOfCluster(lb, s.cluster) && !slices.ContainsFunc(s.services, func(svc *v1.Service) bool { return r.claims(svc, lb) }) {
			orphans = append(orphans, lb)
		}
	}
	return orphans
}

// isOfCluster tells whether the load balancer was made for this cluster. Without
// a tag of its own nothing tells its load balancers from another cluster's.
func isOfCluster(lb *godo.LoadBalancer, cluster loadbalancer.Cluster) bool {
	own := loadbalancer.ClusterTags(cluster)
	return len(own) > 0 && slices.ContainsFunc(lb.Tags, func(tag string) bool { return strings.EqualFold(tag, own[0]) })
}

// claims tells whether the Service, of whatever type it is now, has anything to
// do with the load balancer.
func (r *Reconciler) claims(svc *v1.Service, lb *godo.LoadBalancer) bool {
	return strings.EqualFold(svc.Annotations[annotation.LoadBalancerID], lb.ID) || r.id(svc) == lb.ID || isOwn(svc, lb) ||
		slices.ContainsFunc(svc.Status.LoadBalancer.Ingress, func(i v1.LoadBalancerIngress) bool { return i.IP != "" && i.IP == lb.IP })
}

// splitDrift splits the changes into those that the Service or its backends ask
// for, and those that put back what somebody else changed. Without an agreement
// of this process on the load balancer, nothing is known of others, and one on its
// backends alone left everything else to them.
func (r *Reconciler) splitDrift(w *work, id string, desired loadbalancer.Settings, changes []loadbalancer.Change) (asked, foreign []loadbalancer.Change) {
	agreed := r.recall(w.svc).agreed
	if agreed.id != id || agreed.settings == nil || agreed.backends && w.spec.Manage != annotation.ManageBackends {
		return changes, nil
	}
	return loadbalancer.Between(*agreed.settings, desired, changes)
}

// waitsForPeace leaves the load balancer as somebody else changed it, while
// there is a fight. An edit of the Service ends the wait.
func (r *Reconciler) waitsForPeace(w *work, lb *godo.LoadBalancer, desired loadbalancer.Desired, changes []loadbalancer.Change) bool {
	asked, foreign := r.splitDrift(w, lb.ID, desired.Settings, changes)
	if len(foreign) == 0 {
		if w.spec.Drift != annotation.DriftReport {
			r.note(w.svc, func(m *memory) { m.drift = "" })
		}
		return false
	}
	what := loadbalancer.Describe(foreign)
	if r.recall(w.svc).drift != what {
		r.metrics.found(foreign)
		r.note(w.svc, func(m *memory) { m.drift = what })
	}
	wait := r.recall(w.svc).fight.until().Sub(r.clock.Now())
	if wait <= 0 || len(loadbalancer.Of(loadbalancer.ChangeSettings, asked)) > 0 {
		return false
	}
	r.again.after(keyOf(w.svc), wait)
	return true
}

// tellReverted tells what somebody else had changed and is put back now.
func (r *Reconciler) tellReverted(ctx context.Context, w *work, lb *godo.LoadBalancer, changes []loadbalancer.Change) {
	what := loadbalancer.Describe(changes)
	r.book.Changed(w.svc, "put back: "+what)
	klog.FromContext(ctx).Info("Put load balancer back", "service", klog.KObj(w.svc), "id", lb.ID, "name", lb.Name, "changes", what)
	message := fmt.Sprintf("Somebody else changed load balancer %s (%s), and it was put back: %s.", lb.Name, lb.ID, what)
	if deciders := loadbalancer.Deciders(changes); len(deciders) > 0 {
		message += " To change it for good, edit the Service: " + strings.Join(deciders, ", ") + "."
	}
	// The same may be done again, and is then news again.
	r.recorder.Forget(w.svc, events.LoadBalancerDrift)
	r.recorder.Tell(w.svc, events.LoadBalancerDrift, message)
	r.metrics.reverted(changes)
	now := r.clock.Now()
	r.note(w.svc, func(m *memory) { m.drift, m.fight = "", m.fight.after(now) })
	if f := r.recall(w.svc).fight; f.truce > 0 {
		r.recorder.Tell(w.svc, events.LoadBalancerContested, fmt.Sprintf(
			"Somebody else changes load balancer %s (%s) again and again, the last time: %s. If it is changed once more, it is put back after longer and longer waits, not before %s. It may be another cloud controller manager (the public one that was not stopped, or one of another cluster with the same DO_CLUSTER_ID), Terraform, or a person: stop it, or set %s: \"true\".",
			lb.Name, lb.ID, what, f.until().UTC().Format(time.RFC3339), annotation.Disown))
	}
}
