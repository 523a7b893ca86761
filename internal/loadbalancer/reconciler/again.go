package reconciler

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	servicehelpers "k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/doapi"
)

// waitUnknown is until a failure that tells nothing of its end is tried again.
const waitUnknown = 30 * time.Second

// syncAgain is the own queue's work: what EnsureLoadBalancer does, on the
// Service as it is now, with the status written as the framework would.
func (r *Reconciler) syncAgain(ctx context.Context, key types.NamespacedName) {
	svc, err := r.services.Services(key.Namespace).Get(key.Name)
	if err != nil || !isOurs(svc) {
		return // gone, or the framework's to clean up
	}
	logger := klog.FromContext(ctx).WithValues("service", key)
	status, err := r.ensureAgain(ctx, svc)
	if err == nil {
		r.settled(svc)
		err = r.writeStatus(ctx, svc, status)
		if err == nil {
			return
		}
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			logger.Error(err, "Status of the Service can't be written")
		}
		r.again.after(key, waitUnknown)
		return
	}
	next := r.report(ctx, svc, err)
	if next.wait == 0 {
		logger.V(2).Info("Sync of the Service failed", "err", err)
		next.wait = waitUnknown
	}
	r.postpone(svc, next)
	r.again.after(key, next.wait)
}

func (r *Reconciler) ensureAgain(ctx context.Context, svc *v1.Service) (status *v1.LoadBalancerStatus, err error) {
	ctx, done := r.begin(doapi.WithPriority(ctx, priorityOf(svc)), svc, &err)
	defer done()
	return r.ensure(ctx, svc)
}

// isAwaited tells whether somebody waits for the Service's first address.
func isAwaited(svc *v1.Service) bool { return len(svc.Status.LoadBalancer.Ingress) == 0 }

func priorityOf(svc *v1.Service) doapi.Priority {
	if isAwaited(svc) {
		return doapi.Urgent
	}
	return doapi.Normal
}

func (r *Reconciler) isUrgent(key types.NamespacedName) bool {
	svc, err := r.services.Services(key.Namespace).Get(key.Name)
	return err == nil && isAwaited(svc)
}

// isOurs tells whether the framework's service controller has taken the Service
// on and not begun to let it go.
func isOurs(svc *v1.Service) bool { return isWanted(svc) && servicehelpers.HasLBFinalizer(svc) }

// isWanted tells whether the Service is one that the framework's service
// controller takes on. It may have done so already where the lister shows no
// finalizer: that lags behind what the framework wrote.
func isWanted(svc *v1.Service) bool {
	return svc.Spec.Type == v1.ServiceTypeLoadBalancer && svc.Spec.LoadBalancerClass == nil && svc.DeletionTimestamp == nil
}
