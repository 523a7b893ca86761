package firewall

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/controller-manager/controller"
	"k8s.io/controller-manager/pkg/healthz"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/events"
)

// ControllerName is the name by which --controllers chooses the controller.
const ControllerName = "public-access-firewall-controller"

const (
	// defaultInterval is how often the firewall is checked against the API.
	defaultInterval = 5 * time.Minute
	// passTimeout bounds one run.
	passTimeout = time.Minute
	// stuckAfter is how long a run may last before the loop counts as stuck.
	stuckAfter = 5 * passTimeout
	// syncPatience is how long the cache of Services may take before that is
	// logged, again and again.
	syncPatience = time.Minute
	// Waits after a failure that tells nothing of its end. The longest leaves a
	// port closed for less than a minute after the API works again.
	firstBackoff, lastBackoff = 2 * time.Second, 45 * time.Second
)

// Options are what a Controller works with.
type Options struct {
	API API
	// Services is the shared informer. New asks for it at once, so it is started
	// with its factory.
	Services coreinformers.ServiceInformer
	Recorder *events.Recorder
	// Object is what events about the firewall as a whole are on, usually the
	// manager's lease.
	Object runtime.Object
	// Metrics may be nil.
	Metrics *Metrics
	// Identity is which firewall is managed. Two spellings of one tag are one.
	Identity Identity
	Settings Settings
	// Interval is how often the firewall is checked; 0: every 5 minutes.
	Interval time.Duration
	// Vouch makes sure, before a firewall is made, that the API which shows none
	// is this cluster's: the token may be another team's. It may be nil.
	Vouch func(context.Context) error
	Clock clock.WithTicker
}

// Controller keeps the firewall. One goroutine does all of its work.
type Controller struct {
	calls    *calls
	services corelisters.ServiceLister
	synced   cache.InformerSynced
	recorder *events.Recorder
	object   runtime.Object
	metrics  *Metrics
	identity Identity
	settings Settings
	interval time.Duration
	vouch    func(context.Context) error
	clock    clock.WithTicker

	queue    workqueue.TypedDelayingInterface[string]
	backoff  workqueue.TypedRateLimiter[string]
	gathered gathering
	// memory is the worker's alone.
	memory memory

	mu sync.Mutex
	// begun is since when a run goes on; zero: none does.
	begun  time.Time
	status Status
}

var (
	_ controller.Interface       = (*Controller)(nil)
	_ controller.HealthCheckable = (*Controller)(nil)
)

// Status is what the controller did last.
type Status struct {
	// ID is the firewall's; empty: not known yet.
	ID string
	// Checked is when the firewall was last known to be as it must be.
	Checked time.Time
	// Error is why the last run failed; empty: it didn't.
	Error string
	// Next is when the firewall is looked at again unless a Service changes.
	Next time.Time
	// Rules and Targets are what the firewall uses of DigitalOcean's limits.
	Rules, Targets int
	// LeftOut are Services whose ports are not opened for want of room.
	LeftOut []types.NamespacedName
}

// item is the one thing to do.
const item = "firewall"

// New makes a controller, which works once [Controller.Run] does.
func New(o Options) (*Controller, error) {
	if o.Interval == 0 {
		o.Interval = defaultInterval
	}
	c := &Controller{
		calls:    newCalls(o.API, o.Metrics, o.Clock),
		services: o.Services.Lister(), recorder: o.Recorder, object: o.Object, metrics: o.Metrics,
		identity: o.Identity, settings: o.Settings, interval: o.Interval, vouch: o.Vouch, clock: o.Clock,
		queue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{
			Name: ControllerName, Clock: o.Clock,
		}),
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstBackoff, lastBackoff),
		memory:  memory{gone: map[string]time.Time{}},
	}
	registration, err := o.Services.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { c.serviceChanged(nil, object) },
		UpdateFunc: c.serviceChanged,
		DeleteFunc: func(object any) { c.serviceChanged(object, nil) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch Services: %w", err)
	}
	c.synced = registration.HasSynced
	return c, nil
}

// Name implements the framework's controller.Interface.
func (c *Controller) Name() string { return ControllerName }

// HealthChecker implements the framework's controller.HealthCheckable. The check
// fails for a loop that is stuck only: for the API's troubles a restart is no
// cure.
func (c *Controller) HealthChecker() healthz.UnnamedHealthChecker { return checker{c} }

type checker struct{ *Controller }

func (c checker) Check(*http.Request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun.IsZero() && c.clock.Since(c.begun) > stuckAfter {
		return fmt.Errorf("the firewall has been worked on since %s", c.begun.UTC().Format(time.RFC3339))
	}
	return nil
}

// Status tells what was done last.
func (c *Controller) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// serviceChanged has the firewall looked at once changes have stopped coming.
func (c *Controller) serviceChanged(before, after any) {
	was, hadOne := before.(*v1.Service)
	is, hasOne := after.(*v1.Service)
	switch {
	case hadOne && hasOne && was.ResourceVersion == is.ResourceVersion:
		return // a resync of the informer
	case hadOne && hasOne && !concerns(was) && !concerns(is), !hadOne && hasOne && !concerns(is), hadOne && !hasOne && !concerns(was):
		return
	}
	c.queue.AddAfter(item, c.gathered.change(c.clock.Now()))
}

// Run keeps the firewall until the context ends.
func (c *Controller) Run(ctx context.Context) {
	logger := klog.FromContext(ctx).WithValues("controller", ControllerName, "firewall", c.identity.Name)
	ctx = klog.NewContext(ctx, logger)
	stop := context.AfterFunc(ctx, c.queue.ShutDown)
	defer stop()
	defer c.queue.ShutDown()
	if !c.waitForServices(ctx) {
		return
	}
	logger.Info("Started", "tags", c.identity.Tags)
	c.queue.Add(item)
	for c.next(ctx) {
	}
}

// waitForServices waits for a whole list: without one, ports of Services that
// exist would be closed.
func (c *Controller) waitForServices(ctx context.Context) bool {
	for {
		patience, cancel := context.WithTimeout(ctx, syncPatience)
		synced := cache.WaitForCacheSync(patience.Done(), c.synced)
		cancel()
		if synced || ctx.Err() != nil {
			return synced
		}
		klog.FromContext(ctx).Error(errors.New("no list of Services yet"), "The firewall is not kept: the manager may lack the right to list and watch Services")
	}
}

// next does what is due. Each run ends with the item in the queue again,
// whatever came of it.
func (c *Controller) next(ctx context.Context) bool {
	key, stopped := c.queue.Get()
	if stopped {
		return false
	}
	defer c.queue.Done(key)
	if c.ready() == 0 {
		c.run(ctx)
	}
	c.queue.AddAfter(key, max(c.ready(), time.Millisecond))
	return true
}

// ready is how long until there is something to do; 0: there is now.
func (c *Controller) ready() time.Duration {
	at := c.memory.due
	if changes, ok := c.gathered.due(); ok && changes.Before(at) {
		at = changes
	}
	if at.Before(c.memory.closed) {
		at = c.memory.closed
	}
	return max(at.Sub(c.clock.Now()), 0)
}
