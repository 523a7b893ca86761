package gate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
)

const harmless = 5 * time.Second

// running is a gate of a process that leads as leads says.
func running(t *testing.T, c clock.WithTicker, leads func(since time.Time) bool) (*Gate, func()) {
	g := &Gate{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		g.Run(ctx, Options{Clock: c, Harmless: harmless, Leads: func(_ context.Context, since time.Time) bool { return leads(since) }})
		close(done)
	}()
	synctest.Wait()
	return g, func() { cancel(); <-done }
}

// enter makes a write that takes no time.
func enter(ctx context.Context, g *Gate) error {
	leave, err := g.Enter(ctx)
	if err == nil {
		leave()
	}
	return err
}

func TestWritesGoOutAtOnceWhileTheProcessRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, stop := running(t, clock.RealClock{}, func(time.Time) bool { t.Error("it was asked"); return false })
		defer stop()
		begun := time.Now()
		for range 100 {
			if err := enter(t.Context(), g); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		if err := enter(t.Context(), g); err != nil || time.Since(begun) != time.Hour {
			t.Errorf("waited until %s (%v)", time.Since(begun), err)
		}
	})
}

// woken is a gate whose process stood still: the time went on, and no beat came
// in it.
func woken(t *testing.T, stood time.Duration, leads func(since time.Time) bool) (*Gate, *testclock.FakeClock, func()) {
	c := testclock.NewFakeClock(time.Unix(1_000_000, 0))
	g, stop := running(t, c, leads)
	c.SetTime(c.Now().Add(stood))
	return g, c, stop
}

func TestWritesWaitAfterAStandstillUntilItIsClearWhoLeads(t *testing.T) {
	tests := map[string]struct {
		stood time.Duration
		waits bool
	}{
		"short":    {harmless, false},
		"too long": {harmless + time.Second, true},
		"an hour":  {time.Hour, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var renewed time.Time
				g, c, stop := woken(t, test.stood, func(since time.Time) bool { return renewed.After(since) })
				defer stop()
				woke := c.Now()
				done := make(chan error, 1)
				go func() { done <- enter(t.Context(), g) }()
				synctest.Wait()
				for range 100 {
					c.Step(beat)
					synctest.Wait()
				}
				if waits := len(done) == 0; waits != test.waits {
					t.Fatalf("waits: %t", waits)
				}
				renewed = woke // as of before
				c.Step(beat)
				synctest.Wait()
				if waits := len(done) == 0; waits != test.waits {
					t.Fatalf("waits: %t, after an old renewal", waits)
				}
				renewed = c.Now()
				c.Step(beat)
				synctest.Wait()
				if len(done) == 0 {
					t.Fatal("waits for ever")
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
				if err := enter(t.Context(), g); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestAWriteThatIsGivenUpMeanwhileIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := woken(t, time.Minute, func(time.Time) bool { return false })
		defer stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := enter(ctx, g); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

func TestAGateThatDoesNotRunHoldsNothingBack(t *testing.T) {
	if err := enter(t.Context(), new(Gate)); err != nil {
		t.Error(err)
	}
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := woken(t, time.Hour, func(time.Time) bool { return false })
		stop()
		if err := enter(t.Context(), g); err != nil {
			t.Error(err)
		}
	})
}

func TestAClosedGateWaitsForThoseInsideAndLetsNobodyIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Gate{}
		leave, err := g.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.Close(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closed with a write on its way: %v", err)
		}
		closed, entered := make(chan error, 1), make(chan error, 1)
		ctx, giveUp := context.WithCancel(t.Context())
		go func() { closed <- g.Close(t.Context()) }()
		go func() { entered <- enter(ctx, g) }()
		synctest.Wait()
		if len(closed)+len(entered) > 0 {
			t.Fatal("it doesn't wait")
		}
		leave()
		if err := <-closed; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if len(entered) > 0 {
			t.Errorf("a write was let in or told as failed: %v", <-entered)
		}
		giveUp()
		if err := <-entered; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
