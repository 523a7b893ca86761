package reconciler

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

func TestQueueGathersChanges(t *testing.T) {
	tests := map[string]struct {
		changes []time.Duration
		want    []time.Duration
	}{
		"one":                {[]time.Duration{0}, []time.Duration{time.Second}},
		"a burst":            {[]time.Duration{0, 100 * time.Millisecond, 900 * time.Millisecond}, []time.Duration{1900 * time.Millisecond}},
		"two that are apart": {[]time.Duration{0, 5 * time.Second}, []time.Duration{time.Second, 6 * time.Second}},
		"no end doesn't wait for ever": {
			[]time.Duration{0, 800 * time.Millisecond, 1600 * time.Millisecond, 2400 * time.Millisecond, 2900 * time.Millisecond},
			[]time.Duration{3 * time.Second},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var got []time.Duration
				q := newQueue(clock.RealClock{}, func(context.Context, types.NamespacedName) { got = append(got, time.Since(start)) }, never)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { q.run(ctx); close(done) }()
				for _, at := range test.changes {
					time.Sleep(at - time.Since(start))
					q.gather(types.NamespacedName{Name: "web"})
				}
				time.Sleep(10 * time.Second)
				cancel()
				<-done
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func never(types.NamespacedName) bool { return false }

func TestUrgentServicesDoNotWaitBehindOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		isUrgent := func(key types.NamespacedName) bool { return key.Name == "new" }
		start := time.Now()
		var took time.Duration
		others := 0
		var mu sync.Mutex
		q := newQueue(clock.RealClock{}, func(_ context.Context, key types.NamespacedName) {
			if isUrgent(key) {
				took = time.Since(start)
				return
			}
			time.Sleep(time.Minute) // it waits for the quota
			mu.Lock()
			defer mu.Unlock()
			others++
		}, isUrgent)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { q.run(ctx); close(done) }()
		const many = 5 * laneWorkers
		for i := range many {
			q.after(types.NamespacedName{Name: fmt.Sprint("web-", i)}, 0)
		}
		q.after(types.NamespacedName{Name: "new"}, time.Second)
		time.Sleep(10 * time.Minute)
		cancel()
		<-done
		if took != time.Second || others != many {
			t.Errorf("the urgent one was worked on after %s, and %d of %d others", took, others, many)
		}
	})
}
