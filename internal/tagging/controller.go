package tagging

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/controller-manager/controller"
	"k8s.io/controller-manager/pkg/healthz"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/periodic"
)

// Name is the controller's name, by which --controllers chooses it.
const Name = "cluster-tag-controller"

// DefaultPeriod is the time between two passes where none is set.
const DefaultPeriod = 15 * time.Minute

const (
	// defaultMaxAge is a little more than the default period of the looks for
	// drift, whose lists then serve here as well.
	defaultMaxAge = 6 * time.Minute
	// writeLag is how long after a write a list may still lack it.
	writeLag = time.Minute
	// passTimeout bounds one pass.
	passTimeout = 2 * time.Minute
)

// Options are what a Controller works with.
type Options struct {
	API       API
	Balancers *inventory.LoadBalancers
	// Services is the shared informer. New asks for it at once, so it is started
	// with its factory.
	Services coreinformers.ServiceInformer
	// Cluster tells the cluster's id, without which nothing is tagged. An error
	// puts the pass off.
	Cluster  func() (loadbalancer.Cluster, error)
	Defaults annotation.Defaults
	// Metrics may be nil.
	Metrics *Metrics
	// Period is the time between two passes, and how long the mark of a load
	// balancer stays at least. Zero: [DefaultPeriod].
	Period time.Duration
	// MaxAge is how old the list of load balancers may be. Zero: six minutes.
	MaxAge time.Duration
	Clock  clock.WithTicker
}

// Controller tags load balancers once a period. It implements
// [controller.Interface] and [controller.HealthCheckable].
type Controller struct {
	options  Options
	services corelisters.ServiceLister
	synced   cache.InformerSynced
	memory   memory

	loop *periodic.Loop

	mu       sync.Mutex
	departed departed
}

var (
	_ controller.Interface       = (*Controller)(nil)
	_ controller.HealthCheckable = (*Controller)(nil)
)

// New makes a Controller, which works once [Controller.Run] does.
func New(o Options) (*Controller, error) {
	o.Period = cmp.Or(o.Period, DefaultPeriod)
	o.MaxAge = cmp.Or(o.MaxAge, defaultMaxAge)
	c := &Controller{options: o, services: o.Services.Lister(), memory: newMemory(), departed: newDeparted()}
	registration, err := o.Services.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: c.serviceDeleted})
	if err != nil {
		return nil, fmt.Errorf("watch Services: %w", err)
	}
	c.synced = registration.HasSynced
	c.loop = periodic.New(periodic.Options{
		Period: o.Period, Soon: true, Timeout: passTimeout, Clock: o.Clock, Work: c.pass, Done: c.passed,
	})
	return c, nil
}

// Name implements [controller.Interface].
func (c *Controller) Name() string { return Name }

// Status tells what was done last. It is safe for concurrent use.
func (c *Controller) Status() periodic.Status { return c.loop.Status() }

// Run makes passes until the context ends. The first comes after a random part
// of the period, so that the clusters of an account don't come all at once.
func (c *Controller) Run(ctx context.Context) {
	logger := klog.FromContext(ctx).WithName(Name)
	ctx = doapi.WithPriority(klog.NewContext(ctx, logger), doapi.Background)
	if cache.WaitForCacheSync(ctx.Done(), c.synced) {
		c.loop.Run(ctx)
	}
}

// passed tells of a pass that ended. What failed is tried again with the next.
func (c *Controller) passed(ctx context.Context, err error) {
	c.options.Metrics.passed(err)
	if err != nil {
		klog.FromContext(ctx).Info("Tagging failed, and is tried again with the next pass", "err", err.Error(), "requestID", doapi.RequestID(err))
	}
}

// disowned tells whether the manager must leave the Service's load balancer
// alone.
func (c *Controller) disowned(svc *v1.Service) bool {
	spec, _ := annotation.Parse(svc, c.options.Defaults)
	return spec.Disowned
}

// backendsOnly tells whether the manager may write nothing of the Service's load
// balancer but its backends.
func (c *Controller) backendsOnly(svc *v1.Service) bool {
	spec, _ := annotation.Parse(svc, c.options.Defaults)
	return spec.Manage == annotation.ManageBackends
}

// HealthChecker implements [controller.HealthCheckable]. It fails for a loop
// that is stuck alone.
func (c *Controller) HealthChecker() healthz.UnnamedHealthChecker { return c.loop }
