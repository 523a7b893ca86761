package doapi

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"k8s.io/utils/clock"
)

const (
	// defaultAttempts is how often a call is sent at most, counting the first.
	// What that doesn't mend goes back to the reconciler, whose queue retries.
	defaultAttempts = 4
	// Back-off doubles from first to last, and is jittered down to a half.
	firstBackoff = 500 * time.Millisecond
	lastBackoff  = 8 * time.Second
	// maxRetryAfter bounds what a 5xx may ask for.
	maxRetryAfter = 30 * time.Second
)

// Reasons of a retry, as the metric has them.
const (
	reasonNone        = ""
	reasonRateLimited = "rate_limited"
	reasonServer      = "server_error"
	reasonTimeout     = "timeout"
	reasonConnection  = "connection"
)

// retryPolicy is how often a call is sent, and whether one that timed out is
// sent again.
type retryPolicy struct {
	attempts int
	timeouts bool
}

type (
	policyKey  struct{}
	attemptKey struct{}
)

func withPolicy(ctx context.Context, p retryPolicy) context.Context {
	return context.WithValue(ctx, policyKey{}, p)
}

func policyOf(ctx context.Context) retryPolicy {
	if p, ok := ctx.Value(policyKey{}).(retryPolicy); ok {
		return p
	}
	return retryPolicy{attempts: defaultAttempts, timeouts: true}
}

// attemptOf gives which attempt a request is, from 1.
func attemptOf(ctx context.Context) int {
	if n, ok := ctx.Value(attemptKey{}).(int); ok {
		return n
	}
	return 1
}

// retrier sends a call again when that can't do harm and may help.
type retrier struct {
	next    http.RoundTripper
	clock   clock.WithTicker
	metrics *Metrics
}

func (t *retrier) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	policy := policyOf(ctx)
	resp, err := t.attempt(req, 1)
	for n := 2; n <= policy.attempts; n++ {
		reason := retryReason(req, resp, err)
		if reason == reasonNone || reason == reasonTimeout && !policy.timeouts || !rewindable(req) {
			break
		}
		if !t.sleep(ctx, backoff(n-1, reason, resp)) {
			break
		}
		t.metrics.retried(req, reason)
		again, againErr := t.attempt(req, n)
		// Not sent this time: what came of the last attempt says more.
		if notSent(againErr) || againErr != nil && ctx.Err() != nil {
			break
		}
		resp, err = again, againErr
	}
	return resp, err
}

func (t *retrier) attempt(req *http.Request, n int) (*http.Response, error) {
	r := req.Clone(context.WithValue(req.Context(), attemptKey{}, n))
	if n > 1 && req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		r.Body = body
	}
	return t.next.RoundTrip(r)
}

// sleep waits d. It returns false, at once, when the context won't last.
func (t *retrier) sleep(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && d >= time.Until(deadline) {
		return false
	}
	timer := t.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}

func rewindable(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

// retryReason says why a call should be sent again, reasonNone if it should not.
func retryReason(req *http.Request, resp *http.Response, err error) string {
	switch {
	case req.Context().Err() != nil:
		return reasonNone
	case err != nil:
		return errorReason(req, err)
	case isRateLimit(resp):
		return reasonRateLimited // not acted upon, so any method
	case resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented && idempotent(req.Method):
		return reasonServer
	}
	return reasonNone
}

func errorReason(req *http.Request, err error) string {
	var certificate *tls.CertificateVerificationError
	switch {
	case notSent(err), errors.Is(err, errTooLong), errors.As(err, &certificate):
		return reasonNone
	case neverConnected(err):
		return reasonConnection
	case !idempotent(req.Method):
		return reasonNone
	case isTimeout(err):
		return reasonTimeout
	}
	return reasonConnection
}

// notSent tells that this package kept the request back.
func notSent(err error) bool {
	return errors.Is(err, ErrThrottled) || errors.Is(err, ErrUnauthorized) ||
		errors.Is(err, ErrNoToken) || errors.Is(err, errForeignHost)
}

// neverConnected tells that the server can't have seen the request.
func neverConnected(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func idempotent(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete:
		return true
	}
	return false
}

// backoff gives the wait after the n-th attempt. On the rate limit the shared
// pause does the waiting; the jitter only spreads those who waited together.
func backoff(n int, reason string, resp *http.Response) time.Duration {
	d := min(firstBackoff<<(n-1), lastBackoff)
	if reason == reasonRateLimited {
		d = firstBackoff
	}
	d = d/2 + rand.N(d/2+1)
	if reason == reasonServer {
		d = max(d, min(readSigns(resp.Header, time.Now()).retryAfter, maxRetryAfter))
	}
	return d
}
