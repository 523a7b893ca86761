package instances

import (
	"errors"
	"fmt"
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

// brake keeps count of Nodes that look gone and refuses to let any go when
// they are too many at once.
type brake struct {
	settings config.Brake
	clock    clock.PassiveClock
	metrics  *Metrics

	mu sync.Mutex
	// candidates are when Nodes first looked gone.
	candidates map[types.UID]time.Time
	// unknown are when Nodes were last looked at without a clear answer: they
	// may be gone as well, so they count.
	unknown map[types.UID]time.Time
	// removed are when Nodes were let go.
	removed map[types.UID]time.Time
}

func newBrake(settings config.Brake, metrics *Metrics, clock clock.PassiveClock) *brake {
	return &brake{
		settings: settings, clock: clock, metrics: metrics,
		candidates: map[types.UID]time.Time{}, unknown: map[types.UID]time.Time{}, removed: map[types.UID]time.Time{},
	}
}

// seen notes that the Node's droplet exists.
func (b *brake) seen(node *v1.Node) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.candidates, node.UID)
	delete(b.unknown, node.UID)
	if len(b.candidates) == 0 {
		b.metrics.setBlocked(0)
	}
}

// unclear notes that it couldn't be told whether the Node's droplet exists.
func (b *brake) unclear(node *v1.Node) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unknown[node.UID] = b.clock.Now()
}

// mayRemove decides about a Node whose droplet is gone, as the API just said.
// The error is errConfirming the first time, and errBlocked when too many of
// all Nodes look gone.
func (b *brake) mayRemove(node *v1.Node, all []*v1.Node) error {
	now := b.clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget(all, now)
	delete(b.unknown, node.UID)
	first, again := b.candidates[node.UID]
	if !again {
		b.candidates[node.UID] = now
		return errConfirming
	}
	if now.Sub(first) < confirmAfter {
		return errConfirming
	}
	if gone, total := b.suspects(), len(all)+len(b.removed); b.exceeded(gone, total) {
		b.metrics.setBlocked(len(b.candidates))
		return fmt.Errorf("%w: %d of %d, more than %d and more than %d%%. Check that the token is of the right team and that the droplets really are gone; then set %s=off and restart, or delete the Nodes by hand",
			errBlocked, gone, total, b.settings.Count, b.settings.Percent, config.EnvNodeBrake)
	}
	b.metrics.setBlocked(0)
	delete(b.candidates, node.UID)
	b.removed[node.UID] = now
	return nil
}

// suspects is how many Nodes are gone, look gone, or may be gone.
func (b *brake) suspects() int {
	n := len(b.candidates) + len(b.removed)
	for uid := range b.unknown {
		if _, counted := b.candidates[uid]; !counted {
			n++
		}
	}
	return n
}

func (b *brake) exceeded(gone, total int) bool {
	return !b.settings.Off && gone > b.settings.Count && gone*100 > b.settings.Percent*total
}

// unknownFor is how long an unclear answer counts. The framework looks at
// every Node that isn't ready each few seconds.
const unknownFor = 2 * time.Minute

// forget drops what is said of Nodes whose object is gone, and what is long
// past.
func (b *brake) forget(all []*v1.Node, now time.Time) {
	exist := make(map[types.UID]bool, len(all))
	for _, node := range all {
		exist[node.UID] = true
	}
	for uid := range b.candidates {
		if !exist[uid] {
			delete(b.candidates, uid)
		}
	}
	for uid, at := range b.unknown {
		if !exist[uid] || now.Sub(at) > unknownFor {
			delete(b.unknown, uid)
		}
	}
	for uid, at := range b.removed {
		if now.Sub(at) > b.settings.Window {
			delete(b.removed, uid)
		}
	}
}
