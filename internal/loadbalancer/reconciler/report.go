package reconciler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
)

// Load balancer states of the API.
const (
	statusNew     = "new"
	statusErrored = "errored"
)

func isPending(lb *godo.LoadBalancer) bool { return lb.Status == statusNew }
func isErrored(lb *godo.LoadBalancer) bool { return lb.Status == statusErrored }

func addressesOf(lb *godo.LoadBalancer) []string {
	return []string{addressOr(lb.IP), addressOr(lb.IPv6)}
}

// addressOr is the address, or empty where it isn't one.
func addressOr(text string) string {
	if _, err := netip.ParseAddr(text); err != nil {
		return ""
	}
	return text
}

// addressesShown are the load balancer's addresses, with those that the Service
// shows already where the API leaves them out: they stay for its life. That the
// Service's are this load balancer's is known by the other one, or by the id.
func addressesShown(svc *v1.Service, lb *godo.LoadBalancer) []string {
	addresses := addressesOf(lb)
	shown := svc.Status.LoadBalancer.Ingress
	isSame := slices.ContainsFunc(shown, func(i v1.LoadBalancerIngress) bool { return i.IP != "" && slices.Contains(addresses, i.IP) })
	for _, ingress := range shown {
		if ip, err := netip.ParseAddr(ingress.IP); err == nil && isSame {
			family := 0
			if ip.Is6() {
				family = 1
			}
			addresses[family] = cmp.Or(addresses[family], ingress.IP)
		}
	}
	return addresses
}

// invalidError is a Service that can't become a load balancer until it is
// edited.
type invalidError struct {
	problems []annotation.Problem
	// none is true where the Service has no load balancer.
	none bool
}

// wait is until the Service is looked at again, as what it refers to may have
// become valid meanwhile.
func (e *invalidError) wait() time.Duration {
	for _, p := range e.problems {
		if annotation.NamesCertificate(p.Field) {
			return waitCertificate
		}
	}
	return waitUser
}

// consequence is what comes of it, for people.
func (e *invalidError) consequence() string {
	if e.none {
		return "No load balancer is made"
	}
	return "The load balancer's settings stay as they are"
}

func (e *invalidError) Error() string {
	texts := make([]string, len(e.problems))
	for i, p := range e.problems {
		texts[i] = p.String()
	}
	return strings.Join(texts, "; ")
}

// requestError is a call that failed. Its text is for people: what DigitalOcean
// said, without request ids and URLs, so that the same trouble reads the same.
type requestError struct {
	operation string
	err       error
}

func (e *requestError) Error() string {
	return e.operation + ": " + strings.TrimRight(doapi.Message(e.err), ".")
}

func (e *requestError) Unwrap() error { return e.err }

// pendingError is a load balancer that DigitalOcean is still making.
type pendingError struct {
	id, name string
	age      time.Duration
}

func (e *pendingError) Error() string {
	return fmt.Sprintf("load balancer %s (%s) is being made by DigitalOcean, which usually takes 1 to 3 minutes", e.name, e.id)
}

// foreignError is a load balancer that the Service names and another one owns,
// or that isn't the Service's where a limit forbids to take over others.
type foreignError struct {
	id    string
	owner *v1.Service
	// limit is set where owner is not.
	limit string
}

func (e *foreignError) Error() string {
	if e.owner == nil {
		return fmt.Sprintf("load balancer %s was not made for this Service, and the limit %q of the manager's configuration forbids to take over another one", e.id, e.limit)
	}
	return fmt.Sprintf("load balancer %s belongs to the Service %s/%s", e.id, e.owner.Namespace, e.owner.Name)
}

func isForeign(err error) bool {
	var foreign *foreignError
	return errors.As(err, &foreign)
}

// missingError is a load balancer that is gone and not to be replaced.
type missingError struct{ id string }

func (e *missingError) Error() string {
	return fmt.Sprintf("load balancer %s does not exist (any more), and the manager is set not to make another one, which would have another address", e.id)
}

// Waits until a Service is looked at again, by who must act.
const (
	waitUser     = 10 * time.Minute
	waitAccount  = 2 * time.Minute
	waitConflict = 10 * time.Second
	waitResize   = time.Minute
	// waitCertificate is shorter than a user's edit may take: Let's Encrypt
	// verifies a certificate within minutes.
	waitCertificate = time.Minute
)

// busyPatience is how long a load balancer may be busy before that is told, and
// throttledPatience how long a Service may have to wait for the quota.
const (
	busyPatience      = 2 * time.Minute
	throttledPatience = time.Minute
)

// pendingWait is how long until a load balancer that is being made is looked at
// again: each look is an API call. Most are ready after half a minute (network
// load balancers) to two.
func pendingWait(age time.Duration) time.Duration {
	switch {
	case age < 3*time.Minute:
		return 5 * time.Second
	case age < 10*time.Minute:
		return 15 * time.Second
	default:
		return time.Minute
	}
}

// next is when a Service is synced again.
type next struct {
	// wait is until then; 0: as whoever syncs it likes, longer each time.
	wait time.Duration
	// quietly is true where nothing is wrong with the Service, and time alone
	// helps.
	quietly bool
	// seen is true where a look for drift, with its list of all load balancers,
	// tells whether the trouble is over, so that it is tried again then as well.
	seen bool
}

// report tells the Service's owner what is wrong and decides when to try
// again. It is the one place where a sync's error is handled.
func (r *Reconciler) report(ctx context.Context, svc *v1.Service, err error) next {
	logger := klog.FromContext(ctx).WithValues("service", klog.KObj(svc))
	var (
		invalid *invalidError
		pending *pendingError
		errored *erroredError
		resize  *resizeError
		foreign *foreignError
		missing *missingError
		request *requestError
	)
	switch {
	case errors.As(err, &invalid):
		r.recorder.Tell(svc, events.LoadBalancerConfigError, invalid.consequence()+" until this is mended: "+invalid.Error())
		return next{wait: invalid.wait()}
	case errors.As(err, &pending):
		logger.V(2).Info("Load balancer is being made", "id", pending.id, "name", pending.name)
		return next{wait: pendingWait(pending.age), quietly: true}
	case errors.As(err, &errored):
		r.recorder.Tell(svc, events.LoadBalancerErrored, errored.Error())
		return next{wait: errored.wait, quietly: errored.replaced, seen: true}
	case errors.As(err, &resize):
		r.recorder.Tell(svc, events.LoadBalancerResizeRefused, "DigitalOcean refuses another size for now, which is tried again each minute: "+resize.Error()+". Everything else is as it should be.")
		return next{wait: waitResize, quietly: true}
	case errors.As(err, &foreign):
		r.recorder.Tell(svc, events.LoadBalancerNotOwned, "Nothing is changed: "+foreign.Error()+". Remove the annotation "+annotation.LoadBalancerID+" to get a load balancer of its own, or put all ports into one Service.")
		return next{wait: waitUser}
	case errors.As(err, &missing):
		r.recorder.Tell(svc, events.LoadBalancerNotFound, "Nothing is made: "+missing.Error()+". Remove the annotation "+annotation.LoadBalancerID+" to get a new one, or set it to the id of one that exists.")
		return next{wait: waitUser}
	case errors.Is(err, errGone):
		return next{wait: time.Second, quietly: true}
	case doapi.Classify(err) == doapi.ClassThrottled:
		return r.reportThrottled(logger, svc, err)
	case errors.As(err, &request):
		return r.reportRequest(logger, svc, request)
	}
	return next{}
}

// reportThrottled is for whatever could not be asked or written yet: a load
// balancer, a certificate, a backend's droplet.
func (r *Reconciler) reportThrottled(logger klog.Logger, svc *v1.Service, err error) next {
	logger.V(2).Info("The API's quota is used up", "err", err)
	wait := r.throttledFor(err)
	if r.busyFor(svc)+wait > throttledPatience { // a minute's burst is over soon
		r.recorder.Tell(svc, events.LoadBalancerRequestFailed, "The API token's quota of calls is used up; the load balancer is worked on as soon as it allows.")
	}
	return next{wait: wait, quietly: true}
}

func (r *Reconciler) reportRequest(logger klog.Logger, svc *v1.Service, err *requestError) next {
	class := doapi.Classify(err)
	logger.V(2).Info("Request to DigitalOcean failed", "class", class, "requestID", doapi.RequestID(err), "err", err.Error())
	switch class {
	case doapi.ClassUser:
		r.recorder.Tell(svc, events.LoadBalancerRequestFailed, "DigitalOcean refuses this Service's load balancer: "+err.Error()+". Edit the Service"+r.orItsDefaults(svc)+".")
		return next{wait: waitUser}
	case doapi.ClassAccount:
		r.recorder.Tell(svc, events.LoadBalancerRequestFailed, "DigitalOcean refuses the request for the account or its token: "+err.Error()+". Check the token, its scopes and the account's limits.")
		return next{wait: waitAccount}
	case doapi.ClassConflict:
		if r.busyFor(svc) >= busyPatience {
			r.recorder.Tell(svc, events.LoadBalancerRequestFailed, err.Error()+". It is tried again every few seconds.")
		}
		return next{wait: waitConflict, quietly: true}
	}
	failing := r.busyFor(svc)
	if failing >= cloudPatience {
		r.recorder.Tell(svc, events.LoadBalancerRequestFailed, "DigitalOcean's API fails: "+err.Error()+". It is tried again, after longer and longer waits.")
	}
	return next{wait: min(max(failing, shortestCloudWait), longestCloudWait)}
}

// orItsDefaults names what the Service has from the manager's configuration, of
// which its owner may know nothing.
func (r *Reconciler) orItsDefaults(svc *v1.Service) string {
	spec, _ := annotation.Parse(svc, r.defaults)
	var inherited []string
	for _, key := range slices.Sorted(maps.Keys(spec.Inherited)) {
		inherited = append(inherited, annotation.Suffix(key)+" of "+spec.Inherited[key])
	}
	if len(inherited) == 0 {
		return ""
	}
	return ", or the manager's configuration, which decides for it: " + strings.Join(inherited, ", ")
}

// Waits after failures of DigitalOcean's, each as long as all before it, and how
// long they may last before that is told.
const (
	cloudPatience     = time.Minute
	shortestCloudWait = 5 * time.Second
	longestCloudWait  = 5 * time.Minute
)

// busyFor is how long the Service's load balancer has been busy, or DigitalOcean
// failing.
func (r *Reconciler) busyFor(svc *v1.Service) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	since, ok := r.busy[svc.UID]
	if !ok {
		since = r.clock.Now()
		r.busy[svc.UID] = since
	}
	return r.clock.Since(since)
}

// throttledFor is how long the quota is used up, within bounds.
func (r *Reconciler) throttledFor(err error) time.Duration {
	const shortest, longest = 5 * time.Second, 15 * time.Minute
	var throttled *doapi.ThrottledError
	if errors.As(err, &throttled) {
		return min(max(throttled.Until.Sub(r.clock.Now()), shortest), longest)
	}
	return time.Minute
}

// reportPanic makes an error of a panic, with which only this Service stops.
func (r *Reconciler) reportPanic(ctx context.Context, svc *v1.Service, p any) error {
	r.metrics.panicked()
	klog.FromContext(ctx).Error(nil, "A defect in the manager stopped the work for a Service", "service", klog.KObj(svc), "panic", p, "stack", string(debug.Stack()))
	r.recorder.Tell(svc, events.InternalError, "A defect in the manager stopped the work for this Service; other Services go on. Its log says more.")
	return fmt.Errorf("internal defect: %v", p)
}
