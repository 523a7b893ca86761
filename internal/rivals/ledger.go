package rivals

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Ledger notes when this process wrote to which Node or Service, by the clock of
// the API server. It is safe for concurrent use.
type Ledger struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	as    string
	begun time.Time
	// ahead is the API server's clock, of this machine's. It is known once the API
	// server has answered.
	ahead   time.Duration
	known   bool
	entries map[subject]*entry
}

type subject struct{ resource, name, subresource string }

type entry struct {
	last time.Time
	// underway counts writes without an answer yet, and unsure is true where one
	// never came.
	underway int
	unsure   bool
	// ended is when the last write was answered, or got lost.
	ended time.Time
}

// NewLedger makes an empty ledger.
func NewLedger(clock clock.PassiveClock) *Ledger {
	return &Ledger{clock: clock, entries: map[subject]*entry{}}
}

// Wrap notes the requests that go through it.
func (l *Ledger) Wrap(next http.RoundTripper) http.RoundTripper { return &noting{next, l} }

// Begin notes that this process begins to work.
func (l *Ledger) Begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = l.clock.Now().Add(l.ahead)
}

// Times are those of now.
func (l *Ledger) Times() Times {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Times{l.begun, l.clock.Now().Add(l.ahead)}
}

// As is the name under which this process writes; empty: it hasn't yet.
func (l *Ledger) As() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.as
}

// Wrote tells when this process last wrote to the object: never is the zero
// time. It isn't sure while a write is under way, or where no answer came to the
// last one.
func (l *Ledger) Wrote(resource, name, subresource string) (last time.Time, sure bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[subject{resource, name, subresource}]
	if e == nil {
		return time.Time{}, true
	}
	return e.last, e.underway == 0 && !e.unsure
}

// Forget drops the writes that ended before a time.
func (l *Ledger) Forget(before time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s, e := range l.entries {
		if e.underway == 0 && e.ended.Before(before) {
			delete(l.entries, s)
		}
	}
}

type noting struct {
	next   http.RoundTripper
	ledger *Ledger
}

// RoundTrip implements [http.RoundTripper].
func (t *noting) RoundTrip(req *http.Request) (*http.Response, error) {
	s, isWrite := written(req)
	if isWrite {
		t.ledger.sent(s, req.UserAgent())
	}
	resp, err := t.next.RoundTrip(req)
	date := time.Time{}
	if err == nil {
		date, _ = http.ParseTime(resp.Header.Get("Date")) // zero: not known
	}
	t.ledger.answered(s, isWrite, date)
	return resp, err
}

// WrappedRoundTripper lets client-go find its own transports.
func (t *noting) WrappedRoundTripper() http.RoundTripper { return t.next }

func (l *Ledger) sent(s subject, agent string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// As the API server names who writes without saying as whom.
	l.as, _, _ = strings.Cut(agent, "/")
	if l.entries[s] == nil {
		l.entries[s] = &entry{}
	}
	l.entries[s].underway++
}

func (l *Ledger) answered(s subject, isWrite bool, date time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if !date.IsZero() {
		l.ahead = date.Sub(now)
		if !l.known && !l.begun.IsZero() {
			l.begun = l.begun.Add(l.ahead) // noted by this machine's clock
		}
		l.known = true
	}
	if !isWrite {
		return
	}
	e := l.entries[s]
	e.underway--
	e.unsure, e.ended = date.IsZero(), now.Add(l.ahead)
	if date.After(e.last) {
		e.last = date
	}
}

// written tells what a request writes to, of what is noted.
func written(req *http.Request) (s subject, ok bool) {
	if req.Method != http.MethodPatch && req.Method != http.MethodPut {
		return subject{}, false
	}
	path, ok := strings.CutPrefix(req.URL.Path, "/api/v1/")
	if !ok {
		_, path, ok = strings.Cut(req.URL.Path, "/api/v1/") // behind a prefix of the server's
	}
	if !ok {
		return subject{}, false
	}
	parts := strings.Split(path, "/")
	namespace := ""
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1]+"/", parts[2:]
	}
	if len(parts) < 2 || parts[0] != "nodes" && parts[0] != "services" {
		return subject{}, false
	}
	return subject{parts[0], namespace + parts[1], strings.Join(parts[2:], "/")}, true
}
