package reconciler

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// sharedAge is how long the candidates may serve other Services than the one
// that they were read for. A change of Nodes is worked on [quiet] after it came
// at the earliest, so no Service's backends are as of before it.
const sharedAge = quiet / 2

// sharedCandidates are the Nodes that may be backends, read once for all
// Services that are synced at about the same time: at a start, each of hundreds
// would go over each of thousands of Nodes.
type sharedCandidates struct {
	flights singleflight.Group

	mu         sync.Mutex
	read       time.Time
	candidates []loadbalancer.Candidate
	waiting    bool
}

// latest returns the candidates if they are fresh.
func (s *sharedCandidates) latest(now time.Time) (candidates []loadbalancer.Candidate, waiting, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.candidates, s.waiting, !s.read.IsZero() && now.Sub(s.read) < sharedAge
}

func (s *sharedCandidates) put(w *work, read time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.candidates, s.waiting, s.read = w.candidates, w.waiting, read
}

// shareBackends has the work go by candidates that were read a moment ago for
// any Service. Nobody changes them.
func (r *Reconciler) shareBackends(ctx context.Context, w *work) error {
	_, err, _ := r.shared.flights.Do("", func() (any, error) {
		begun := r.clock.Now()
		if _, _, ok := r.shared.latest(begun); ok {
			return nil, nil
		}
		read := &work{}
		if err := r.readBackends(ctx, read, begun.Add(-backendAge)); err != nil {
			return nil, err
		}
		r.shared.put(read, begun)
		return nil, nil
	})
	if err != nil {
		return err
	}
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	w.candidates, w.waiting = r.shared.candidates, r.shared.waiting
	return nil
}
