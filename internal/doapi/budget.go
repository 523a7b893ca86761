package doapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// maxWait bounds the wait for quota of a call whose context has no
	// deadline: a worker that hangs for an hour helps nobody.
	maxWait = 2 * time.Minute
	// yieldWait is when a call looks again that stood back for a more urgent
	// one. It is woken as soon as that one is gone; this is for safety.
	yieldWait = time.Second
	// minWait keeps rounding from making a busy loop.
	minWait = time.Millisecond
)

// budget lets calls through as the ledger and the cap on requests a second
// allow, the urgent ones first.
type budget struct {
	next    http.RoundTripper
	clock   clock.WithTicker
	limiter *rate.Limiter // nil: no cap
	metrics *Metrics

	mu      sync.Mutex
	ledger  ledger
	waiting [priorities]int
	changed chan struct{} // closed and replaced when waiting calls should look again
}

func newBudget(next http.RoundTripper, c clock.WithTicker, qps float64, m *Metrics) *budget {
	b := &budget{next: next, clock: c, metrics: m, changed: make(chan struct{})}
	if qps > 0 {
		b.limiter = rate.NewLimiter(rate.Limit(qps), 1)
	}
	return b
}

func (b *budget) RoundTrip(req *http.Request) (*http.Response, error) {
	probe, err := b.acquire(req.Context())
	if err != nil {
		closeBody(req)
		return nil, err
	}
	resp, err := b.next.RoundTrip(req)
	b.settle(req.Context(), probe, resp)
	return resp, err
}

// acquire returns when the call may be sent.
func (b *budget) acquire(ctx context.Context) (probe bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	p := PriorityOf(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	start := b.clock.Now()
	v := b.try(p, start)
	if v.until.IsZero() {
		return v.probe, nil
	}
	if !waits(ctx) {
		return false, &ThrottledError{Priority: p, Until: v.until}
	}
	b.waiting[p]++
	defer func() {
		b.waiting[p]--
		b.wake()
		b.metrics.throttled(p, b.clock.Since(start))
	}()
	for !v.until.IsZero() {
		if err := b.wait(ctx, p, start, v.until); err != nil {
			return false, err
		}
		v = b.try(p, b.clock.Now())
	}
	return v.probe, nil
}

// try gives the verdict and books the call if it may go.
func (b *budget) try(p Priority, now time.Time) verdict {
	for q := p + 1; int(q) < priorities; q++ {
		if b.waiting[q] > 0 {
			return verdict{until: now.Add(yieldWait)}
		}
	}
	v := b.ledger.ask(p, now)
	if v.until.IsZero() && b.limiter != nil && !b.limiter.AllowN(now, 1) {
		missing := (1 - b.limiter.TokensAt(now)) / float64(b.limiter.Limit())
		v.until = now.Add(time.Duration(missing * float64(time.Second)))
	}
	if v.until.IsZero() {
		b.ledger.sent(v.probe, now)
	}
	return v
}

// wait sleeps until the time or a change, with the lock released. It refuses at
// once when the time lies beyond what the caller can wait for.
func (b *budget) wait(ctx context.Context, p Priority, start, until time.Time) error {
	throttled := &ThrottledError{Priority: p, Until: until}
	pause := max(until.Sub(b.clock.Now()), minWait)
	if deadline, ok := ctx.Deadline(); ok {
		if pause > time.Until(deadline) {
			return throttled
		}
	} else if until.Sub(start) > maxWait {
		return throttled
	}
	changed := b.changed
	b.mu.Unlock()
	defer b.mu.Lock()
	timer := b.clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-changed:
		return nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("%w: %w", throttled, ctx.Err())
		}
		return ctx.Err()
	}
}

func (b *budget) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// settle learns from what came back and lets waiting calls look again.
func (b *budget) settle(ctx context.Context, probe bool, resp *http.Response) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	o := outcome{probe: probe, signs: rateSigns{remaining: -1}}
	if resp != nil {
		o.status, o.limited, o.signs = resp.StatusCode, isRateLimit(resp), readSigns(resp.Header, now)
	}
	entered, left := b.ledger.settled(o, now)
	b.metrics.quota(b.quota())
	log := klog.FromContext(ctx)
	if entered {
		log.Info("DigitalOcean API rate limit reached, all calls pause", "until", b.ledger.pausedUntil,
			"remaining", b.ledger.remaining, "limit", b.ledger.limit, "minuteLimit", o.signs.burst)
	}
	if left {
		log.Info("DigitalOcean API rate limit allows calls again", "remaining", b.ledger.remaining)
	}
	b.wake()
}

// Quota is what is known of the token's quota.
type Quota struct {
	// Limit and Remaining are requests an hour, as the latest answer told, for
	// everything that uses the token. Zero Limit: no answer told yet.
	Limit, Remaining int
	// Reset is when the oldest counted request expires, which gives back one
	// request, not all.
	Reset time.Time
	// Learned is when that was told.
	Learned time.Time
	// PausedUntil is set while the API's rate limit stops all calls. When it
	// has passed, a single call finds out whether they may go on.
	PausedUntil time.Time
	// MinuteUsed is how many requests this client sent within the last minute,
	// of MinuteLimit that the token has.
	MinuteUsed, MinuteLimit int
	// Waiting is how many calls wait for quota.
	Waiting int
}

// quota is for holders of the lock.
func (b *budget) quota() Quota {
	l := &b.ledger
	l.askMinute(Urgent, b.clock.Now()) // drops what is older than a minute
	waiting := 0
	for _, n := range b.waiting {
		waiting += n
	}
	return Quota{
		Waiting: waiting,
		Limit:   l.limit, Remaining: l.remaining, Reset: l.reset, Learned: l.learned,
		PausedUntil: l.pausedUntil,
		MinuteUsed:  len(l.recent), MinuteLimit: l.burst(),
	}
}
