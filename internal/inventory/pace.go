package inventory

import "time"

// pace spreads calls over time: after a burst, one call each interval on
// average. A read that takes several calls (a list of many pages) may start
// when one call would be allowed; its whole cost then delays the next.
type pace struct {
	interval time.Duration
	burst    int
	// next is when the calls made so far are paid off.
	next time.Time
}

// allowed tells whether a read may start now.
func (p *pace) allowed(now time.Time) bool {
	return !p.next.Add(-time.Duration(p.burst-1) * p.interval).After(now)
}

// spend books calls that were made.
func (p *pace) spend(now time.Time, calls int) {
	if p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(time.Duration(calls) * p.interval)
}

// backoff waits longer the longer something has been tried in vain: a quarter
// of that time, within bounds.
type backoff struct{ since, next time.Time }

func (b backoff) again(now time.Time, shortest, longest time.Duration) backoff {
	if b.since.IsZero() {
		b.since = now
	}
	b.next = now.Add(min(max(now.Sub(b.since)/4, shortest), longest))
	return b
}
