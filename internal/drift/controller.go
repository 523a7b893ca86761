// Package drift finds what changed at DigitalOcean behind the manager's back: in
// its console, or by another tool. The framework never looks again at what it
// has made; this controller does, once a period.
package drift

import (
	"context"
	"errors"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"k8s.io/controller-manager/controller"
	"k8s.io/controller-manager/pkg/healthz"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/periodic"
)

// Name is the controller's name, by which --controllers chooses it.
const Name = "drift-controller"

// DefaultPeriod is how often is looked where nothing else is set.
const DefaultPeriod = 5 * time.Minute

// passTimeout bounds one look at everything.
const passTimeout = 2 * time.Minute

// LoadBalancers looks at all load balancers at once.
type LoadBalancers interface {
	// CheckDrift reads all load balancers, has those synced that differ from
	// their Service or are missing, and returns those that carry the cluster's
	// mark and belong to no Service.
	CheckDrift(context.Context) (orphans []*godo.LoadBalancer, err error)
}

// Options are what a Controller works with.
type Options struct {
	// Period is the time between two looks. Zero or less: there are none.
	Period time.Duration
	// LoadBalancers is nil where load balancers are not the manager's: when the
	// framework's service controller is off.
	LoadBalancers LoadBalancers
	// Checks are made after the load balancers', each whatever comes of the
	// others. They must heed their context's deadline.
	Checks []func(context.Context) error
	// HasSynced tells whether the informers know all Services and Nodes. Until
	// then there is no look: what is not known yet would look orphaned.
	HasSynced func() bool
	// Lease is the object on which is told what concerns no Service.
	Lease    *v1.ObjectReference
	Recorder *events.Recorder
	Metrics  *Metrics
	Clock    clock.WithTicker
}

// Controller looks for drift. It implements [controller.Interface] and
// [controller.HealthCheckable].
type Controller struct {
	options Options
	loop    *periodic.Loop
}

var (
	_ controller.Interface       = (*Controller)(nil)
	_ controller.HealthCheckable = (*Controller)(nil)
)

// New makes a Controller, which works once [Controller.Run] does.
func New(o Options) *Controller {
	c := &Controller{options: o}
	c.loop = periodic.New(periodic.Options{
		Period: o.Period, Timeout: passTimeout * time.Duration(len(o.Checks)+1), Clock: o.Clock, Work: c.look,
	})
	return c
}

// Name implements [controller.Interface].
func (c *Controller) Name() string { return Name }

// Run looks once a period until the context ends, for the first time after one:
// at a start, every Service and Node is looked at anyway.
func (c *Controller) Run(ctx context.Context) {
	logger := klog.FromContext(ctx).WithName(Name)
	ctx = doapi.WithPriority(klog.NewContext(ctx, logger), doapi.Background)
	if c.options.Period <= 0 {
		logger.Info("Drift is not looked for, as it is set")
		<-ctx.Done()
		return
	}
	c.loop.Run(ctx)
}

// Status tells what was done last. It is safe for concurrent use.
func (c *Controller) Status() periodic.Status { return c.loop.Status() }

// HealthChecker implements [controller.HealthCheckable]. It fails for a loop
// that is stuck alone: a restart mends nothing else.
func (c *Controller) HealthChecker() healthz.UnnamedHealthChecker { return c.loop }

// look makes all checks once.
func (c *Controller) look(ctx context.Context) error {
	if c.options.HasSynced != nil && !c.options.HasSynced() {
		return nil
	}
	var failures []error
	if c.options.LoadBalancers != nil {
		failures = append(failures, c.check(ctx, c.checkLoadBalancers))
	}
	for _, check := range c.options.Checks {
		failures = append(failures, c.check(ctx, check))
	}
	return errors.Join(failures...)
}

// check makes one check. What fails is tried again at the next look; a defect in
// one doesn't stop the others.
func (c *Controller) check(ctx context.Context, check func(context.Context) error) error {
	err := periodic.Safely(ctx, passTimeout, check)
	c.options.Metrics.checked(err)
	if err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Info("Check for drift failed, and is made again", "err", err.Error(), "requestID", doapi.RequestID(err))
	}
	return err
}

func (c *Controller) checkLoadBalancers(ctx context.Context) error {
	orphans, err := c.options.LoadBalancers.CheckDrift(ctx)
	if err != nil {
		return err
	}
	c.tellOrphans(orphans)
	return nil
}
