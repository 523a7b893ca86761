package reconciler

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// NodeHandler has Services looked at again whose selector decides otherwise on a
// Node since its labels changed, which the framework doesn't watch. It goes to
// the informer of [Options.Nodes]. Nodes that come and go are the framework's to
// tell of.
func (r *Reconciler) NodeHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{UpdateFunc: func(before, now any) {
		was, isNode := before.(*v1.Node)
		is, stillNode := now.(*v1.Node)
		if isNode && stillNode && !maps.Equal(was.Labels, is.Labels) {
			r.relabelled(was, is)
		}
	}}
}

func (r *Reconciler) relabelled(was, is *v1.Node) {
	all, err := r.services.List(labels.Everything())
	if err != nil {
		return // an informer's lister never fails
	}
	for _, svc := range all {
		if !isOurs(svc) {
			continue
		}
		spec, _ := annotation.Parse(svc, r.defaults)
		if spec.NodeSelector != "" && loadbalancer.Selects(spec, was.Labels) != loadbalancer.Selects(spec, is.Labels) {
			r.again.gather(keyOf(svc))
		}
	}
}
