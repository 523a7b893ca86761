// Package rehearsal is for a manager that only observes: it keeps every write
// from DigitalOcean and from Kubernetes, at the edge where requests leave the
// process, and notes what would have been written.
package rehearsal

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/state"
)

// Kinds of what would be written to. They are the values of a label of metrics.
const (
	KindLoadBalancer = "load_balancer"
	KindFirewall     = "firewall"
	KindTag          = "tag"
	KindNode         = "node"
	KindService      = "service"
	KindEvent        = "event"
	KindOther        = "other"
)

// Kinds are all that there are.
func Kinds() []string {
	return []string{KindLoadBalancer, KindFirewall, KindTag, KindNode, KindService, KindEvent, KindOther}
}

const (
	// expiry is how long a write counts that was not about to be made again:
	// every controller comes back to it well before.
	expiry = 2 * time.Hour
	// most bounds the book: what comes beyond it is counted and told only.
	most = 10_000
	// longest bounds what is kept and told of a write, in bytes.
	longest = 2000
)

// Book holds what would be written. A nil *Book notes nothing: everything is
// written. It is safe for concurrent use.
type Book struct {
	clock   clock.PassiveClock
	logger  klog.Logger
	metrics *Metrics

	mu      sync.Mutex
	entries map[key]*entry
}

type key struct{ kind, target string }

type entry struct {
	what        string
	since, last time.Time
}

// NewBook makes an empty book. What is noted is told to the logger, the same
// once.
func NewBook(logger klog.Logger, clock clock.PassiveClock, metrics *Metrics) *Book {
	return &Book{clock: clock, logger: logger, metrics: metrics, entries: map[key]*entry{}}
}

// Note notes what would be written to a target, and tells it unless it was noted
// so before.
func (b *Book) Note(kind, target, what string) {
	if b == nil {
		return
	}
	if len(what) > longest {
		what = what[:longest] + "…"
	}
	now := b.clock.Now()
	if !b.enter(key{kind, target}, what, now) {
		return
	}
	b.metrics.noted(kind)
	b.logger.Info("Would write, and only observes", "object", kind, "target", target, "what", what)
}

// Counted counts something that is told elsewhere, or not worth it.
func (b *Book) Counted(kind string) {
	if b != nil {
		b.metrics.noted(kind)
	}
}

// Settled notes that nothing is to be written to a target any more.
func (b *Book) Settled(kind, target string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.entries, key{kind, target})
	b.count()
}

// enter reports whether the write is news.
func (b *Book) enter(k key, what string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, known := b.entries[k]
	isNews := !known || e.what != what
	if isNews {
		b.expire(now)
		if known || len(b.entries) < most {
			e = &entry{what: what, since: now}
			b.entries[k] = e
			b.count()
		}
	}
	if e != nil {
		e.last = now
	}
	return isNews
}

// expire drops what was not about to be made again. b.mu is held.
func (b *Book) expire(now time.Time) {
	maps.DeleteFunc(b.entries, func(_ key, e *entry) bool { return now.Sub(e.last) >= expiry })
}

// count brings the metric up to date. b.mu is held.
func (b *Book) count() {
	counts := map[string]int{}
	for k := range b.entries {
		counts[k.kind]++
	}
	b.metrics.counted(counts)
}

// Pending are the writes that would be made, in a stable order.
func (b *Book) Pending() []state.Rehearsed {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expire(b.clock.Now())
	b.count()
	pending := []state.Rehearsed{}
	for k, e := range b.entries {
		pending = append(pending, state.Rehearsed{Object: k.kind, Target: k.target, What: e.what, Since: e.since, Last: e.last})
	}
	slices.SortFunc(pending, func(x, y state.Rehearsed) int {
		return cmp.Or(cmp.Compare(x.Object, y.Object), cmp.Compare(x.Target, y.Target))
	})
	return pending
}
