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

func (l *locks) bucket(key string) *semaphore.Weighted {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(key)) // it can't fail
	return l[hash.Sum32()%lockBuckets]
}

// lock waits for its turn, whatever becomes of the context meanwhile.
func (l *locks) lock(ctx context.Context, key string) (unlock func()) {
	s := l.bucket(key)
	_ = s.Acquire(context.WithoutCancel(ctx), 1) // it fails for a context that ends alone
	return func() { s.Release(1) }
}

// tryLock doesn't wait: ok is false where it isn't its turn.
func (l *locks) tryLock(key string) (unlock func(), ok bool) {
	s := l.bucket(key)
	return func() { s.Release(1) }, s.TryAcquire(1)
}
