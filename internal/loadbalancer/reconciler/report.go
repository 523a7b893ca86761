package reconciler

import (
	"context"
	"errors"
	"fmt"
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

func addressesOf(lb *godo.LoadBalancer) []string { return []string{lb.IP, lb.IPv6} }

// invalidError is a Service that can't become a load balancer until it is
// edited.
type invalidError struct{ problems []annotation.Problem }

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

func (e *requestError) Error() string { return e.operation + ": " + doapi.Message(e.err) }
func (e *requestError) Unwrap() error { return e.err }

// pendingError is a load balancer that DigitalOcean is still making.
type pendingError struct {
	id, name string
	// since is when the load balancer was made.
	since time.Time
}

func (e *pendingError) Error() string {
	return fmt.Sprintf("load balancer %s (%s) is being made by DigitalOcean, which usually takes 1 to 3 minutes", e.name, e.id)
}

// erroredError is a load balancer that DigitalOcean failed to make.
type erroredError struct{ id, name string }

func (e *erroredError) Error() string {
	return fmt.Sprintf("DigitalOcean failed to make load balancer %s (%s), its status is errored", e.name, e.id)
}

// foreignError is a load balancer that the Service names and another one owns.
type foreignError struct {
	id    string
	owner *v1.Service
}

func (e *foreignError) Error() string {
	return fmt.Sprintf("load balancer %s belongs to the Service %s/%s", e.id, e.owner.Namespace, e.owner.Name)
}

func isForeign(err error) bool {
	var foreign *foreignError
	return errors.As(err, &foreign)
}

// Waits until a Service is looked at again, by who must act.
const (
	waitUser     = 10 * time.Minute
	waitAccount  = 2 * time.Minute
	waitConflict = 10 * time.Second
)

// pendingWait is how long until a load balancer that is being made is looked at
// again: each look is an API call, and each but the last a Warning event of the
// framework's, of which it passes on 25.
func pendingWait(age time.Duration) time.Duration {
	switch {
	case age < 30*time.Second:
		return 5 * time.Second
	case age < 3*time.Minute:
		return 15 * time.Second
	default:
		return time.Minute
	}
}

// report tells the Service's owner what is wrong and decides when to try
// again. It is the one place where a sync's error is handled; what it returns
// is what the framework needs.
func (r *Reconciler) report(ctx context.Context, svc *v1.Service, err error) error {
	logger := klog.FromContext(ctx).WithValues("service", klog.KObj(svc))
	var (
		invalid *invalidError
		pending *pendingError
		errored *erroredError
		request *requestError
		foreign *foreignError
	)
	switch {
	case errors.As(err, &invalid):
		r.recorder.Tell(svc, events.LoadBalancerConfigError, "Nothing is changed in DigitalOcean until this is mended: "+invalid.Error())
		return retryAfter(err, waitUser)
	case errors.As(err, &pending):
		logger.V(2).Info("Load balancer is being made", "id", pending.id, "name", pending.name)
		return retryAfter(err, pendingWait(time.Since(pending.since)))
	case errors.As(err, &errored):
		r.recorder.Tell(svc, events.LoadBalancerErrored, errored.Error()+". Delete the Service to remove it.")
		return err
	case errors.As(err, &foreign):
		r.recorder.Tell(svc, events.LoadBalancerNotOwned, "Nothing is changed: "+foreign.Error()+". Remove the annotation "+annotation.LoadBalancerID+" to get a load balancer of its own, or put all ports into one Service.")
		return retryAfter(err, waitUser)
	case errors.As(err, &request):
		return r.reportRequest(logger, svc, request)
	}
	return err
}

func (r *Reconciler) reportRequest(logger klog.Logger, svc *v1.Service, err *requestError) error {
	class := doapi.Classify(err)
	logger.V(2).Info("Request to DigitalOcean failed", "class", class, "requestID", doapi.RequestID(err), "err", err.Error())
	switch class {
	case doapi.ClassUser:
		r.recorder.Tell(svc, events.LoadBalancerRequestFailed, "DigitalOcean refuses this Service's load balancer: "+err.Error()+". Edit the Service.")
		return retryAfter(err, waitUser)
	case doapi.ClassAccount:
		r.recorder.Tell(svc, events.LoadBalancerRequestFailed, "DigitalOcean refuses the request for the account or its token: "+err.Error()+". Check the token, its scopes and the account's limits.")
		return retryAfter(err, waitAccount)
	case doapi.ClassThrottled:
		return retryAfter(err, throttledFor(err))
	case doapi.ClassConflict:
		return retryAfter(err, waitConflict)
	}
	return err
}

// throttledFor is how long the quota is used up, within bounds.
func throttledFor(err error) time.Duration {
	const shortest, longest = 5 * time.Second, 15 * time.Minute
	var throttled *doapi.ThrottledError
	if errors.As(err, &throttled) {
		return min(max(time.Until(throttled.Until), shortest), longest)
	}
	return time.Minute
}
