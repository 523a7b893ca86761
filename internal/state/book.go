package state

import (
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// Standing is where the load balancer of a Service stands. It is the value of a
// label of metrics.
type Standing string

// Standings.
const (
	// StandingUnknown: this process has not worked for the Service yet.
	StandingUnknown Standing = "unknown"
	// StandingSettled: it is as the Service wants it.
	StandingSettled Standing = "settled"
	// StandingPending: DigitalOcean is making it.
	StandingPending Standing = "pending"
	// StandingDiffers: it differs, and is left so for now or for good.
	StandingDiffers Standing = "differs"
	// StandingInvalid: only an edit of the Service helps.
	StandingInvalid Standing = "invalid"
	// StandingErrored: DigitalOcean failed to make it.
	StandingErrored Standing = "errored"
	// StandingFailing: the last try to work on it failed.
	StandingFailing Standing = "failing"
	// StandingDisowned: it is left alone, as the Service asks for.
	StandingDisowned Standing = "disowned"
)

// Standings are all that there are.
func Standings() []Standing {
	return []Standing{
		StandingSettled, StandingPending, StandingDiffers, StandingInvalid,
		StandingErrored, StandingFailing, StandingDisowned, StandingUnknown,
	}
}

// isAway tells whether something is not as it is wanted to be.
func (s Standing) isAway() bool { return s != StandingSettled && s != StandingDisowned }

// Difference is one in which a load balancer is not as its Service wants it.
type Difference struct {
	Field string `json:"field"`
	// Text says what is, and what is wanted.
	Text string `json:"text"`
	// Fixed is true for what can't be changed on a load balancer that exists.
	Fixed bool `json:"fixed,omitempty"`
}

// Sync is the end of one try to work for a Service.
type Sync struct {
	// BalancerID is the id of its load balancer; empty: there is none, or it
	// isn't known.
	BalancerID string
	// Standing is what came of it. Differences make StandingSettled
	// StandingDiffers.
	Standing Standing
	Result   Result
	// Error is for people; empty: there was none.
	Error string
}

// entry is what the book says of a Service.
type entry struct {
	Sync
	differences []Difference
	// compared is true once the sync that is going on has come that far.
	compared bool
	synced   time.Time
	// since is when it was first seen not to be as wanted; zero: it is.
	since   time.Time
	change  string
	changed time.Time
}

// Book holds what is known of each Service's load balancer. A nil *Book holds
// nothing. It is safe for concurrent use.
type Book struct {
	clock clock.PassiveClock
	// exists returns the Services that there are.
	exists func() []*v1.Service

	mu      sync.Mutex
	entries map[types.UID]*entry
	// pruneAt is how many entries there may be before those of Services that
	// are gone are looked for.
	pruneAt int
	// began is when the first work was seen; zero: load balancers may be
	// somebody else's matter.
	began time.Time
	runs  map[string]func() Run
}

// minPrune is below which nobody looks whether entries are of any use still.
const minPrune = 64

// NewBook makes an empty book of the Services that exists returns.
func NewBook(clock clock.PassiveClock, exists func() []*v1.Service) *Book {
	return &Book{clock: clock, exists: exists, entries: map[types.UID]*entry{}, pruneAt: minPrune, runs: map[string]func() Run{}}
}

// Compared notes in what the Service's load balancer differs from what it must
// be; none: it doesn't.
func (b *Book) Compared(svc *v1.Service, differences []Difference) {
	b.write(svc, func(e *entry, _ time.Time) { e.differences, e.compared = differences, true })
}

// Agreed notes that everything was written that can be changed.
func (b *Book) Agreed(svc *v1.Service) {
	b.write(svc, func(e *entry, _ time.Time) {
		e.differences = slices.DeleteFunc(slices.Clone(e.differences), func(d Difference) bool { return !d.Fixed })
	})
}

// Changed notes what was changed in DigitalOcean for the Service.
func (b *Book) Changed(svc *v1.Service, what string) {
	b.write(svc, func(e *entry, now time.Time) { e.change, e.changed = what, now })
}

// Synced notes how a try to work for the Service ended.
func (b *Book) Synced(svc *v1.Service, s Sync) {
	b.write(svc, func(e *entry, now time.Time) {
		if !e.compared {
			e.differences = nil // they are of an earlier try
		}
		e.compared = false
		if s.Standing == StandingSettled && len(e.differences) > 0 {
			s.Standing = StandingDiffers
		}
		e.Sync, e.synced = s, now
		switch {
		case !s.Standing.isAway():
			e.since = time.Time{}
		case e.since.IsZero():
			e.since = now
		}
	})
}

// Forget drops what is said of a Service.
func (b *Book) Forget(uid types.UID) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.entries, uid)
}

func (b *Book) write(svc *v1.Service, change func(*entry, time.Time)) {
	if b == nil {
		return
	}
	now := b.clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.began.IsZero() {
		b.began = now
	}
	e, ok := b.entries[svc.UID]
	if !ok {
		b.prune()
		e = &entry{Sync: Sync{Standing: StandingUnknown}}
		b.entries[svc.UID] = e
	}
	change(e, now)
}

// prune drops the entries of Services that are gone, once there are many. A sync
// that ends after its Service would keep one for ever. b.mu is held.
func (b *Book) prune() {
	if len(b.entries) < b.pruneAt {
		return
	}
	b.keep(b.exists())
	b.pruneAt = max(2*len(b.entries), minPrune)
}

// keep drops the entries of all Services but these. b.mu is held.
func (b *Book) keep(services []*v1.Service) {
	exists := make(map[types.UID]bool, len(services))
	for _, svc := range services {
		exists[svc.UID] = true
	}
	maps.DeleteFunc(b.entries, func(uid types.UID, _ *entry) bool { return !exists[uid] })
}
