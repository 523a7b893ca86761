// Package reconciler makes DigitalOcean's load balancers agree with Services:
// it reads both worlds, lets package loadbalancer decide, and writes the least
// that is needed. It implements the framework's LoadBalancer interface, and has
// a queue of its own for what the framework doesn't come back for by itself.
package reconciler

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/rehearsal"
	"digitalocean-cloud-controller-manager/internal/state"
)

// LoadBalancerAPI is the part of DigitalOcean's API that is written to.
type LoadBalancerAPI interface {
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
	api          LoadBalancerAPI
	balancers    *inventory.LoadBalancers
	droplets     *inventory.Droplets
	certificates *certificates
	tags         TagAPI
	kube         kubernetes.Interface
	services     corelisters.ServiceLister
	nodes        corelisters.NodeLister
	recorder     *events.Recorder
	metrics      *Metrics
	// book and process are told what is found and done; nil: nobody is.
	book     *state.Book
	process  *state.Metrics
	defaults annotation.Defaults
	clock    clock.WithTicker
	// cluster tells what all Services share. It fails while the region isn't
	// known yet.
	cluster func() (loadbalancer.Cluster, error)
	locks   *locks
	target  Target
	// again syncs Services once more after a while.
	again *queue

	mu sync.Mutex
	// ids are the load balancers of Services as this process made or found
	// them. The framework hands in Services that lack the annotation which was
	// written a moment ago.
	ids map[types.UID]string
	// doubts are Services for which a request to make a load balancer may have
	// had an effect that was not answered.
	doubts map[types.UID]bool
	// failures are how often a load balancer that was made for a Service ended
	// errored, and when the next is made.
	failures map[types.UID]failure
	// busy is since when a load balancer refuses changes as it is busy.
	busy map[types.UID]time.Time
	// memories are what else this process remembers of Services.
	memories map[types.UID]*memory

	// shared are the candidates of this moment, for all Services.
	shared sharedCandidates
	// period is how long a first contact lasts, and a status stays overwritten.
	period time.Duration
	// rehearsal notes what would be written; nil: it is written.
	rehearsal *rehearsal.Book
	// strict keeps a load balancer that is gone from being replaced.
	strict bool
	limits Limits
	crowd  crowd
}

var _ cloudprovider.LoadBalancer = (*Reconciler)(nil)

// Options are what a Reconciler works with.
type Options struct {
	API          LoadBalancerAPI
	Balancers    *inventory.LoadBalancers
	Certificates CertificateAPI
	// Tags takes the cluster's mark off load balancers that are kept when their
	// Service goes; nil: they keep it, and are told of as orphans.
	Tags     TagAPI
	Droplets *inventory.Droplets
	Kube     kubernetes.Interface
	Services corelisters.ServiceLister
	Nodes    corelisters.NodeLister
	Recorder *events.Recorder
	Metrics  *Metrics
	Book     *state.Book
	Process  *state.Metrics
	Defaults annotation.Defaults
	Cluster  func() (loadbalancer.Cluster, error)
	Clock    clock.WithTicker
	// DriftPeriod is how long a load balancer that is met for the first time and
	// differs from its Service is left as it is, and how long a status that
	// somebody else overwrites. Zero: [DefaultDriftPeriod], also where drift is
	// not looked for.
	DriftPeriod time.Duration
	// KeepMissing keeps a Service without a load balancer, and so without a new
	// address, when the one that its id annotation names does not exist (any
	// more), until the annotation goes. False: another one is made.
	KeepMissing bool
	// Target is the tag that load balancers may target. The zero value: they
	// list droplets.
	Target Target
	// Rehearsal notes what would be written, and nothing is. Nil: it is.
	Rehearsal *rehearsal.Book
	// Limits are what Services may ask for. The zero value: everything.
	Limits Limits
}

// New makes a Reconciler. Its queue works once [Reconciler.Run] does.
func New(o Options) *Reconciler {
	r := &Reconciler{
		api: o.API, balancers: o.Balancers, droplets: o.Droplets,
		certificates: newCertificates(o.Certificates, o.Clock),
		tags:         o.Tags,
		kube:         o.Kube, services: o.Services, nodes: o.Nodes, recorder: o.Recorder, metrics: o.Metrics,
		book: o.Book, process: o.Process,
		defaults: o.Defaults, clock: o.Clock, cluster: o.Cluster,
		locks: newLocks(),
		ids:   map[types.UID]string{}, doubts: map[types.UID]bool{},
		failures: map[types.UID]failure{}, busy: map[types.UID]time.Time{}, memories: map[types.UID]*memory{},
		period: cmp.Or(o.DriftPeriod, DefaultDriftPeriod), strict: o.KeepMissing, target: o.Target, limits: o.Limits,
		rehearsal: o.Rehearsal,
	}
	r.again = newQueue(o.Clock, r.syncAgain, r.isUrgent)
	return r
}

// Run syncs Services again when it is time to, until the context ends. Without
// it, the framework's calls alone do the work.
func (r *Reconciler) Run(ctx context.Context) { r.again.run(ctx) }

// GetLoadBalancerName returns the name of the Service's load balancer.
func (r *Reconciler) GetLoadBalancerName(_ context.Context, _ string, svc *v1.Service) string {
	spec, _ := annotation.Parse(svc, r.defaults)
	cluster, _ := r.cluster() // none while it isn't known: the name is for the log
	return cmp.Or(spec.Name, cluster.Names.Name(svc), loadbalancer.DefaultName(svc))
}

// GetLoadBalancer tells whether the Service has a load balancer. False lets
// the framework drop the Service's finalizer, so it rests on the API's
// definite word of now. A disowned load balancer is none of ours.
func (r *Reconciler) GetLoadBalancer(ctx context.Context, _ string, svc *v1.Service) (status *v1.LoadBalancerStatus, exists bool, err error) {
	ctx, done := r.begin(doapi.WithPriority(ctx, doapi.Urgent), svc, &err)
	defer done()
	spec, _ := annotation.Parse(svc, r.defaults)
	if spec.Disowned {
		r.tellDisowned(svc)
		r.letGo(svc)
		return nil, false, nil
	}
	lb, err := r.locate(ctx, svc, spec, 0)
	if isForeign(err) {
		r.letGo(svc)
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
		if spec.LoadBalancerID != "" {
			if err := r.forgetID(ctx, svc); err != nil {
				return nil, false, err
			}
		}
		r.forget(svc)
		return nil, false, nil
	}
	if r.isStrangers(svc, spec, lb) {
		r.letGo(svc)
		return nil, false, nil
	}
	return statusOf(svc, spec, lb, settingsOf(lb)), true, nil
}

// EnsureLoadBalancer makes the Service's load balancer as the Service wants
// it, and returns its addresses. What only needs time (a load balancer that is
// being made, or busy; a quota that is used up) is no error: the Service keeps
// its status, and the own queue goes on with it. That way changes of hundreds of
// Services don't keep the framework's workers, nor a new Service behind them:
// neither while they wait for the quota, nor while the own queue's workers do.
func (r *Reconciler) EnsureLoadBalancer(ctx context.Context, _ string, svc *v1.Service, _ []*v1.Node) (status *v1.LoadBalancerStatus, err error) {
	ctx = doapi.WithPriority(ctx, priorityOf(svc))
	var unlock func()
	if isAwaited(svc) {
		unlock = r.locks.lock(ctx, string(svc.UID))
	} else {
		ctx = doapi.WithoutWaiting(ctx)
		var ok bool
		if unlock, ok = r.locks.tryLock(string(svc.UID)); !ok {
			// The lister may not show yet what the framework wrote just now.
			r.again.after(keyOf(svc), quiet)
			return svc.Status.LoadBalancer.DeepCopy(), nil
		}
	}
	ctx, done := r.beginLocked(ctx, svc, unlock, &err)
	defer done()
	status, err = r.ensure(ctx, svc)
	if err == nil {
		r.settled(svc)
		r.handedOut(svc, status)
		return status, nil
	}
	next := r.report(ctx, svc, err)
	r.postpone(svc, next)
	if next.quietly {
		r.again.after(keyOf(svc), next.wait)
		return svc.Status.LoadBalancer.DeepCopy(), nil
	}
	if next.wait == 0 {
		return nil, err
	}
	return nil, retryAfter(err, next.wait)
}

// UpdateLoadBalancer has the backends brought up to date, together with those
// changes of Nodes that follow within a second or so.
func (r *Reconciler) UpdateLoadBalancer(_ context.Context, _ string, svc *v1.Service, _ []*v1.Node) error {
	r.again.gather(keyOf(svc))
	return nil
}

// EnsureLoadBalancerDeleted deletes the Service's load balancer. It reads
// nothing of the Service but its identity, so that a broken annotation never
// stands in the way.
func (r *Reconciler) EnsureLoadBalancerDeleted(ctx context.Context, _ string, svc *v1.Service) (err error) {
	ctx, done := r.begin(doapi.WithPriority(ctx, doapi.Urgent), svc, &err)
	defer done()
	spec, _ := annotation.Parse(svc, r.defaults)
	if spec.Disowned {
		return nil
	}
	// The framework asked GetLoadBalancer a moment ago.
	lb, err := r.locate(ctx, svc, spec, 10*time.Second)
	if isForeign(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if lb == nil {
		return r.vouch(ctx, svc, spec)
	}
	if r.isStrangers(svc, spec, lb) {
		r.forget(svc)
		return nil
	}
	remove := func() error { return r.delete(ctx, svc, spec, lb) }
	switch farewellOf(spec) {
	case ActionRelease:
		remove = func() error { return r.release(ctx, svc, spec, lb) }
	case ActionRetain:
		remove = func() error { return r.retain(ctx, svc, spec, lb) }
	}
	if r.rehearsal != nil {
		r.rehearseRemoval(svc, spec, lb)
		return nil
	}
	if err := remove(); err != nil {
		_ = r.report(ctx, svc, err) // the framework waits as it likes
		return err
	}
	r.forget(svc)
	return nil
}

// begin bounds the work for one Service and waits for its turn. What is done
// must be called at the end; it turns a panic into an error, so that one broken
// object doesn't stop all others.
func (r *Reconciler) begin(ctx context.Context, svc *v1.Service, err *error) (context.Context, func()) {
	return r.beginLocked(ctx, svc, r.locks.lock(ctx, string(svc.UID)), err)
}

// beginLocked is begin for work whose turn it is.
func (r *Reconciler) beginLocked(ctx context.Context, svc *v1.Service, unlock func(), err *error) (context.Context, func()) {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	return ctx, func() {
		cancel()
		if p := recover(); p != nil {
			*err = r.reportPanic(ctx, svc, p)
		}
		unlock()
	}
}

// settled forgets troubles that are over.
func (r *Reconciler) settled(svc *v1.Service) {
	for _, reason := range []events.Reason{
		events.LoadBalancerRequestFailed, events.LoadBalancerConfigError, events.LoadBalancerNotOwned, events.LoadBalancerErrored,
	} {
		r.recorder.Forget(svc, reason)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.busy, svc.UID)
	delete(r.failures, svc.UID)
	if m, ok := r.memories[svc.UID]; ok {
		m.postponed = time.Time{}
	}
}

// letGo forgets a Service that is being deleted and whose load balancer stays:
// the framework doesn't ask for its deletion then.
func (r *Reconciler) letGo(svc *v1.Service) {
	if svc.DeletionTimestamp != nil {
		r.forget(svc)
	}
}

// forget drops what is remembered of a Service's load balancer.
func (r *Reconciler) forget(svc *v1.Service) {
	r.setID(svc, "")
	r.book.Forget(svc.UID)
	r.roomMade()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.doubts, svc.UID)
	delete(r.failures, svc.UID)
	delete(r.busy, svc.UID)
	delete(r.memories, svc.UID)
	r.countContacts()
}

func (r *Reconciler) tellDisowned(svc *v1.Service) {
	r.recorder.Tell(svc, events.LoadBalancerDisowned, "The load balancer is left alone, as the annotation "+annotation.Disown+" asks for.")
}
