package reconciler

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// NodeHandler has Services looked at again for which the backends change: all of
// them where a Node comes, goes, or begins or ceases to be one, and those with a
// selector that decides otherwise since its labels changed. It goes to the
// informer of [Options.Nodes]. The Nodes that were there at the start are told of
// by the Services, which are all new to the process then.
func (r *Reconciler) NodeHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, isInInitialList bool) {
			if node, ok := object.(*v1.Node); ok && !isInInitialList && node.Spec.ProviderID != "" {
				r.nodesChanged()
			}
		},
		UpdateFunc: func(before, now any) {
			was, isNode := before.(*v1.Node)
			is, stillNode := now.(*v1.Node)
			switch {
			case !isNode || !stillNode:
			case was.Spec.ProviderID != is.Spec.ProviderID || exclusion(was) != exclusion(is):
				r.nodesChanged()
			case !maps.Equal(was.Labels, is.Labels):
				r.relabelled(was, is)
			}
		},
		DeleteFunc: func(any) { r.nodesChanged() },
	}
}

// nodesChanged has the backends of all Services brought up to date.
func (r *Reconciler) nodesChanged() {
	r.shared.nodesChanged()
	for _, svc := range r.allServices() {
		if isWanted(svc) {
			r.again.gather(keyOf(svc))
		}
	}
}

func (r *Reconciler) relabelled(was, is *v1.Node) {
	r.shared.nodesChanged()
	for _, svc := range r.allServices() {
		if !isWanted(svc) {
			continue
		}
		spec, _ := annotation.Parse(svc, r.defaults)
		if spec.NodeSelector != "" && loadbalancer.Selects(spec, was.Labels) != loadbalancer.Selects(spec, is.Labels) {
			r.again.gather(keyOf(svc))
		}
	}
}

func (r *Reconciler) allServices() []*v1.Service {
	all, err := r.services.List(labels.Everything())
	if err != nil {
		return nil // an informer's lister never fails
	}
	return all
}
