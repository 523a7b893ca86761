package standstill

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
)

const (
	longest = 5 * time.Second
	settles = 10 * time.Second
)

func running(t *testing.T, c clock.WithTicker) (*Guard, func()) {
	g := &Guard{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { g.Run(ctx, c, longest, settles); close(done) }()
	synctest.Wait()
	return g, func() { cancel(); <-done }
}

func TestWritesGoOutAtOnceWhileTheProcessRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, stop := running(t, clock.RealClock{})
		defer stop()
		begun := time.Now()
		for range 100 {
			if err := g.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		if err := g.Wait(t.Context()); err != nil || time.Since(begun) != time.Hour {
			t.Errorf("waited until %s (%v)", time.Since(begun), err)
		}
	})
}

// woken is a guard whose process stood still: the time went on, and no beat came
// in it.
func woken(t *testing.T, stood time.Duration) (*Guard, *testclock.FakeClock, func()) {
	c := testclock.NewFakeClock(time.Unix(1_000_000, 0))
	g, stop := running(t, c)
	c.SetTime(c.Now().Add(stood))
	return g, c, stop
}

func TestWritesWaitAfterAStandstill(t *testing.T) {
	tests := map[string]struct {
		stood time.Duration
		waits bool
	}{
		"short":    {longest, false},
		"too long": {longest + time.Second, true},
		"an hour":  {time.Hour, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, c, stop := woken(t, test.stood)
				defer stop()
				done := make(chan error, 1)
				go func() { done <- g.Wait(t.Context()) }()
				synctest.Wait()
				if waits := len(done) == 0; waits != test.waits {
					t.Fatalf("waits: %t", waits)
				}
				for range int(settles/beat) + 1 {
					c.Step(beat)
					synctest.Wait()
				}
				if len(done) == 0 {
					t.Fatal("waits for ever")
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestAWriteThatIsGivenUpMeanwhileIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := woken(t, time.Minute)
		defer stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

func TestAGuardThatDoesNotRunHoldsNothingBack(t *testing.T) {
	if err := new(Guard).Wait(t.Context()); err != nil {
		t.Error(err)
	}
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := woken(t, time.Hour)
		stop()
		if err := g.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
