package tagging

import (
	"maps"
	"strings"
	"time"

	"github.com/digitalocean/godo"
)

// memory is what was done, by which a pass leaves out what the snapshot may not
// show yet, or never will. One pass at a time uses it.
type memory struct {
	// tagged are the load balancers that were tagged, and when; refused are
	// those that DigitalOcean finds in the list, but not to tag them.
	tagged, refused map[string]time.Time
	// unmarked are the marks that were taken off, and when.
	unmarked map[string]time.Time
	// shows is true once any load balancer was shown with a tag. A token that
	// may not read tags sees none, and then nothing looks tagged, ever.
	shows bool
}

func newMemory() memory {
	return memory{tagged: map[string]time.Time{}, refused: map[string]time.Time{}, unmarked: map[string]time.Time{}}
}

// refusedFor is how long a load balancer is left out that can't be tagged.
const refusedFor = time.Hour

// observe notes what the snapshot tells, and forgets what is over. lag is how
// long a write may be missing from the snapshot.
func (m *memory) observe(balancers []*godo.LoadBalancer, now time.Time, lag time.Duration) {
	exists := make(map[string]bool, len(balancers))
	for _, lb := range balancers {
		exists[lb.ID] = true
		m.shows = m.shows || len(lb.Tags) > 0
	}
	maps.DeleteFunc(m.tagged, func(id string, at time.Time) bool { return !exists[id] || m.shows && now.Sub(at) >= lag })
	maps.DeleteFunc(m.refused, func(_ string, at time.Time) bool { return now.Sub(at) >= refusedFor })
	maps.DeleteFunc(m.unmarked, func(_ string, at time.Time) bool { return now.Sub(at) >= lag })
}

// isSettled tells whether the load balancer needs no tagging for now, whatever
// the snapshot shows.
func (m *memory) isSettled(id string) bool {
	_, tagged := m.tagged[id]
	_, refused := m.refused[id]
	return tagged || refused
}

func (m *memory) isUnmarked(mark string) bool {
	_, gone := m.unmarked[strings.ToLower(mark)]
	return gone
}
