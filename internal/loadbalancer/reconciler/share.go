package reconciler

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/periodic"
)

// sharedAge is how long the candidates may serve other Services than the one
// that they were read for, unless Nodes change.
const sharedAge = quiet / 2

// sharedCandidates are the Nodes that may be backends, read once for all
// Services that are synced at about the same time: at a start, each of hundreds
// would go over each of thousands of Nodes.
type sharedCandidates struct {
	flights singleflight.Group

	mu         sync.Mutex
	changes    int // of Nodes, so far
	read       time.Time
	candidates []loadbalancer.Candidate
	waiting    bool
}

// nodesChanged has whoever comes from now on read the Nodes anew. It is called
// before Services are queued for the change, so that none is synced for it with
// Nodes as of before it.
func (s *sharedCandidates) nodesChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	s.read = time.Time{}
}

// version tells the readings before a change of Nodes from those after it.
func (s *sharedCandidates) version() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes
}

// latest returns the candidates if they are fresh.
func (s *sharedCandidates) latest(now time.Time) (candidates []loadbalancer.Candidate, waiting, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.candidates, s.waiting, !s.read.IsZero() && now.Sub(s.read) < sharedAge
}

// put notes what was read, unless Nodes have changed since the version.
func (s *sharedCandidates) put(w *work, read time.Time, version int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changes == version {
		s.candidates, s.waiting, s.read = w.candidates, w.waiting, read
	}
}

// shareBackends has the work go by candidates that were read a moment ago for
// any Service. Nobody changes them. What is read for all doesn't end with the
// one Service that came first; priorities are apart, so that none waits behind
// a lower one.
func (r *Reconciler) shareBackends(ctx context.Context, w *work) error {
	version := r.shared.version()
	flight := r.shared.flights.DoChan(fmt.Sprint(doapi.PriorityOf(ctx), version), func() (any, error) {
		begun := r.clock.Now()
		if candidates, waiting, ok := r.shared.latest(begun); ok {
			return &work{candidates: candidates, waiting: waiting}, nil
		}
		read := &work{}
		// A panic in here would end the process.
		err := periodic.Safely(context.WithoutCancel(ctx), syncTimeout, func(ctx context.Context) error {
			return r.readBackends(ctx, read, begun.Add(-backendAge))
		})
		if err != nil {
			return nil, err
		}
		r.shared.put(read, begun, version)
		return read, nil
	})
	select {
	case <-ctx.Done():
		return fmt.Errorf("look up backends: %w", ctx.Err())
	case result := <-flight:
		if result.Err != nil {
			return result.Err
		}
		read := result.Val.(*work)
		w.candidates, w.waiting = read.candidates, read.waiting
		return nil
	}
}
