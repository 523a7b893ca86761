package inventory

import (
	"context"
	"fmt"
	"time"
)

// Watch returns the droplet of a Node that is not ready. It is at most ten
// seconds old when the droplet is one of few, and may be older when many are
// watched, so that watching costs a call each ten seconds on average and no
// more. The error is [ErrGone] as for Get, and [ErrNotNow] when nothing is
// known and asking has to wait.
func (d *Droplets) Watch(ctx context.Context, id int) (Droplet, error) {
	p, doubted, allowed := d.watchPace(id)
	// What was known before the API said "not found" is no answer any more.
	if droplet, ok := d.cached(id, watchInterval); ok && !doubted {
		return droplet, nil
	}
	if !allowed {
		if droplet, ok := d.cached(id, maxWatchAge); ok && !doubted {
			return droplet, nil
		}
		return Droplet{}, fmt.Errorf("droplet %d: %w", id, ErrNotNow)
	}
	return d.read(ctx, id, watchInterval, d.cluster.Unready(), p)
}

// maxWatchAge is how old an answer about a droplet may be that is watched
// together with many others.
const maxWatchAge = 10 * time.Minute

// watchPace is the pace that applies to a droplet that is watched.
func (d *Droplets) watchPace(id int) (p *pace, doubted, allowed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Now()
	doubt, doubted := d.doubts[id]
	if !doubted {
		return &d.watch, false, d.watch.allowed(now) && d.isOldest(id)
	}
	return &d.doubt, true, !now.Before(doubt.next) && d.doubt.allowed(now)
}

// isOldest gives the turn to the droplet that was not looked at for longest.
func (d *Droplets) isOldest(id int) bool {
	own := d.index.byID[id].Read // zero when nothing is known
	for _, other := range d.cluster.Unready() {
		if _, doubted := d.doubts[other]; !doubted && d.index.byID[other].Read.Before(own) {
			return false
		}
	}
	return true
}
