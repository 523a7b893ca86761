// Package gate holds back what this process must not write: after it stood still
// for a while, as when its machine was paused or its CPU taken away, until it is
// clear who leads (another replica may have taken over meanwhile, and everything
// that was due goes off at once when the process wakes up, before the leader
// election has looked at its lease); and for good once the process ends.
package gate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// beat is how often the process shows that it runs.
const beat = time.Second

// Gate is what writes go through. The zero value holds nothing back.
type Gate struct {
	mu      sync.Mutex
	options Options // without a clock: standstills are not looked for
	last    time.Time
	// doubted is since when it is not clear whether this process leads still,
	// and settled is closed when it is; zero and nil: it is clear.
	doubted time.Time
	settled chan struct{}

	closed bool
	inside int
	// empty is closed when nothing is inside any more; nil: nobody waits for it.
	empty chan struct{}
}

// Options say when writes are held back after a standstill.
type Options struct {
	Clock clock.WithTicker
	// Harmless is how long the process may stand still without a doubt that it
	// leads. For the holder of a lease that is the lease's duration less the time
	// after which it gives up to renew it.
	Harmless time.Duration
	// Leads tells whether it is certain that this process has led since that
	// time. It is asked again until it is, or the process ends.
	Leads func(ctx context.Context, since time.Time) bool
}

// Run notices standstills until the context ends.
func (g *Gate) Run(ctx context.Context, o Options) {
	g.mu.Lock()
	g.options, g.last = o, o.Clock.Now()
	g.mu.Unlock()
	ticker := o.Clock.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			g.mu.Lock()
			defer g.mu.Unlock()
			g.options = Options{}
			g.settle()
			return
		case <-ticker.C():
			g.beat(ctx)
		}
	}
}

// beat looks for a standstill, and whether it does no harm any more.
func (g *Gate) beat(ctx context.Context) {
	g.mu.Lock()
	g.look()
	since, leads := g.doubted, g.options.Leads
	g.mu.Unlock()
	if since.IsZero() || !leads(ctx, since) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.look()
	if g.doubted.Equal(since) { // it didn't stand still while it asked
		g.settle()
	}
}

// look notices a standstill. g.mu is held.
func (g *Gate) look() {
	if g.options.Clock == nil {
		return
	}
	now := g.options.Clock.Now()
	// A machine that was suspended may not have counted the time: the wall
	// clock tells then.
	stood := max(now.Sub(g.last), now.Round(0).Sub(g.last.Round(0)))
	g.last = now
	if stood <= g.options.Harmless {
		return
	}
	g.doubted = now
	if g.settled == nil {
		g.settled = make(chan struct{})
	}
}

// settle lets writes go on. g.mu is held.
func (g *Gate) settle() {
	if g.settled != nil {
		close(g.settled)
	}
	g.doubted, g.settled = time.Time{}, nil
}

// Enter returns once a write may go out; leave must be called when it is done.
// It fails when the context ends before, and only then: where the gate is
// closed, the process ends soon, and nobody is to be told of a failure.
func (g *Gate) Enter(ctx context.Context) (leave func(), err error) {
	for {
		wait, why := g.admit()
		if why == "" {
			return g.leave, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("not sent, as %s: %w", why, ctx.Err())
		case <-wait:
		}
	}
}

// admit lets a write in, or says until when and why it waits.
func (g *Gate) admit() (wait <-chan struct{}, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, "the process ends"
	}
	if g.look(); g.settled != nil {
		return g.settled, "the process stood still and may not lead any more"
	}
	g.inside++
	return nil, ""
}

func (g *Gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside--; g.inside == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// Close lets no write in any more, and waits for those that are on their way. It
// fails when the context ends before they are done.
func (g *Gate) Close(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true
	if g.inside == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.empty == nil {
		g.empty = make(chan struct{})
	}
	empty := g.empty
	g.mu.Unlock()
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait for the last writes: %w", ctx.Err())
	case <-empty:
		return nil
	}
}
