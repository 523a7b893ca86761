package firewall

import (
	"sync"
	"time"
)

const (
	// quiet is how long nothing may change before gathered changes are worked
	// on, and gatherAtMost how long they wait when changes go on.
	quiet        = time.Second
	gatherAtMost = 3 * time.Second
)

// gathering is when the first and the last of some changes of Services came. The
// zero value holds none.
type gathering struct {
	mu          sync.Mutex
	first, last time.Time
}

// change notes a change and returns how long until it is worked on.
func (g *gathering) change(now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.first.IsZero() {
		g.first = now
	}
	g.last = now
	return max(g.end().Sub(now), 0)
}

// due is when the changes are worked on, if there are any.
func (g *gathering) due() (time.Time, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.end(), !g.first.IsZero()
}

// end is for holders of the lock.
func (g *gathering) end() time.Time {
	end := g.last.Add(quiet)
	if limit := g.first.Add(gatherAtMost); end.After(limit) {
		return limit
	}
	return end
}

// take tells whether there were changes, and begins anew.
func (g *gathering) take() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	had := !g.first.IsZero()
	g.first, g.last = time.Time{}, time.Time{}
	return had
}
