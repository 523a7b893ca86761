package reconciler

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// locate finds the Service's load balancer, never another Service's: by the id
// that is known, or else the one that was made for this very Service.
// It returns nil without an error when the API shows none, and a [*foreignError]
// when the one that the Service names belongs to another.
func (r *Reconciler) locate(ctx context.Context, svc *v1.Service, spec annotation.Spec) (*godo.LoadBalancer, error) {
	var foreign error
	for _, id := range r.knownIDs(svc, spec) {
		lb, _, err := r.api.Get(ctx, id)
		if err == nil && (lb == nil || lb.ID != id) {
			return nil, fmt.Errorf("get load balancer %s: the API answered with something else", id)
		}
		if err == nil {
			if owner := r.ownerBefore(svc, lb); owner != nil {
				foreign = &foreignError{id, owner}
				continue
			}
			r.setID(svc, lb.ID)
			return lb, nil
		}
		if !doapi.IsNotFound(err) {
			return nil, &requestError{fmt.Sprintf("get load balancer %s", id), err}
		}
	}
	lb, err := r.locateByMark(ctx, svc, spec)
	if lb == nil && err == nil {
		return nil, foreign
	}
	return lb, err
}

// ownerBefore returns another Service to which the load balancer belongs rather
// than to this one: the Service that it was made for, or of those that name its
// id the oldest.
func (r *Reconciler) ownerBefore(svc *v1.Service, lb *godo.LoadBalancer) *v1.Service {
	if isOwn(svc, lb) {
		return nil
	}
	all, err := r.services.List(labels.Everything())
	if err != nil {
		return nil // an informer's lister never fails
	}
	var oldest *v1.Service
	for _, other := range all {
		if other.UID == svc.UID || other.Spec.Type != v1.ServiceTypeLoadBalancer {
			continue
		}
		if isOwn(other, lb) {
			return other
		}
		claims := other.Annotations[annotation.LoadBalancerID] == lb.ID || r.id(other) == lb.ID
		if claims && isOlder(other, svc) && (oldest == nil || isOlder(other, oldest)) {
			oldest = other
		}
	}
	return oldest
}

func isOlder(a, b *v1.Service) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.UID < b.UID
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
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

// locateByMark searches all load balancers for the one that was made for the
// Service, whatever its name is now. A list of all costs the same one call as a
// list by name, unless there are more than 200.
func (r *Reconciler) locateByMark(ctx context.Context, svc *v1.Service, spec annotation.Spec) (*godo.LoadBalancer, error) {
	all, err := r.list.All(ctx)
	if err != nil {
		return nil, &requestError{"list load balancers", err}
	}
	for i := range all {
		if !isOwn(svc, &all[i]) {
			continue
		}
		r.setID(svc, all[i].ID)
		if spec.LoadBalancerID != all[i].ID {
			r.recorder.Tell(svc, events.LoadBalancerAdopted, fmt.Sprintf("Found load balancer %s (%s), which was made for this Service before.", all[i].Name, all[i].ID))
		}
		return &all[i], nil
	}
	return nil, nil
}

// isOwn tells whether a load balancer was made for the Service: the default
// name and the tag both carry the Service's UID. A custom name proves nothing.
func isOwn(svc *v1.Service, lb *godo.LoadBalancer) bool {
	return lb.Name == loadbalancer.DefaultName(svc) || slices.Contains(lb.Tags, loadbalancer.ServiceTag(svc))
}

// vouch makes sure that the API which shows no load balancer of the Service is
// the one that would. A Service that never had one needs less: nothing is lost.
func (r *Reconciler) vouch(ctx context.Context, svc *v1.Service, spec annotation.Spec) error {
	hadNone := spec.LoadBalancerID == "" && len(svc.Status.LoadBalancer.Ingress) == 0
	return r.droplets.Vouch(ctx, hadNone || r.id(svc) != "")
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
	want := map[string]any{
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
	if err := r.annotate(ctx, svc, want); err != nil {
		return fmt.Errorf("write the load balancer's id %s to the Service: %w", lb.ID, err)
	}
	return nil
}

// annotate sets annotations of a Service, or removes those that are nil.
func (r *Reconciler) annotate(ctx context.Context, svc *v1.Service, annotations map[string]any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		// The UID keeps the patch from a Service that was re-created meanwhile.
		"uid": svc.UID, "annotations": annotations,
	}})
	if err != nil {
		return fmt.Errorf("encode annotations: %w", err)
	}
	_, err = r.kube.CoreV1().Services(svc.Namespace).Patch(ctx, svc.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func (r *Reconciler) delete(ctx context.Context, svc *v1.Service, lb *godo.LoadBalancer) error {
	_, err := r.api.Delete(ctx, lb.ID)
	// It was there a moment ago with the same token: "not found" is success.
	if err != nil && !doapi.IsNotFound(err) {
		return &requestError{fmt.Sprintf("delete load balancer %s", lb.ID), err}
	}
	r.setID(svc, "")
	if svc.DeletionTimestamp == nil {
		// The Service stays, as another type: an id that leads nowhere would
		// be told as a loss when it becomes a load balancer again.
		if err := r.annotate(ctx, svc, map[string]any{annotation.LoadBalancerID: nil}); err != nil {
			return err
		}
	}
	for _, reason := range []events.Reason{events.LoadBalancerCreated, events.LoadBalancerUpdated} {
		r.recorder.Forget(svc, reason)
	}
	klog.FromContext(ctx).Info("Deleted load balancer", "service", klog.KObj(svc), "id", lb.ID, "name", lb.Name)
	return nil
}
