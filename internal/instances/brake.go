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
	lastSeen map[types.UID]time.Time
	// candidates are when Nodes first looked gone.
	candidates map[types.UID]time.Time
	// removed are when Nodes were let go, held when they were kept.
	removed, held map[types.UID]time.Time
}

func newBrake(settings config.Brake, metrics *Metrics, clock clock.PassiveClock) *brake {
	return &brake{
		settings: settings, clock: clock, metrics: metrics,
		lastSeen: map[types.UID]time.Time{}, candidates: map[types.UID]time.Time{},
		removed: map[types.UID]time.Time{}, held: map[types.UID]time.Time{},
	}
}

// seen notes when the API showed the Node's droplet.
func (b *brake) seen(node *v1.Node, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lastSeen[node.UID] = at
	delete(b.candidates, node.UID)
	b.release(node.UID)
}

// hold notes that a Node which looks gone is kept.
func (b *brake) hold(node *v1.Node) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holdLocked(node.UID)
}

func (b *brake) holdLocked(uid types.UID) {
	b.held[uid] = b.clock.Now()
	b.metrics.setBlocked(len(b.held))
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
	first, again := b.candidates[node.UID]
	if !again {
		b.candidates[node.UID] = now
		return errConfirming
	}
	if now.Sub(first) < confirmAfter {
		return errConfirming
	}
	if gone := b.suspects(all, first); b.exceeded(gone, len(all)) {
		if now.Sub(first) < blockedAfter {
			return errConfirming // the others may just not have been looked at yet
		}
		b.holdLocked(node.UID)
		return fmt.Errorf("%w: %d of %d, more than %d and more than %d%%. Check that the token is of the right team and that the droplets really are gone; then set %s=off and restart, or delete the Nodes by hand",
			errBlocked, gone, len(all), b.settings.Count, b.settings.Percent, config.EnvNodeBrake)
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

func (b *brake) exceeded(gone, total int) bool {
	return !b.settings.Off && gone > b.settings.Count && gone*100 > b.settings.Percent*total
}

// forget drops what is said of Nodes whose object is gone, and removals that
// are long past.
func (b *brake) forget(all []*v1.Node, now time.Time) {
	exists := make(map[types.UID]bool, len(all))
	for _, node := range all {
		exists[node.UID] = true
	}
	gone := func(uid types.UID, _ time.Time) bool { return !exists[uid] }
	maps.DeleteFunc(b.lastSeen, gone)
	maps.DeleteFunc(b.candidates, gone)
	maps.DeleteFunc(b.held, gone)
	maps.DeleteFunc(b.removed, func(_ types.UID, at time.Time) bool { return now.Sub(at) > b.settings.Window })
}
