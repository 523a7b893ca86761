package rivals

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/controller-manager/controller"
	"k8s.io/controller-manager/pkg/healthz"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/periodic"
)

// Name is the controller's name, by which --controllers chooses it.
const Name = "other-managers-controller"

const (
	// DefaultPeriod is how often is looked where nothing else is set.
	DefaultPeriod = time.Minute
	passTimeout   = 10 * time.Second
	// repeatAfter is when what lasts is told again.
	repeatAfter = 30 * time.Minute
)

// Options are what a Controller works with.
type Options struct {
	// Ledger knows this process's writes.
	Ledger *Ledger
	// Nodes and Services are the informers' listers. Without the record of who
	// wrote which fields they show no sign.
	Nodes    corelisters.NodeLister
	Services corelisters.ServiceLister
	Leases   coordinationclient.LeasesGetter
	// Foreign is the lease that other managers take and this one doesn't. Without
	// a name there is none: it is the own one.
	Foreign types.NamespacedName
	// Lease is the object on which is told.
	Lease    *v1.ObjectReference
	Recorder *events.Recorder
	Metrics  *Metrics
	// Period is the time between two looks; zero: [DefaultPeriod].
	Period time.Duration
	Clock  clock.WithTicker
}

// Controller looks for other managers. It implements [controller.Interface] and
// [controller.HealthCheckable].
type Controller struct {
	options Options
	loop    *periodic.Loop
	told    struct {
		who string
		at  time.Time
	}
}

var (
	_ controller.Interface       = (*Controller)(nil)
	_ controller.HealthCheckable = (*Controller)(nil)
)

// New makes a Controller, which works once [Controller.Run] does.
func New(o Options) *Controller {
	if o.Period == 0 {
		o.Period = DefaultPeriod
	}
	c := &Controller{options: o}
	c.loop = periodic.New(periodic.Options{Period: o.Period, Soon: true, Timeout: passTimeout, Clock: o.Clock, Work: c.look})
	return c
}

// Name implements [controller.Interface].
func (c *Controller) Name() string { return Name }

// Status tells what was done last. It is safe for concurrent use.
func (c *Controller) Status() periodic.Status { return c.loop.Status() }

// HealthChecker implements [controller.HealthCheckable].
func (c *Controller) HealthChecker() healthz.UnnamedHealthChecker { return c.loop }

// Run looks once a period until the context ends.
func (c *Controller) Run(ctx context.Context) {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithName(Name))
	c.options.Ledger.Begin()
	c.loop.Run(ctx)
}

// look looks once.
func (c *Controller) look(ctx context.Context) error {
	signs, err := c.writes()
	if err != nil {
		return err
	}
	held, err := c.held(ctx)
	if held != nil {
		signs = append(signs, *held)
	}
	c.options.Metrics.seen(signs)
	c.tell(ctx, signs)
	return err
}

// writes looks at what was written.
func (c *Controller) writes() ([]Sign, error) {
	o, t := c.options, c.options.Ledger.Times()
	nodes, err := o.Nodes.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list Nodes: %w", err)
	}
	services, err := o.Services.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list Services: %w", err)
	}
	var signs []Sign
	for _, node := range nodes {
		signs = append(signs, Writes("Node", "nodes", node, o.Ledger, t)...)
	}
	for _, svc := range services {
		signs = append(signs, Writes("Service", "services", svc, o.Ledger, t)...)
	}
	// Not what isn't in these lists: it may have come, and been written to, since.
	o.Ledger.Forget(t.Now.Add(-recent - settles))
	return signs, nil
}

// held looks at the lease that other managers take.
func (c *Controller) held(ctx context.Context) (*Sign, error) {
	name := c.options.Foreign
	if name.Name == "" {
		return nil, nil
	}
	lease, err := c.options.Leases.Leases(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the lease %s: %w", name, err)
	}
	return Held(lease, c.options.Ledger.Times().Now), nil
}

// tell tells what was seen: when it begins or is another's, each half hour that
// it lasts, and in the log when it ends. The times in the signs are no news.
func (c *Controller) tell(ctx context.Context, signs []Sign) {
	o, logger := c.options, klog.FromContext(ctx)
	who := names(signs)
	if who == "" {
		if c.told.who != "" {
			logger.Info("No other cloud controller manager is seen any more")
		}
		c.told.who = ""
		return
	}
	now := o.Clock.Now()
	if who == c.told.who && now.Sub(c.told.at) < repeatAfter {
		return
	}
	c.told.who, c.told.at = who, now
	what := Describe(signs)
	logger.Info("Another cloud controller manager works on this cluster", "signs", len(signs), "evidence", what)
	o.Recorder.Tell(o.Lease, events.AnotherManager, "Another cloud controller manager works on this cluster: "+what+
		". The two undo each other's work and share the token's quota. Stop one of them: look for its Pods in all namespaces, and on the machines of the control plane, then see docs/migration.md.")
}
