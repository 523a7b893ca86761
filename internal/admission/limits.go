package admission

import (
	"slices"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/limits"
	"digitalocean-cloud-controller-manager/internal/loadbalancer/reconciler"
)

// standingOf is what is known of the Service's load balancer. Only what cannot
// be written by who may only write Services proves that it is its own.
func standingOf(v *Verdict, req request, lb *godo.LoadBalancer) limits.Standing {
	switch {
	case lb == nil && v.Unchecked == "" && !v.foreign:
		return limits.None
	case lb == nil:
		return limits.Unproven
	case reconciler.IsOwn(req.svc, lb), lb.IP != "" && slices.ContainsFunc(req.svc.Status.LoadBalancer.Ingress, func(i v1.LoadBalancerIngress) bool { return i.IP == lb.IP }):
		return limits.Own
	}
	return limits.Unproven
}

// beyond is what the Service asks for and the operator's limits don't allow.
func (j *Judge) beyond(svc *v1.Service, spec annotation.Spec, standing limits.Standing) []annotation.Problem {
	if len(j.limits) == 0 {
		return nil
	}
	req := limits.Request{Service: svc, Spec: spec, Defaults: j.defaults, Standing: standing}
	if j.namespaces != nil {
		req.Namespace = j.labelsOf
	}
	if j.limits.NeedOthers() {
		all, err := j.services.List(labels.Everything())
		if err != nil {
			return nil // an informer's lister never fails
		}
		req.Others = limits.Others(svc, all, j.defaults, nil)
	}
	return j.limits.Check(req)
}

// labelsOf are a namespace's; none while it isn't known, which the manager
// checks again.
func (j *Judge) labelsOf(name string) labels.Set {
	namespace, err := j.namespaces.Get(name)
	if err != nil {
		return nil
	}
	return namespace.Labels
}
