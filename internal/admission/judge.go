package admission

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/limits"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/loadbalancer/reconciler"
)

// apiTimeout bounds everything that DigitalOcean is asked for one request: the
// API server waits five seconds at most, and shall have an answer by then.
const apiTimeout = 3 * time.Second

// Options are what a Judge works with.
type Options struct {
	Client   *doapi.Client
	Services corelisters.ServiceLister
	Defaults annotation.Defaults
	Cluster  loadbalancer.Cluster
	// Limits are what Services may ask for, and Namespaces tells the labels by
	// which limits select; nil where they select none.
	Limits     limits.Limits
	Namespaces corelisters.NamespaceLister
	Clock      clock.PassiveClock
}

// Judge tells what is wrong with Services. It is safe for concurrent use.
type Judge struct {
	client     *doapi.Client
	balancers  *inventory.LoadBalancers
	services   corelisters.ServiceLister
	defaults   annotation.Defaults
	cluster    loadbalancer.Cluster
	limits     limits.Limits
	namespaces corelisters.NamespaceLister
}

// NewJudge makes a Judge. It makes no call.
func NewJudge(o Options) *Judge {
	return &Judge{
		client: o.Client, balancers: inventory.NewLoadBalancers(o.Client.LoadBalancers, o.Clock),
		services: o.Services, defaults: o.Defaults, cluster: o.Cluster, limits: o.Limits, namespaces: o.Namespaces,
	}
}

// request is one change of a Service.
type request struct {
	svc *v1.Service
	// old is the state before, if the manager made a load balancer for that;
	// or nil.
	old *v1.Service
	// created is true for a Service that did not exist.
	created bool
}

// reading is what a state of a Service asks for, as far as it is known.
type reading struct {
	spec     annotation.Spec
	problems []annotation.Problem
	desired  loadbalancer.Desired
}

// Judge judges a Service that is made, or changed from old if that isn't nil.
// It waits for DigitalOcean for three seconds at most, in the background's share
// of the quota.
func (j *Judge) Judge(ctx context.Context, svc, old *v1.Service) Verdict {
	if !isOurs(svc) || svc.DeletionTimestamp != nil || old != nil && changesNothing(old, svc) {
		return Verdict{}
	}
	req := request{svc: svc, created: old == nil}
	if old != nil && isOurs(old) {
		req.old = old
	}
	v := Verdict{Concerned: true}
	spec, problems := annotation.Parse(svc, j.defaults)
	if spec.Disowned {
		j.disowned(&v, req, problems)
		return v
	}
	ctx, cancel := context.WithTimeout(doapi.WithPriority(ctx, doapi.Background), apiTimeout)
	defer cancel()
	lb, err := j.locate(ctx, &v, req, spec)
	if err != nil {
		v.unchecked(err)
	}
	j.settings(ctx, &v, req, lb)
	return v
}

// disowned judges a Service whose load balancer the manager leaves alone: only
// whether that is what is meant.
func (j *Judge) disowned(v *Verdict, req request, problems []annotation.Problem) {
	only := func(problems []annotation.Problem) []annotation.Problem {
		return slices.DeleteFunc(problems, func(p annotation.Problem) bool { return p.Field != annotation.Disown })
	}
	var before []annotation.Problem
	if req.old != nil {
		_, before = annotation.Parse(req.old, j.defaults)
	}
	v.sort(only(problems), only(before))
}

// settings judges what the Service asks for. lb is its load balancer, or nil.
func (j *Judge) settings(ctx context.Context, v *Verdict, req request, lb *godo.LoadBalancer) {
	in := j.certificates(ctx, v, req, lb)
	standing := standingOf(v, req, lb)
	now := j.read(req.svc, lb, in)
	now.problems = append(now.problems, j.beyond(req.svc, now.spec, standing)...)
	var before reading
	if req.old != nil {
		before = j.read(req.old, lb, in)
		before.problems = append(before.problems, j.beyond(req.old, before.spec, standing)...)
	}
	v.sort(now.problems, before.problems)
	for _, w := range annotation.Warnings(req.svc, now.spec) {
		w.Field = path(w.Field)
		v.warn("%s", w)
	}
	if lb == nil {
		if v.canAsk() && len(now.problems) == 0 {
			j.askCreate(ctx, v, now.desired)
		}
		return
	}
	changes := j.compare(v, req, lb, now, before)
	if v.canAsk() && len(now.problems) == 0 && len(changes) > 0 {
		j.askUpdate(ctx, v, lb, now.desired)
	}
}

// read computes what a state of the Service asks for, as the manager does. The
// type of a load balancer that exists is the default: the manager writes it to
// the Service.
func (j *Judge) read(svc *v1.Service, lb *godo.LoadBalancer, in loadbalancer.Inputs) reading {
	defaults := j.defaults
	if lb != nil {
		actual := reconciler.SettingsOf(lb)
		defaults.Type = actual.Type
		in.Backends.DropletIDs = actual.DropletIDs
	}
	var r reading
	r.spec, r.problems = annotation.Parse(svc, defaults)
	var more []annotation.Problem
	r.desired, more = loadbalancer.Desire(svc, r.spec, in)
	r.problems = append(loadbalancer.Effective(r.spec, r.problems), more...)
	return r
}

// immutables are the annotations of what can't be changed at DigitalOcean.
var immutables = map[string]string{
	loadbalancer.FieldType:         annotation.Type,
	loadbalancer.FieldNetwork:      annotation.Network,
	loadbalancer.FieldNetworkStack: annotation.NetworkStack,
	loadbalancer.FieldSubnet:       annotation.SubnetUUID,
	loadbalancer.FieldIP:           annotation.IP,
}

const wayOut = "undo it, or delete and re-create the Service, which gives it another load balancer and another address"

// compare judges the differences from the load balancer, and returns the new
// ones that are to be written.
func (j *Judge) compare(v *Verdict, req request, lb *godo.LoadBalancer, now, before reading) []loadbalancer.Change {
	actual := reconciler.SettingsOf(lb)
	changes := loadbalancer.Diff(now.desired.Settings, actual)
	var known []loadbalancer.Change
	if req.old != nil && sameBalancer(req) {
		known = loadbalancer.Diff(before.desired.Settings, actual)
	}
	anotherKind := false
	var news []loadbalancer.Change
	for _, c := range changes {
		isKind := c.Field == loadbalancer.FieldType || c.Field == loadbalancer.FieldNetwork
		anotherKind = anotherKind || isKind
		isNew := !slices.Contains(known, c)
		switch {
		case c.Kind == loadbalancer.ChangeSettings && isNew && c.Field != loadbalancer.FieldTag:
			news = append(news, c)
		case c.Kind != loadbalancer.ChangeImmutable:
		case isKind && isNew:
			v.forbid(immutables[c.Field], "%s can't be changed on load balancer %s, which exists: %s", c, lb.ID, wayOut)
		case immutables[c.Field] != "":
			v.warn("%s: %s needs a new load balancer, and is not done to %s, which exists: %s", path(immutables[c.Field]), c, lb.ID, wayOut)
		}
	}
	if anotherKind {
		return nil // the rest is asked of a load balancer of that other kind
	}
	return news
}

// sameBalancer tells whether the Service names the load balancer that it named
// before.
func sameBalancer(req request) bool {
	now := req.svc.Annotations[annotation.LoadBalancerID]
	return cmp.Or(now, req.old.Annotations[annotation.LoadBalancerID]) == req.old.Annotations[annotation.LoadBalancerID]
}
