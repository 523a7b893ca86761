package reconciler

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

const (
	// quiet is how long nothing may change before gathered changes are worked
	// on, and gatherAtMost how long they wait when changes go on.
	quiet        = time.Second
	gatherAtMost = 3 * time.Second
	// laneWorkers is how many Services a lane of the queue works on at once.
	laneWorkers = 10
)

// lane is a queue with workers of its own.
type lane = workqueue.TypedDelayingInterface[types.NamespacedName]

// queue works on Services after a while. The urgent ones have a lane of their
// own: the workers of the other may all be waiting for the API's quota.
type queue struct {
	clock    clock.WithTicker
	work     func(context.Context, types.NamespacedName)
	isUrgent func(types.NamespacedName) bool
	urgent   lane
	others   lane

	mu       sync.Mutex
	gathered map[types.NamespacedName]gathering
}

// gathering is when the first and the last of some changes came.
type gathering struct{ first, last time.Time }

// due is when the changes are worked on.
func (g gathering) due() time.Time {
	due := g.last.Add(quiet)
	if limit := g.first.Add(gatherAtMost); due.After(limit) {
		return limit
	}
	return due
}

// newQueue makes a queue. work must allow for the same Service in both lanes at
// once, as it may become urgent, or no longer be, while it is in one.
func newQueue(c clock.WithTicker, work func(context.Context, types.NamespacedName), isUrgent func(types.NamespacedName) bool) *queue {
	newLane := func() lane {
		return workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[types.NamespacedName]{Clock: c})
	}
	return &queue{
		clock: c, work: work, isUrgent: isUrgent, gathered: map[types.NamespacedName]gathering{},
		urgent: newLane(), others: newLane(),
	}
}

func (q *queue) laneOf(key types.NamespacedName) lane {
	if q.isUrgent(key) {
		return q.urgent
	}
	return q.others
}

func keyOf(svc *v1.Service) types.NamespacedName {
	return types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
}

// after has the Service worked on once the wait is over.
func (q *queue) after(key types.NamespacedName, wait time.Duration) {
	q.laneOf(key).AddAfter(key, wait)
}

// gather has the Service worked on once changes have stopped coming.
func (q *queue) gather(key types.NamespacedName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now()
	g, ok := q.gathered[key]
	if !ok {
		g.first = now
	}
	g.last = now
	q.gathered[key] = g
	q.laneOf(key).AddAfter(key, g.due().Sub(now))
}

// hold returns how long gathered changes still wait for others; 0: they are
// taken.
func (q *queue) hold(key types.NamespacedName) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	g, ok := q.gathered[key]
	if !ok {
		return 0
	}
	if wait := g.due().Sub(q.clock.Now()); wait > 0 {
		return wait
	}
	delete(q.gathered, key)
	return 0
}

func (q *queue) run(ctx context.Context) {
	var workers sync.WaitGroup
	for _, items := range []lane{q.urgent, q.others} {
		for range laneWorkers {
			workers.Go(func() {
				for q.next(ctx, items) {
				}
			})
		}
	}
	<-ctx.Done()
	q.stop()
	workers.Wait()
}

func (q *queue) stop() {
	q.urgent.ShutDown()
	q.others.ShutDown()
}

func (q *queue) next(ctx context.Context, items lane) bool {
	key, stopped := items.Get()
	if stopped {
		return false
	}
	defer items.Done(key)
	if wait := q.hold(key); wait > 0 {
		items.AddAfter(key, wait)
		return true
	}
	q.work(ctx, key)
	return true
}
