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
	// queueWorkers is how many Services the queue works on at once.
	queueWorkers = 10
)

// queue works on Services after a while, each by one worker at a time.
type queue struct {
	clock clock.WithTicker
	work  func(context.Context, types.NamespacedName)
	items workqueue.TypedDelayingInterface[types.NamespacedName]

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

func newQueue(c clock.WithTicker, work func(context.Context, types.NamespacedName)) *queue {
	return &queue{
		clock: c, work: work, gathered: map[types.NamespacedName]gathering{},
		items: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[types.NamespacedName]{Clock: c}),
	}
}

func keyOf(svc *v1.Service) types.NamespacedName {
	return types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
}

// after has the Service worked on once the wait is over.
func (q *queue) after(key types.NamespacedName, wait time.Duration) { q.items.AddAfter(key, wait) }

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
	q.items.AddAfter(key, g.due().Sub(now))
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
	for range queueWorkers {
		workers.Go(func() {
			for q.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	q.items.ShutDown()
	workers.Wait()
}

func (q *queue) next(ctx context.Context) bool {
	key, stopped := q.items.Get()
	if stopped {
		return false
	}
	defer q.items.Done(key)
	if wait := q.hold(key); wait > 0 {
		q.items.AddAfter(key, wait)
		return true
	}
	q.work(ctx, key)
	return true
}
