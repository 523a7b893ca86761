package reconciler

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// locate finds the Service's load balancer: by the id that is known, or else
// among those with its names, provided that it was made for this very Service.
// It returns nil without an error when the API shows none.
func (r *Reconciler) locate(ctx context.Context, svc *v1.Service, spec annotation.Spec) (*godo.LoadBalancer, error) {
	for _, id := range r.knownIDs(svc, spec) {
		lb, _, err := r.api.Get(ctx, id)
		if err == nil && (lb == nil || lb.ID != id) {
			return nil, fmt.Errorf("get load balancer %s: the API answered with something else", id)
		}
		if err == nil {
			r.setID(svc, lb.ID)
			return lb, nil
		}
		if !doapi.IsNotFound(err) {
			return nil, &requestError{fmt.Sprintf("get load balancer %s", id), err}
		}
	}
	return r.locateByName(ctx, svc, spec)
}

// knownIDs are the ids under which the load balancer may be found, the most
// likely first.
func (r *Reconciler) knownIDs(svc *v1.Service, spec annotation.Spec) []string {
	var ids []string
	for _, id := range []string{spec.LoadBalancerID, r.id(svc)} {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (r *Reconciler) locateByName(ctx context.Context, svc *v1.Service, spec annotation.Spec) (*godo.LoadBalancer, error) {
	names := []string{loadbalancer.DefaultName(svc)}
	if spec.Name != "" {
		names = append(names, spec.Name)
	}
	found, err := doapi.ListAll(ctx, func(ctx context.Context, o *godo.ListOptions) ([]godo.LoadBalancer, *godo.Response, error) {
		return r.api.ListByNames(ctx, names, o)
	}, func(lb godo.LoadBalancer) string { return lb.ID })
	if err != nil {
		return nil, &requestError{fmt.Sprintf("list load balancers named %q", names), err}
	}
	for i := range found {
		if isOwn(svc, &found[i]) {
			r.setID(svc, found[i].ID)
			if spec.LoadBalancerID != found[i].ID {
				r.recorder.Tell(svc, events.LoadBalancerAdopted, fmt.Sprintf("Found load balancer %s (%s), which was made for this Service before.", found[i].Name, found[i].ID))
			}
			return &found[i], nil
		}
	}
	return nil, nil
}

// isOwn tells whether a load balancer was made for the Service: the default
// name and the tag both carry the Service's UID. A custom name proves nothing.
func isOwn(svc *v1.Service, lb *godo.LoadBalancer) bool {
	return lb.Name == loadbalancer.DefaultName(svc) || slices.Contains(lb.Tags, loadbalancer.ServiceTag(svc))
}

func (r *Reconciler) id(svc *v1.Service) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ids[svc.UID]
}

func (r *Reconciler) setID(svc *v1.Service, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id == "" {
		delete(r.ids, svc.UID)
		return
	}
	r.ids[svc.UID] = id
}

// remember writes the load balancer's id and type to the Service's annotations,
// in one patch, if they aren't there.
func (r *Reconciler) remember(ctx context.Context, svc *v1.Service, lb *godo.LoadBalancer) error {
	want := map[string]string{
		annotation.LoadBalancerID: lb.ID,
		annotation.Type:           orDefault(lb.Type, annotation.TypeRegional),
	}
	if svc.Annotations[annotation.Type] != "" {
		// The user's word stays, also where it asks for what can't be.
		delete(want, annotation.Type)
	}
	if svc.Annotations[annotation.LoadBalancerID] == lb.ID {
		delete(want, annotation.LoadBalancerID)
	}
	if len(want) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		// The UID keeps the patch from a Service that was re-created meanwhile.
		"uid": svc.UID, "annotations": want,
	}})
	if err != nil {
		return fmt.Errorf("encode annotations: %w", err)
	}
	if _, err := r.kube.CoreV1().Services(svc.Namespace).Patch(ctx, svc.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("write the load balancer's id %s to the Service: %w", lb.ID, err)
	}
	return nil
}

func (r *Reconciler) delete(ctx context.Context, svc *v1.Service, lb *godo.LoadBalancer) error {
	_, err := r.api.Delete(ctx, lb.ID)
	// It was there a moment ago with the same token: "not found" is success.
	if err != nil && !doapi.IsNotFound(err) {
		return &requestError{fmt.Sprintf("delete load balancer %s", lb.ID), err}
	}
	r.setID(svc, "")
	for _, reason := range []events.Reason{events.LoadBalancerCreated, events.LoadBalancerUpdated} {
		r.recorder.Forget(svc, reason)
	}
	klog.FromContext(ctx).Info("Deleted load balancer", "service", klog.KObj(svc), "id", lb.ID, "name", lb.Name)
	return nil
}
