package reconciler

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// remember writes the load balancer's id and type to the Service's annotations,
// and the version of the defaults that it follows, in one patch, if they aren't
// there. The version tells that this manager has worked on the load balancer's
// settings, so it is missing until the first contact is over, and where only the
// backends are the manager's. So is the mark of ciphers that were asked for.
func (r *Reconciler) remember(ctx context.Context, w *work, lb *godo.LoadBalancer) error {
	want := toRemember(w, lb)
	if len(want) == 0 {
		return nil
	}
	if err := r.annotate(ctx, w.svc, want); err != nil {
		return fmt.Errorf("write the load balancer's id %s to the Service: %w", lb.ID, err)
	}
	return nil
}

// toRemember are the annotations that the Service lacks, and nil for those that it
// is to lose.
func toRemember(w *work, lb *godo.LoadBalancer) map[string]any {
	svc, want := w.svc, map[string]any{}
	if svc.Annotations[annotation.LoadBalancerID] != lb.ID {
		want[annotation.LoadBalancerID] = lb.ID
	}
	values := map[string]string{annotation.Type: typeOf(lb)}
	switch {
	case w.spec.Manage == annotation.ManageBackends:
		if svc.Annotations[annotation.DefaultsVersion] != "" && !loadbalancer.HasTag(lb.Tags, loadbalancer.ServiceTag(svc)) {
			want[annotation.DefaultsVersion] = nil // it is of another load balancer
		}
	case !w.adopting:
		values[annotation.DefaultsVersion] = strconv.Itoa(loadbalancer.VersionOf(svc))
	}
	if marksCiphers(w, lb) {
		want[annotation.StrongCiphers] = lb.ID
	}
	for key, value := range values {
		// The user's word stays, also where it asks for what can't be.
		if svc.Annotations[key] == "" {
			want[key] = value
		}
	}
	return want
}

// annotate sets annotations of a Service, or removes those that are nil.
func (r *Reconciler) annotate(ctx context.Context, svc *v1.Service, annotations map[string]any) error {
	return r.patch(ctx, svc, map[string]any{"metadata": map[string]any{"uid": svc.UID, "annotations": annotations}})
}

// patch merges fields into a Service. They hold its UID, which keeps them from
// one that was re-created meanwhile.
func (r *Reconciler) patch(ctx context.Context, svc *v1.Service, fields map[string]any, subresources ...string) error {
	patch, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("encode a change of the Service: %w", err)
	}
	_, err = r.kube.CoreV1().Services(svc.Namespace).Patch(ctx, svc.Name, types.MergePatchType, patch, metav1.PatchOptions{}, subresources...)
	return err
}
