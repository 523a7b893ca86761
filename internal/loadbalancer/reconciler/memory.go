package reconciler

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// memory is what this process remembers of its work for one Service. Without
// it, as after a restart, nothing goes wrong: it takes longer, or is told as
// something else.
type memory struct {
	agreed  agreement
	contact contact
	fight   fight
	shown   shown
	// drift is what somebody else changed and was told of, while it is not put
	// back.
	drift string
	// unclear is since when it isn't clear whether droplets without a Node are
	// gone, of those of which it isn't now. It is replaced, never changed.
	unclear map[int]time.Time
	// postponed is until when another try would only fail again.
	postponed time.Time
}

// agreement is how a load balancer was when it last was as its Service wants it.
type agreement struct {
	// id is the load balancer's; empty: there was no such moment.
	id string
	// settings is nil for a load balancer that was only just made.
	settings *loadbalancer.Settings
	// named is true where the Service gave the name.
	named bool
	// backends is true where only the backends were the manager's.
	backends bool
}

// recall returns what is remembered of the Service.
func (r *Reconciler) recall(svc *v1.Service) memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m, ok := r.memories[svc.UID]; ok {
		return *m
	}
	return memory{}
}

// note changes what is remembered of the Service.
func (r *Reconciler) note(svc *v1.Service, change func(*memory)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.memories[svc.UID]
	if !ok {
		m = &memory{}
		r.memories[svc.UID] = m
	}
	before := m.contact.id
	change(m)
	if m.contact.id != before {
		r.countContacts()
	}
}

// countContacts brings the metric up to date. r.mu is held.
func (r *Reconciler) countContacts() {
	n := 0
	for _, m := range r.memories {
		if m.contact.id != "" {
			n++
		}
	}
	r.metrics.waiting(n)
}

// postpone notes that nothing is gained by another sync before the wait is over.
func (r *Reconciler) postpone(svc *v1.Service, n next) {
	until := r.clock.Now().Add(n.wait)
	if n.seen {
		until = time.Time{}
	}
	r.note(svc, func(m *memory) { m.postponed = until })
}
