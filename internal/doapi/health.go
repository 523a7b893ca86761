package doapi

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/digitalocean/godo"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// unhealthyAfter is how many answers in a row must fail before a working API
// counts as failing: single 5xx are everyday life.
const unhealthyAfter = 3

// Health is what the latest answers say about the way to the API.
type Health struct {
	// Checked is when the latest answer came, zero before the first.
	Checked time.Time
	// OK tells that the API can be reached and takes the token. A refused
	// request (404, 422, 403, 429) is as good a proof of that as a success.
	OK bool
	// Class and Message say what is wrong when OK is false.
	Class   Class
	Message string
}

// healthTracker derives Health from answers: nothing is asked for its sake.
type healthTracker struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	health   Health
	failures int // in a row
}

func (t *healthTracker) get() Health {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.health
}

// local records a request that was refused before it was sent. Only a missing
// token is news: of a refused one an answer told.
func (t *healthTracker) local(ctx context.Context, err error) {
	if errors.Is(err, ErrNoToken) {
		t.record(ctx, err, true)
	}
}

// answered records the outcome of a request that was passed on.
func (t *healthTracker) answered(ctx context.Context, resp *http.Response, err error) {
	switch {
	case errors.Is(err, ErrThrottled), errors.Is(err, context.Canceled):
		// Not sent, or given up by the caller: says nothing of the API.
	case err != nil:
		t.record(ctx, err, false)
	default:
		t.record(ctx, unhealthyAnswer(resp), resp.StatusCode == http.StatusUnauthorized)
	}
}

// unhealthyAnswer gives the error in an answer that speaks against the API or
// the token, nil for every other answer.
func unhealthyAnswer(resp *http.Response) error {
	f := failureOf(resp)
	if f == nil {
		return nil
	}
	if resp.StatusCode == http.StatusUnauthorized || classifyAnswer(resp) == ClassCloud {
		return &godo.ErrorResponse{Response: resp, Message: f.message, RequestID: f.requestID}
	}
	return nil
}

// record updates the health. A decisive failure counts at once, others when
// they come in a row or when nothing good was known.
func (t *healthTracker) record(ctx context.Context, err error, decisive bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.health
	t.health.Checked = t.clock.Now()
	if err == nil {
		t.failures = 0
		t.health.OK, t.health.Class, t.health.Message = true, ClassNone, ""
	} else {
		t.failures++
		if decisive || t.failures >= unhealthyAfter || before.Checked.IsZero() {
			t.health.OK, t.health.Class, t.health.Message = false, Classify(err), Message(err)
		}
	}
	logHealth(klog.FromContext(ctx), before, t.health)
}

func logHealth(log klog.Logger, before, now Health) {
	switch {
	case !now.OK && (before.OK || before.Checked.IsZero() || before.Class != now.Class):
		log.Info("DigitalOcean API can't be used", "class", now.Class, "reason", now.Message)
	case now.OK && !before.OK && !before.Checked.IsZero():
		log.Info("DigitalOcean API can be used again")
	}
}
