package reconciler

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// TagAPI is the part of DigitalOcean's API that takes tags off.
type TagAPI interface {
	UntagResources(context.Context, string, *godo.UntagResourcesRequest) (*godo.Response, error)
}

// retain lets a load balancer go without deleting it. It gets no more traffic
// to the cluster, whose node ports may be another Service's soon, and loses the
// marks by which it would be taken for forgotten.
func (r *Reconciler) retain(ctx context.Context, svc *v1.Service, spec annotation.Spec, lb *godo.LoadBalancer) error {
	bare := loadbalancer.Desired{Settings: settingsOf(lb)}
	bare.Tag, bare.DropletIDs = "", nil
	err := r.write(ctx, lb, bare)
	if doapi.IsNotFound(err) {
		r.forget(svc)
		return nil // there is nothing to keep
	}
	if err != nil {
		return &requestError{fmt.Sprintf("take the droplets out of load balancer %s, which is kept", lb.ID), err}
	}
	r.unmark(ctx, svc, lb)
	r.book.Changed(svc, "kept "+lb.ID)
	klog.FromContext(ctx).Info("Kept load balancer of a Service that goes", "service", klog.KObj(svc), "id", lb.ID, "name", lb.Name)
	r.recorder.Tell(svc, events.LoadBalancerRetained, fmt.Sprintf("Load balancer %s (%s) stays with its address %s, as %s. Its droplets were taken out. To use it again, set %s: %q on a Service; if it isn't needed any more, delete it: it costs money.",
		lb.Name, lb.ID, addressText(lb), whyRetained(svc, spec), annotation.LoadBalancerID, lb.ID))
	r.forget(svc)
	return nil
}

func whyRetained(svc *v1.Service, spec annotation.Spec) string {
	if spec.RetainUnsure {
		return fmt.Sprintf("the Service's class %q, which may ask for that, isn't in the manager's configuration", svc.Annotations[annotation.Class])
	}
	return annotation.RetainOnDelete + " asks for"
}

func addressText(lb *godo.LoadBalancer) string {
	known := slices.DeleteFunc(addressesOf(lb), func(address string) bool { return address == "" })
	if len(known) == 0 {
		return "(none yet)"
	}
	return strings.Join(known, " and ")
}

// unmark takes the cluster's and the Service's mark off. What fails leaves a
// load balancer that is told of as an orphan, which is no harm.
func (r *Reconciler) unmark(ctx context.Context, svc *v1.Service, lb *godo.LoadBalancer) {
	if r.tags == nil {
		return
	}
	cluster, err := r.cluster()
	marks := append(loadbalancer.ClusterTags(cluster), loadbalancer.ServiceTag(svc))
	for _, mark := range marks {
		if err == nil && slices.Contains(lb.Tags, mark) {
			_, err = r.tags.UntagResources(ctx, mark, &godo.UntagResourcesRequest{
				Resources: []godo.Resource{{ID: lb.ID, Type: godo.LoadBalancerResourceType}},
			})
		}
	}
	if err != nil {
		klog.FromContext(ctx).Info("The marks of a load balancer that is kept can't be taken off; it may be told of as an orphan", "id", lb.ID, "err", doapi.Message(err))
	}
	r.balancers.Doubt(lb.ID)
}
