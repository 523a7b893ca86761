// Package periodic runs what a controller does once in a while: spread in time,
// bounded by a deadline, surviving its defects, and with a health check that
// tells when it is stuck.
package periodic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// stuckFactor is how many times its deadline a pass may take before the loop
// counts as stuck.
const stuckFactor = 5

// Options are what a Loop works with.
type Options struct {
	// Period is the time between two passes, give or take a tenth, so that the
	// clusters of an account don't come all at once.
	Period time.Duration
	// Soon is true where the first pass comes after a random part of the
	// period, and false where it comes after a whole one.
	Soon bool
	// Timeout bounds one pass.
	Timeout time.Duration
	Clock   clock.WithTicker
	// Work is one pass. What fails is tried again with the next.
	Work func(context.Context) error
	// Done is told of each pass that ended; it may be nil.
	Done func(context.Context, error)
}

// Loop makes passes.
type Loop struct {
	options Options

	mu sync.Mutex
	// begun is when the pass was begun that is going on; zero: none is.
	begun  time.Time
	status Status
}

// Status is what a loop did last.
type Status struct {
	// Last is when the last pass ended; zero: there was none.
	Last time.Time
	// Error is why it failed; empty: it didn't.
	Error string
	// Next is when the next pass is.
	Next time.Time
}

// New makes a Loop, which works once [Loop.Run] does.
func New(o Options) *Loop { return &Loop{options: o} }

// Status tells what was done last. It is safe for concurrent use.
func (l *Loop) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status
}

// Run makes passes until the context ends.
func (l *Loop) Run(ctx context.Context) {
	wait := jittered(l.options.Period)
	if l.options.Soon {
		wait = time.Duration(rand.Float64() * float64(l.options.Period))
	}
	for {
		l.change(func() { l.status.Next = l.options.Clock.Now().Add(wait) })
		timer := l.options.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
			l.Pass(ctx)
		}
		wait = jittered(l.options.Period)
	}
}

func jittered(period time.Duration) time.Duration {
	return time.Duration((0.9 + 0.2*rand.Float64()) * float64(period))
}

// Pass makes one pass now.
func (l *Loop) Pass(ctx context.Context) {
	l.change(func() { l.begun = l.options.Clock.Now() })
	err := Safely(ctx, l.options.Timeout, l.options.Work)
	message := ""
	if err != nil {
		message = err.Error()
	}
	l.change(func() {
		l.begun = time.Time{}
		l.status.Last, l.status.Error = l.options.Clock.Now(), message
	})
	if ctx.Err() == nil && l.options.Done != nil {
		l.options.Done(ctx, err)
	}
}

// Safely does work within a deadline, and makes an error of a panic, which must
// not end what else the process does.
func Safely(ctx context.Context, timeout time.Duration, work func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			klog.FromContext(ctx).Error(nil, "A defect in the manager stopped a pass", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return work(ctx)
}

func (l *Loop) change(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
}

// Check fails for a loop that is stuck, and for nothing else: a restart would
// mend nothing else. It has the form of a health check of Kubernetes'.
func (l *Loop) Check(*http.Request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun.IsZero() {
		return nil
	}
	if took := l.options.Clock.Since(l.begun); took > stuckFactor*l.options.Timeout {
		return fmt.Errorf("a pass has taken %s, and should take %s at most", took.Round(time.Second), l.options.Timeout)
	}
	return nil
}
