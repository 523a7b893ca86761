// Package standstill notices that the process stood still for a while, as when
// its machine was paused or its CPU taken away, and holds back writes until it
// is clear who leads: another replica may have taken over meanwhile, and
// everything that was due goes off at once when the process wakes up, before the
// leader election has looked at its lease.
package standstill

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// beat is how often the process shows that it runs.
const beat = time.Second

// Guard holds back writes after the process stood still. The zero value, and one
// that is not running, holds nothing back.
type Guard struct {
	mu    sync.Mutex
	clock clock.WithTicker
	// longest is how long it may stand still without a doubt, and settles how
	// long writes wait after more than that.
	longest, settles time.Duration
	last, heldUntil  time.Time
}

// Run notices standstills until the context ends. A standstill shorter than
// longest does no harm; after one that is longer, writes are held back for
// settles. For a leader with a lease these are the lease's duration less the
// time after which it gives up to renew it, and that time: a leader that still
// runs after it has renewed its lease.
func (g *Guard) Run(ctx context.Context, c clock.WithTicker, longest, settles time.Duration) {
	g.mu.Lock()
	g.clock, g.longest, g.settles, g.last = c, longest, settles, c.Now()
	g.mu.Unlock()
	ticker := c.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			g.mu.Lock()
			g.clock = nil
			g.mu.Unlock()
			return
		case <-ticker.C():
			g.look()
		}
	}
}

// look notices a standstill, and returns how long writes are still held back.
func (g *Guard) look() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.clock == nil {
		return 0
	}
	now := g.clock.Now()
	// A machine that was suspended may not have counted the time: the wall
	// clock tells then.
	stood := max(now.Sub(g.last), now.Round(0).Sub(g.last.Round(0)))
	g.last = now
	if stood > g.longest {
		g.heldUntil = now.Add(g.settles)
	}
	return g.heldUntil.Sub(now)
}

// Wait returns once writes may go out, or an error when the context ends before.
func (g *Guard) Wait(ctx context.Context) error {
	for {
		hold := g.look()
		if hold <= 0 {
			return nil
		}
		timer := g.timer(hold)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("held back for %s, as the process stood still and may not lead any more: %w", hold.Round(time.Second), ctx.Err())
		case <-timer.C():
		}
	}
}

func (g *Guard) timer(wait time.Duration) clock.Timer {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.clock == nil { // it ended meanwhile
		return clock.RealClock{}.NewTimer(0)
	}
	return g.clock.NewTimer(wait)
}
