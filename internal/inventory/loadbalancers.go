package inventory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/digitalocean/godo"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/doapi"
)

// LoadBalancerAPI is what the snapshot of load balancers reads from.
type LoadBalancerAPI interface {
	Get(context.Context, string) (*godo.LoadBalancer, *godo.Response, error)
	List(context.Context, *godo.ListOptions) ([]godo.LoadBalancer, *godo.Response, error)
}

// ErrWrongAnswer is an answer that speaks of another object than was asked for.
var ErrWrongAnswer = errors.New("the API answered with something else")

// listLag is how long a list may lag behind a write: what this process wrote is
// believed over a list for that time.
const listLag = time.Minute

// LoadBalancers is a snapshot of the account's load balancers, which own writes
// keep current. It chooses the cheaper of a list and of asking for each, and
// callers at the same time share a call. That one is not there is never said
// from the snapshot. It is safe for concurrent use.
type LoadBalancers struct {
	api     LoadBalancerAPI
	lister  *doapi.Lister[godo.LoadBalancer, string]
	clock   clock.PassiveClock
	flights singleflight.Group

	mu   sync.Mutex
	byID map[string]balancer
	// deleted are those that this process deleted, and when: a list that lags
	// may still show them.
	deleted map[string]time.Time
	// listed is when the last whole list was begun.
	listed time.Time
	total  int
	// droplets are those that were seen last behind a load balancer.
	droplets []int
}

type balancer struct {
	state   *godo.LoadBalancer
	read    time.Time
	written time.Time
	// made is true of one that this process made, as long as it is being made
	// and was not written to since: a list that shows it can't be of before its
	// only write.
	made bool
}

// NewLoadBalancers makes an empty snapshot.
func NewLoadBalancers(api LoadBalancerAPI, clock clock.PassiveClock) *LoadBalancers {
	return &LoadBalancers{
		api:    api,
		lister: doapi.NewLister(api.List, func(lb godo.LoadBalancer) string { return lb.ID }),
		clock:  clock, byID: map[string]balancer{}, deleted: map[string]time.Time{},
	}
}

// Get returns a load balancer as it was at most maxAge ago. peers are the ids
// of those that the caller needs as well, now or soon: with many of them due, a
// list is cheaper. The error matches [doapi.IsNotFound] on the API's word only.
// The caller must not change what it gets.
func (l *LoadBalancers) Get(ctx context.Context, id string, maxAge time.Duration, peers func() []string) (*godo.LoadBalancer, error) {
	if lb, ok := l.cached(id, maxAge); ok {
		return lb, nil
	}
	if maxAge > 0 && l.listIsCheaper(maxAge, peers()) {
		if _, err := l.All(ctx, maxAge); err != nil {
			return nil, err
		}
		if lb, ok := l.cached(id, maxAge); ok {
			return lb, nil
		}
	}
	return l.read(ctx, id)
}

// Known returns the load balancer of an id as it was last seen, however long ago
// that was, without an API call. The caller must not change it.
func (l *LoadBalancers) Known(id string) (*godo.LoadBalancer, bool) {
	return l.cached(id, math.MaxInt64)
}

func (l *LoadBalancers) cached(id string, maxAge time.Duration) (*godo.LoadBalancer, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.byID[id]
	if !ok || l.clock.Since(b.read) >= maxAge {
		return nil, false
	}
	return b.state, true
}

func (l *LoadBalancers) listIsCheaper(maxAge time.Duration, peers []string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	due := 0
	for _, id := range peers {
		if b, ok := l.byID[id]; !ok || l.clock.Since(b.read) >= maxAge {
			due++
		}
	}
	return due > pagesFor(l.total)
}

func (l *LoadBalancers) read(ctx context.Context, id string) (*godo.LoadBalancer, error) {
	answer, err := share(&l.flights, "get "+id, func() (any, error) {
		begun := l.clock.Now()
		lb, _, err := l.api.Get(ctx, id)
		if doapi.IsNotFound(err) {
			l.drop(id, begun)
		}
		if err != nil {
			return nil, err
		}
		if lb == nil || lb.ID != id {
			return nil, fmt.Errorf("get load balancer %s: %w", id, ErrWrongAnswer)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.put(lb, begun)
		return lb, nil
	})
	if err != nil {
		return nil, err
	}
	return answer.(*godo.LoadBalancer), nil
}

// All returns every load balancer of the account as of at most maxAge ago, in no
// order. The caller must not change what it gets.
func (l *LoadBalancers) All(ctx context.Context, maxAge time.Duration) ([]*godo.LoadBalancer, error) {
	_, err := share(&l.flights, "list", func() (any, error) {
		if l.listedWithin(maxAge) {
			return nil, nil
		}
		begun := l.clock.Now()
		all, err := l.lister.All(ctx)
		if err == nil {
			l.store(all, begun)
		}
		return nil, err
	})
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*godo.LoadBalancer, 0, len(l.byID))
	for _, b := range l.byID {
		all = append(all, b.state)
	}
	return all, nil
}

func (l *LoadBalancers) listedWithin(maxAge time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.listed.IsZero() && l.clock.Since(l.listed) < maxAge
}

func (l *LoadBalancers) store(all []godo.LoadBalancer, begun time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listed, l.total = begun, len(all)
	shown := make(map[string]bool, len(all))
	for i := range all {
		lb := &all[i]
		shown[lb.ID] = true
		known := l.byID[lb.ID]
		if begun.Sub(l.deleted[lb.ID]) < listLag || begun.Sub(known.written) < listLag && !known.made {
			continue
		}
		l.put(lb, begun)
	}
	for id, b := range l.byID {
		if !shown[id] && b.read.Before(begun) && begun.Sub(b.written) >= listLag {
			delete(l.byID, id)
		}
	}
	for id, at := range l.deleted {
		if begun.Sub(at) >= listLag {
			delete(l.deleted, id)
		}
	}
}

// put notes a state that was read, unless a later one is known. l.mu is held.
func (l *LoadBalancers) put(lb *godo.LoadBalancer, read time.Time) {
	old := l.byID[lb.ID]
	if old.read.After(read) {
		return
	}
	made := old.made && old.state.Status == lb.Status
	l.shareDroplets(lb)
	l.byID[lb.ID] = balancer{state: lb, read: read, written: old.written, made: made}
}

// shareDroplets has load balancers with the same droplets share one slice of
// them: that is all of a cluster's, and there may be hundreds with thousands of
// droplets each. Nobody changes a state. l.mu is held.
func (l *LoadBalancers) shareDroplets(lb *godo.LoadBalancer) {
	if !slices.Equal(lb.DropletIDs, l.droplets) {
		l.droplets = slices.Clone(lb.DropletIDs) // without the room to grow that decoding leaves
	}
	lb.DropletIDs = l.droplets
}

// Created notes a load balancer that this process made, as the API answered.
func (l *LoadBalancers) Created(lb *godo.LoadBalancer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	l.shareDroplets(lb)
	l.byID[lb.ID] = balancer{state: lb, read: now, written: now, made: true}
}

// Written notes what the API answered to a write of ours.
func (l *LoadBalancers) Written(lb *godo.LoadBalancer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	l.shareDroplets(lb)
	l.byID[lb.ID] = balancer{state: lb, read: now, written: now}
}

// WrittenDroplets notes that droplets were added to and removed from a load
// balancer, to which the API answers nothing.
func (l *LoadBalancers) WrittenDroplets(id string, add, remove []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.byID[id]
	if !ok {
		return
	}
	lb := *b.state
	lb.DropletIDs = slices.DeleteFunc(slices.Clone(lb.DropletIDs), func(id int) bool { return slices.Contains(remove, id) })
	for _, id := range add {
		if !slices.Contains(lb.DropletIDs, id) {
			lb.DropletIDs = append(lb.DropletIDs, id)
		}
	}
	l.shareDroplets(&lb)
	b.state, b.written, b.made = &lb, l.clock.Now(), false
	l.byID[id] = b
}

// Deleted notes that the load balancer is gone, by a write of ours.
func (l *LoadBalancers) Deleted(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byID, id)
	l.deleted[id] = l.clock.Now()
}

// Doubt makes the next Get ask the API.
func (l *LoadBalancers) Doubt(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byID, id)
}

// drop forgets a load balancer that the API says is not there, unless it was
// written since.
func (l *LoadBalancers) drop(id string, begun time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.byID[id].written.After(begun) {
		delete(l.byID, id)
	}
}

// In returns the ids of the known load balancers with the status.
func (l *LoadBalancers) In(status string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []string
	for id, b := range l.byID {
		if b.state.Status == status {
			ids = append(ids, id)
		}
	}
	return ids
}
