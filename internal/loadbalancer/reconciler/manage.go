package reconciler

import (
	"context"
	"fmt"
	"slices"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/providerid"
)

// desireBackends is for a load balancer of which only the backends are the
// manager's: it is as it is, with the cluster's droplets.
func (r *Reconciler) desireBackends(w *work, lb *godo.LoadBalancer) (loadbalancer.Desired, []annotation.Problem, error) {
	actual := settingsOf(lb)
	backends := loadbalancer.SelectBackends(w.spec, actual.NetworkStack, loadbalancer.Serving(w.candidates, servingOf(lb)))
	problems := r.judgeBackends(w, lb, backends)
	desired := loadbalancer.Desired{Settings: actual}
	desired.DropletIDs = backends.DropletIDs
	if lb.Tag != "" {
		problems = append(problems, problem(annotation.Manage, w.spec.Manage, fmt.Sprintf(
			"must be %s or absent while load balancer %s targets the droplets of the tag %q: whoever made it has to list droplets, or the droplets must be tagged", annotation.ManageAll, lb.ID, lb.Tag))...)
	}
	return desired, problems, nil
}

// beside adds to the cluster's droplets those of others, where the load
// balancer is theirs, or may have been: nothing of others goes before the first
// contact is over.
func (r *Reconciler) beside(w *work, lb *godo.LoadBalancer, wanted []int) []int {
	if w.spec.Manage != annotation.ManageBackends && !w.adopting {
		return wanted
	}
	own := r.ownDroplets(w.svc, lb)
	others := slices.DeleteFunc(slices.Clone(lb.DropletIDs), func(id int) bool { return own[id] })
	all := slices.Concat(others, wanted)
	slices.Sort(all)
	return slices.Compact(all)
}

// dropsOthers tells whether droplets would go that aren't known to be the
// cluster's.
func (r *Reconciler) dropsOthers(w *work, lb *godo.LoadBalancer, desired loadbalancer.Desired) bool {
	return lb.Tag == "" && desired.Tag == "" && len(r.beside(w, lb, desired.DropletIDs)) > len(desired.DropletIDs)
}

// ownDroplets are those of the cluster's Nodes, and those that this process put
// into the load balancer for Nodes that are gone. A droplet of a Node that went
// while no manager ran stays: it can't be told from one of others.
func (r *Reconciler) ownDroplets(svc *v1.Service, lb *godo.LoadBalancer) map[int]bool {
	own := map[int]bool{}
	nodes, err := r.nodes.List(labels.Everything())
	if err != nil {
		return own // an informer's lister never fails
	}
	for _, node := range nodes {
		if id, err := providerid.Parse(node.Spec.ProviderID); err == nil {
			own[id] = true
		}
	}
	if agreed := r.recall(svc).agreed; agreed.id == lb.ID && agreed.settings != nil {
		for _, id := range agreed.settings.DropletIDs {
			own[id] = true
		}
	}
	return own
}

// release takes the cluster's droplets out of a load balancer of somebody else.
func (r *Reconciler) release(ctx context.Context, svc *v1.Service, spec annotation.Spec, lb *godo.LoadBalancer) error {
	desired := loadbalancer.Desired{Settings: settingsOf(lb)}
	desired.DropletIDs = r.beside(&work{svc: svc, spec: spec}, lb, nil)
	if lb.Tag == "" {
		if err := r.write(ctx, lb, desired); err != nil && !doapi.IsNotFound(err) {
			return &requestError{fmt.Sprintf("take the cluster's droplets out of load balancer %s", lb.ID), err}
		}
	}
	r.book.Changed(svc, "released "+lb.ID)
	klog.FromContext(ctx).Info("Released load balancer of somebody else", "service", klog.KObj(svc), "id", lb.ID, "name", lb.Name)
	r.recorder.Tell(svc, events.LoadBalancerRetained, fmt.Sprintf("Load balancer %s (%s) stays with its address %s, as %s says that it is somebody else's. The cluster's droplets were taken out.",
		lb.Name, lb.ID, addressText(lb), annotation.Manage))
	r.forget(svc)
	return nil
}
