// Package reconciler makes DigitalOcean's load balancers agree with Services:
// it reads both worlds, lets package loadbalancer decide, and writes the least
// that is needed. It implements the framework's LoadBalancer interface.
package reconciler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/keymutex"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// LoadBalancerAPI is the part of DigitalOcean's API that is used.
type LoadBalancerAPI interface {
	Get(context.Context, string) (*godo.LoadBalancer, *godo.Response, error)
	List(context.Context, *godo.ListOptions) ([]godo.LoadBalancer, *godo.Response, error)
	Create(context.Context, *godo.LoadBalancerRequest) (*godo.LoadBalancer, *godo.Response, error)
	Update(context.Context, string, *godo.LoadBalancerRequest) (*godo.LoadBalancer, *godo.Response, error)
	Delete(context.Context, string) (*godo.Response, error)
	AddDroplets(context.Context, string, ...int) (*godo.Response, error)
	RemoveDroplets(context.Context, string, ...int) (*godo.Response, error)
}

// syncTimeout bounds one sync of a Service: the framework sets no deadline.
const syncTimeout = 2 * time.Minute

// Reconciler implements [cloudprovider.LoadBalancer].
type Reconciler struct {
	api      LoadBalancerAPI
	list     *doapi.Lister[godo.LoadBalancer, string]
	droplets *inventory.Droplets
	kube     kubernetes.Interface
	services corelisters.ServiceLister
	recorder *events.Recorder
	defaults annotation.Defaults
	// cluster tells what all Services share. It fails while the region isn't
	// known yet.
	cluster func() (loadbalancer.Cluster, error)
	// locks serialise what is done for one Service: the framework ensures and
	// updates the same one at once.
	locks keymutex.KeyMutex

	mu sync.Mutex
	// ids are the load balancers of Services as this process made or found
	// them. The framework hands in Services that lack the annotation which was
	// written a moment ago.
	ids map[types.UID]string
}

var _ cloudprovider.LoadBalancer = (*Reconciler)(nil)

// Options are what a Reconciler works with.
type Options struct {
	API      LoadBalancerAPI
	Droplets *inventory.Droplets
	Kube     kubernetes.Interface
	Services corelisters.ServiceLister
	Recorder *events.Recorder
	Defaults annotation.Defaults
	Cluster  func() (loadbalancer.Cluster, error)
}

// lockBuckets is how many Services are worked on at once at most; two that
// share a bucket wait for each other.
const lockBuckets = 512

// New makes a Reconciler.
func New(o Options) *Reconciler {
	return &Reconciler{
		api: o.API, list: doapi.NewLister(o.API.List, func(lb godo.LoadBalancer) string { return lb.ID }), droplets: o.Droplets, kube: o.Kube, services: o.Services, recorder: o.Recorder,
		defaults: o.Defaults, cluster: o.Cluster,
		locks: keymutex.NewHashed(lockBuckets), ids: map[types.UID]string{},
	}
}

// GetLoadBalancerName returns the name of the Service's load balancer.
func (r *Reconciler) GetLoadBalancerName(_ context.Context, _ string, svc *v1.Service) string {
	spec, _ := annotation.Parse(svc, r.defaults)
	if spec.Name != "" {
		return spec.Name
	}
	return loadbalancer.DefaultName(svc)
}

// GetLoadBalancer tells whether the Service has a load balancer. False lets
// the framework drop the Service's finalizer, so it rests on the API's
// definite word. A disowned load balancer is none of ours.
func (r *Reconciler) GetLoadBalancer(ctx context.Context, _ string, svc *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	ctx, done := r.begin(ctx, svc)
	defer done()
	spec, _ := annotation.Parse(svc, r.defaults)
	if spec.Disowned {
		r.recorder.Tell(svc, events.LoadBalancerDisowned, "The load balancer is left alone, as the annotation "+annotation.Disown+" asks for.")
		return nil, false, nil
	}
	lb, err := r.locate(ctx, svc, spec)
	if isForeign(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if lb == nil {
		// The API shows no load balancer; it must be our API.
		if err := r.vouch(ctx, svc, spec); err != nil {
			return nil, false, fmt.Errorf("no load balancer is found, which is not believed: %w", err)
		}
		r.setID(svc, "")
		return nil, false, nil
	}
	status, _ := loadbalancer.Status(svc, addressesOf(lb))
	return status, true, nil
}

// EnsureLoadBalancer makes the Service's load balancer as the Service wants
// it, and returns its addresses.
func (r *Reconciler) EnsureLoadBalancer(ctx context.Context, _ string, svc *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	ctx, done := r.begin(doapi.WithPriority(ctx, doapi.Urgent), svc)
	defer done()
	status, err := r.ensure(ctx, svc, nodes)
	if err != nil {
		return nil, r.report(ctx, svc, err)
	}
	r.recorder.Forget(svc, events.LoadBalancerRequestFailed)
	return status, nil
}

// UpdateLoadBalancer brings the backends up to date. It never makes a load
// balancer.
func (r *Reconciler) UpdateLoadBalancer(ctx context.Context, _ string, svc *v1.Service, nodes []*v1.Node) error {
	ctx, done := r.begin(ctx, svc)
	defer done()
	spec, problems := annotation.Parse(svc, r.defaults)
	if spec.Disowned || len(problems) > 0 {
		return nil // told by EnsureLoadBalancer
	}
	lb, err := r.locate(ctx, svc, spec)
	if isForeign(err) {
		return nil // told by EnsureLoadBalancer
	}
	if err != nil {
		return err
	}
	if lb == nil || isPending(lb) {
		return nil // EnsureLoadBalancer is at it
	}
	desired, err := r.desire(ctx, svc, spec, nodes, time.Now().Add(-backendAge))
	var invalid *invalidError
	if errors.As(err, &invalid) {
		return nil // told by EnsureLoadBalancer
	}
	if err != nil {
		return err
	}
	return r.withFreshBackends(ctx, svc, spec, nodes, desired, func(d loadbalancer.Desired) error {
		return r.update(ctx, svc, lb, d)
	})
}

// EnsureLoadBalancerDeleted deletes the Service's load balancer. It reads
// nothing of the Service but its identity, so that a broken annotation never
// stands in the way.
func (r *Reconciler) EnsureLoadBalancerDeleted(ctx context.Context, _ string, svc *v1.Service) error {
	ctx, done := r.begin(doapi.WithPriority(ctx, doapi.Urgent), svc)
	defer done()
	spec, _ := annotation.Parse(svc, r.defaults)
	if spec.Disowned {
		return nil
	}
	lb, err := r.locate(ctx, svc, spec)
	if isForeign(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if lb == nil {
		return r.vouch(ctx, svc, spec)
	}
	if err := r.delete(ctx, svc, lb); err != nil {
		return r.report(ctx, svc, err)
	}
	return nil
}

// begin bounds the work for one Service and waits for its turn.
func (r *Reconciler) begin(ctx context.Context, svc *v1.Service) (context.Context, func()) {
	r.locks.LockKey(string(svc.UID))
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	return ctx, func() {
		cancel()
		_ = r.locks.UnlockKey(string(svc.UID)) // it can't fail
	}
}
