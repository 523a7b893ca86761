package reconciler

import (
	"context"
	"hash/fnv"

	"golang.org/x/sync/semaphore"
)

// lockBuckets is how many Services are worked on at once at most; two that
// share a bucket wait for each other.
const lockBuckets = 512

// locks serialise what is done for one Service: the framework ensures and updates
// the same one at once. Semaphores serve, not mutexes, as whoever waits for a mutex
// holds up the fake time of tests.
type locks [lockBuckets]*semaphore.Weighted

func newLocks() *locks {
	l := &locks{}
	for i := range l {
		l[i] = semaphore.NewWeighted(1)
	}
	return l
}

// lock waits for its turn, whatever becomes of the context meanwhile.
func (l *locks) lock(ctx context.Context, key string) (unlock func()) {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(key)) // it can't fail
	s := l[hash.Sum32()%lockBuckets]
	_ = s.Acquire(context.WithoutCancel(ctx), 1) // it fails for a context that ends alone
	return func() { s.Release(1) }
}
