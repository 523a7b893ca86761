package reconciler

import (
	"encoding/json"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	servicehelpers "k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/rehearsal"
)

// rehearses tells whether nothing is to be written for the Service: it asks for
// that, or the whole manager only observes.
func (r *Reconciler) rehearses(spec annotation.Spec) bool { return spec.DryRun || r.rehearsal != nil }

// observe notes what would be written for the Service by a manager that only
// observes. The status stays as it is.
func (r *Reconciler) observe(w *work, lb *godo.LoadBalancer, plan []string, isSettled bool, problems []annotation.Problem) (*v1.LoadBalancerStatus, error) {
	name := klog.KObj(w.svc).String()
	if isSettled {
		r.rehearsal.Settled(rehearsal.KindLoadBalancer, name)
	} else {
		r.rehearsal.Note(rehearsal.KindLoadBalancer, name, loadbalancer.JoinPlan(plan, "; ", maxPlanEvent))
	}
	if len(problems) > 0 {
		return nil, &invalidError{problems, lb == nil}
	}
	if lb != nil {
		r.observeService(w, lb, name)
	}
	return w.svc.Status.LoadBalancer.DeepCopy(), nil
}

// observeService notes the annotations that would be written, and the status.
func (r *Reconciler) observeService(w *work, lb *godo.LoadBalancer, name string) {
	would := map[string]any{}
	if annotations := toRemember(w, lb); len(annotations) > 0 {
		would["annotations"] = annotations
	}
	if status := r.show(w, lb, settingsOf(lb)); !servicehelpers.LoadBalancerStatusEqual(&w.svc.Status.LoadBalancer, status) {
		would["status"] = status
	}
	if len(would) == 0 {
		r.rehearsal.Settled(rehearsal.KindService, name)
		return
	}
	text, err := json.Marshal(would)
	if err != nil {
		text = []byte(err.Error())
	}
	r.rehearsal.Note(rehearsal.KindService, name, string(text))
}

// rehearseRemoval notes what would become of the load balancer of a Service that
// is deleted.
func (r *Reconciler) rehearseRemoval(svc *v1.Service, spec annotation.Spec, lb *godo.LoadBalancer) {
	what := "delete load balancer " + lb.ID
	switch {
	case spec.Manage == annotation.ManageBackends:
		what = "take the cluster's droplets out of load balancer " + lb.ID
	case spec.RetainOnDelete:
		what = "keep load balancer " + lb.ID + ", and take its droplets out"
	}
	r.rehearsal.Note(rehearsal.KindLoadBalancer, klog.KObj(svc).String(), what)
}
