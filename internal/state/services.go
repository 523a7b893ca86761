package state

import (
	"cmp"
	"slices"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// Service is a Service and its load balancer, as operators see them.
type Service struct {
	Namespace    string       `json:"namespace"`
	Name         string       `json:"name"`
	LoadBalancer LoadBalancer `json:"loadBalancer"`
	Standing     Standing     `json:"standing"`
	// AwaySince is when the load balancer was first seen not to be as wanted;
	// zero: it is.
	AwaySince   time.Time    `json:"awaySince,omitzero"`
	Differences []Difference `json:"differences,omitempty"`
	// Error and Result are those of the last try to work for the Service, which
	// ended at Synced.
	Error  string    `json:"error,omitempty"`
	Result Result    `json:"result,omitempty"`
	Synced time.Time `json:"synced,omitzero"`
	// Change is what the manager did last, since its start.
	Change  string    `json:"change,omitempty"`
	Changed time.Time `json:"changed,omitzero"`
}

// LoadBalancer is a load balancer as it was last read.
type LoadBalancer struct {
	ID        string   `json:"id,omitempty"`
	Name      string   `json:"name,omitempty"`
	Status    string   `json:"status,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	Droplets  int      `json:"droplets"`
}

// Services describes each Service that is the manager's to make a load balancer
// for, those first whose load balancer is not as wanted, and forgets those that
// are gone. known returns a load balancer as it was last read.
func (b *Book) Services(known func(id string) (*godo.LoadBalancer, bool)) []Service {
	all := b.exists()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keep(all)
	services := make([]Service, 0, len(all))
	for _, svc := range all {
		e, ok := b.entries[svc.UID]
		if !ok && !isManaged(svc) {
			continue
		}
		if !ok {
			e = b.unknown(svc)
		}
		services = append(services, e.describe(svc, known))
	}
	slices.SortFunc(services, byUrgency)
	return services
}

// isManaged tells whether a Service is the framework's service controller's.
func isManaged(svc *v1.Service) bool {
	return svc.Spec.Type == v1.ServiceTypeLoadBalancer && svc.Spec.LoadBalancerClass == nil
}

// unknown is what is said of a Service for which nothing was done yet. It is
// away since it could have been: where load balancers are not the manager's
// matter, never.
func (b *Book) unknown(svc *v1.Service) *entry {
	e := &entry{Sync: Sync{Standing: StandingUnknown}}
	if b.began.IsZero() {
		return e
	}
	if e.since = b.began; svc.CreationTimestamp.After(b.began) {
		e.since = svc.CreationTimestamp.Time
	}
	return e
}

func (e *entry) describe(svc *v1.Service, known func(string) (*godo.LoadBalancer, bool)) Service {
	s := Service{
		Namespace: svc.Namespace, Name: svc.Name, Standing: e.Standing, AwaySince: e.since,
		Differences: e.differences, Error: e.Error, Result: e.Result, Synced: e.synced,
		Change: e.change, Changed: e.changed,
	}
	s.LoadBalancer.ID = cmp.Or(e.BalancerID, svc.Annotations[annotation.LoadBalancerID])
	lb, ok := known(s.LoadBalancer.ID)
	if !ok {
		return s
	}
	s.LoadBalancer = LoadBalancer{ID: lb.ID, Name: lb.Name, Status: lb.Status, Droplets: len(lb.DropletIDs)}
	for _, address := range []string{lb.IP, lb.IPv6} {
		if address != "" {
			s.LoadBalancer.Addresses = append(s.LoadBalancer.Addresses, address)
		}
	}
	return s
}

// byUrgency sorts those that have been away for longest to the front, and the
// others by name.
func byUrgency(a, b Service) int {
	return cmp.Or(compareSince(a.AwaySince, b.AwaySince), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// compareSince sorts earlier times to the front, and none to the end.
func compareSince(a, b time.Time) int {
	switch {
	case a.IsZero() && b.IsZero():
		return 0
	case a.IsZero():
		return 1
	case b.IsZero():
		return -1
	}
	return a.Compare(b)
}
