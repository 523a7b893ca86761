package instances

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/config"
)

var (
	errBlocked    = errors.New("too many Nodes look gone at once")
	errConfirming = errors.New("asked again before the Node is removed")
)

// confirmAfter is the time between the first answer that a droplet is gone and
// the one that is acted on. Meanwhile the other Nodes are looked at, so that
// the brake knows how many are concerned before the first is removed.
const confirmAfter = 10 * time.Second

// blockedAfter is how long it may take to look at the others before the brake
// is said to hold.
const blockedAfter = time.Minute

// brake keeps count of Nodes that look gone and refuses to let any go when
// they are too many at once. What counts are all Nodes that are not ready and
// whose droplet wasn't seen since the first answer that this one is gone: until
// it is seen, it may be gone as well.
type brake struct {
	settings config.Brake
	clock    clock.PassiveClock
	metrics  *Metrics

	mu sync.Mutex
	// lastSeen is when the API last showed a Node's droplet.
	lastSeen   map[types.UID]time.Time
	candidates map[types.UID]candidate
	// removed are when Nodes were let go, held since when they are kept.
	removed map[types.UID]time.Time
	held    map[types.UID]candidate
}

// candidate is a Node that looks gone, since first and at last.
type candidate struct{ first, last time.Time }

// lapsesAfter is how long one answer that a droplet is gone counts: the next is
// asked for within minutes while the Node is not ready. A single wrong answer
// must not be half of a removal for ever.
const lapsesAfter = 10 * time.Minute

func newBrake(settings config.Brake, metrics *Metrics, clock clock.PassiveClock) *brake {
	return &brake{
		settings: settings, clock: clock, metrics: metrics,
		lastSeen: map[types.UID]time.Time{}, candidates: map[types.UID]candidate{},
		removed: map[types.UID]time.Time{}, held: map[types.UID]candidate{},
	}
}

// seen notes when the API showed the Node's droplet.
//
// It returns true when that ends that the Node was held.
func (b *brake) seen(node *v1.Node, at time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at.After(b.lastSeen[node.UID]) {
		b.lastSeen[node.UID] = at
	}
	// What was read before the API said "not found" takes nothing back.
	if c, ok := b.candidates[node.UID]; ok && at.After(c.last) {
		delete(b.candidates, node.UID)
	}
	held, ok := b.held[node.UID]
	if ok = ok && at.After(held.last); ok {
		b.release(node.UID)
	}
	return ok
}

// tidy forgets Nodes that don't exist any more, where it matters to anybody.
func (b *brake) tidy(nodes func() []*v1.Node) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.held) > 0 {
		b.forget(nodes(), b.clock.Now())
	}
}

// hold notes that a Node which looks gone is kept.
func (b *brake) hold(node *v1.Node) {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.held[node.UID]
	if held.last = b.clock.Now(); held.first.IsZero() {
		held.first = held.last
	}
	b.held[node.UID] = held
	b.metrics.setBlocked(len(b.held))
}

func (b *brake) isHeld(node *v1.Node) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, held := b.held[node.UID]
	return held
}

// heldSince is since when a Node is kept; zero: it isn't held.
func (b *brake) heldSince(node *v1.Node) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held[node.UID].first
}

func (b *brake) release(uid types.UID) {
	delete(b.held, uid)
	b.metrics.setBlocked(len(b.held))
}

// mayRemove decides about a Node whose droplet is gone, as the API just said.
// The error is errConfirming the first time, and errBlocked when too many of
// all Nodes may be gone.
func (b *brake) mayRemove(node *v1.Node, all []*v1.Node) error {
	now := b.clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(all, now)
	c := b.candidates[node.UID]
	if c.first.IsZero() {
		c.first = now
	}
	c.last = now
	b.candidates[node.UID] = c
	if now.Sub(c.first) < confirmAfter {
		return errConfirming
	}
	ours := countOurs(all)
	if gone := b.suspects(all, c.first); b.exceeded(gone, ours) {
		if now.Sub(c.first) < blockedAfter {
			return errConfirming // the others may just not have been looked at yet
		}
		return fmt.Errorf("%w: %d of %d, more than %d and more than %d%%. Check that the token is of the right team and that the droplets really are gone; then set %s=off and restart, or delete the Nodes by hand",
			errBlocked, gone, ours, b.settings.Count, b.settings.Percent, config.EnvNodeBrake)
	}
	delete(b.candidates, node.UID)
	b.release(node.UID)
	b.removed[node.UID] = now
	return nil
}

// suspects counts the Nodes that were let go a moment ago, and those that may
// be gone since the time.
func (b *brake) suspects(all []*v1.Node, since time.Time) int {
	n := len(b.removed)
	for _, node := range all {
		_, removed := b.removed[node.UID]
		if !removed && isUnready(node) && isOurs(node) && b.lastSeen[node.UID].Before(since) {
			n++
		}
	}
	return n
}

// countOurs counts the Nodes that are droplets: others can't be gone, so they
// must not make the gone ones look few.
func countOurs(all []*v1.Node) int {
	n := 0
	for _, node := range all {
		if isOurs(node) {
			n++
		}
	}
	return n
}

func (b *brake) exceeded(gone, total int) bool {
	return !b.settings.Off && gone > b.settings.Count && gone*100 > b.settings.Percent*total
}

// forget drops what is said of Nodes whose object is gone, and removals that
// are long past.
func (b *brake) forget(all []*v1.Node, now time.Time) {
	exists := uids(all)
	gone := func(uid types.UID, _ time.Time) bool { return !exists[uid] }
	maps.DeleteFunc(b.lastSeen, gone)
	maps.DeleteFunc(b.held, func(uid types.UID, _ candidate) bool { return !exists[uid] })
	maps.DeleteFunc(b.candidates, func(uid types.UID, c candidate) bool { return !exists[uid] || now.Sub(c.last) > lapsesAfter })
	b.metrics.setBlocked(len(b.held))
	maps.DeleteFunc(b.removed, func(_ types.UID, at time.Time) bool { return now.Sub(at) > b.settings.Window })
}
