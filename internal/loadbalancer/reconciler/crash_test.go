package reconciler

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	servicehelpers "k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/crash"
	"digitalocean-cloud-controller-manager/internal/targets"
	"digitalocean-cloud-controller-manager/simulator"
)

// crashing is a stand whose process can be killed, and in which the framework's
// service controller works.
type crashing struct {
	*stand
	process *crash.Process
	// ctx ends with the process.
	ctx context.Context
	// byTag has load balancers target a tag, from the next process on.
	byTag bool
}

// begin starts a process.
func (c *crashing) begin(end crash.Point) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	c.ctx = ctx
	c.process = crash.NewProcess(end, func() { c.stop(); cancel() })
	c.transport, c.client = c.process.Transport(c.sim.Transport()), c.process.Kubernetes(c.kube)
	c.start()
}

// again ends the process in peace, and starts another, which ends where the
// first was to.
func (c *crashing) again() {
	c.t.Helper()
	c.end()
	c.begin(c.process.End())
}

// live lets two hours pass, in which a process that died is started again.
func (c *crashing) live() {
	c.t.Helper()
	for i := range 32 {
		if c.process.Dead() {
			c.end()
			c.begin(crash.Point{})
		}
		c.framework()
		if i < 10 {
			c.later(10 * time.Second)
			continue
		}
		if _, err := c.CheckDrift(c.ctx); err != nil && c.ctx.Err() == nil {
			c.t.Fatal(err)
		}
		c.later(DefaultDriftPeriod)
	}
}

// framework does what the framework's service controller does for each Service,
// and the API server for those that are deleted.
func (c *crashing) framework() {
	c.t.Helper()
	c.refresh()
	for _, object := range c.services.List() {
		svc := object.(*v1.Service)
		if svc.Spec.Type == v1.ServiceTypeLoadBalancer && svc.DeletionTimestamp == nil {
			c.ensured(svc)
		} else if servicehelpers.HasLBFinalizer(svc) {
			c.cleanedUp(svc)
		}
	}
	c.settle()
}

func (c *crashing) ensured(svc *v1.Service) {
	if !servicehelpers.HasLBFinalizer(svc) {
		if svc = c.patched(svc, func(svc *v1.Service) { svc.Finalizers = []string{servicehelpers.LoadBalancerCleanupFinalizer} }); svc == nil {
			return
		}
	}
	status, err := c.EnsureLoadBalancer(c.ctx, "", svc, nil)
	if err == nil && !servicehelpers.LoadBalancerStatusEqual(&svc.Status.LoadBalancer, status) {
		c.patched(svc, func(svc *v1.Service) { svc.Status.LoadBalancer = *status })
	}
}

func (c *crashing) cleanedUp(svc *v1.Service) {
	_, exists, err := c.GetLoadBalancer(c.ctx, "", svc)
	if err == nil && exists {
		err = c.EnsureLoadBalancerDeleted(c.ctx, "", svc)
	}
	if err != nil {
		return // it is tried again
	}
	svc = c.patched(svc, func(svc *v1.Service) { svc.Finalizers = nil })
	c.collect()
	if svc != nil && len(svc.Status.LoadBalancer.Ingress) > 0 {
		c.patched(svc, func(svc *v1.Service) { svc.Status.LoadBalancer = v1.LoadBalancerStatus{} })
	}
}

// patched changes a Service the way the framework does; nil: it couldn't.
func (c *crashing) patched(svc *v1.Service, change func(*v1.Service)) *v1.Service {
	now := svc.DeepCopy()
	change(now)
	now, err := servicehelpers.PatchService(c.client.CoreV1(), svc, now)
	if err != nil {
		return nil
	}
	return now
}

// collect removes deleted Services that nothing holds any more.
func (c *crashing) collect() {
	c.refresh()
	for _, object := range c.services.List() {
		if svc := object.(*v1.Service); svc.DeletionTimestamp != nil && len(svc.Finalizers) == 0 {
			if err := c.tracker.Delete(v1.SchemeGroupVersion.WithResource("services"), svc.Namespace, svc.Name); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	c.refresh()
}

// outcome is all that is left when time has passed.
type outcome struct {
	Balancers []simulator.LoadBalancer
	Tags      []simulator.Tag
	Droplets  []simulator.Droplet
	Services  []v1.Service
}

func (c *crashing) outcome() outcome {
	c.collect()
	team := c.sim.State().Teams[0]
	o := outcome{Balancers: team.LoadBalancers, Tags: team.Tags, Droplets: team.Droplets}
	for i := range o.Balancers {
		o.Balancers[i].CreatedAt = time.Time{}
	}
	for _, object := range c.services.List() {
		svc := object.(*v1.Service).DeepCopy()
		svc.ResourceVersion, svc.ManagedFields = "", nil
		o.Services = append(o.Services, *svc)
	}
	// A tag on nothing is no trace: DigitalOcean keeps those of what is gone.
	o.Tags = slices.DeleteFunc(o.Tags, func(tag simulator.Tag) bool { return tag.Resources.Count == 0 })
	slices.SortFunc(o.Tags, func(a, b simulator.Tag) int { return cmp.Compare(a.Name, b.Name) })
	return o
}

// crashed walks a path whose process ends as told, in a world with a stranger's
// load balancer, and returns what is left and what that process wrote.
func crashed(t *testing.T, way crashPath, end crash.Point) (left outcome, writes []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &crashing{}
		c.stand = newStand(t, func(o *Options) {
			o.KeepMissing = way.keepMissing
			o.Target = Target{Tag: targets.New("k8s-backends:c1", c.digitalOcean.Tags, c.digitalOcean.Droplets, clock.RealClock{}), Wanted: c.byTag}
		})
		c.begin(crash.Point{})
		lb, _ := c.terraform()
		c.byHand(lb.ID, func(lb *simulator.LoadBalancer) { lb.Name, lb.Tags = "stranger", []string{"k8s:c2", "k8s-svc:other"} })
		before := c.balancer(lb.ID)
		if way.before != nil {
			way.before(c)
			c.live()
		}
		c.process.Arm(end)
		way.walk(c)
		armed := c.process
		c.live()
		left = c.outcome()
		writes = armed.Writes()
		if diff := gocmp.Diff(before, c.balancer(lb.ID)); diff != "" {
			t.Errorf("the stranger's load balancer: %s", diff)
		}
		if n := len(left.Balancers) - 1; n != way.balancers {
			t.Errorf("%d load balancers are left, want %d: %+v", n, way.balancers, left.Balancers)
		}
		c.end()
	})
	return left, writes
}

// Whatever a process was about to write, or had just written, when it was killed:
// the next one brings about what an undisturbed one would have.
func TestWhereverAProcessIsKilledTheNextOneFinishesItsWork(t *testing.T) {
	for name, way := range crashPaths() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crash.Everywhere(t, way.writes, func(t *testing.T, end crash.Point) (outcome, []string) { return crashed(t, way, end) })
		})
	}
}
