package periodic

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

func TestPassesComeOncePerPeriodGiveOrTakeATenth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var at []time.Time
		l := New(Options{Period: time.Minute, Timeout: time.Second, Clock: clock.RealClock{}, Work: func(context.Context) error {
			at = append(at, time.Now())
			return nil
		}})
		begin := time.Now()
		go l.Run(ctx)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if len(at) < 9 || len(at) > 11 {
			t.Errorf("%d passes in ten periods", len(at))
		}
		last := begin
		for _, now := range at {
			if pause := now.Sub(last); pause < 54*time.Second || pause > 66*time.Second {
				t.Errorf("a pause of %s", pause)
			}
			last = now
		}
		if next := l.Status().Next; !next.After(time.Now()) {
			t.Errorf("the next pass is at %s", next)
		}
	})
}

func TestAFailureOrAPanicIsTheStatusUntilAPassSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		passes := 0
		var ends []error
		l := New(Options{Period: time.Minute, Timeout: time.Second, Clock: clock.RealClock{}, Done: func(_ context.Context, err error) { ends = append(ends, err) },
			Work: func(context.Context) error {
				switch passes++; passes {
				case 1:
					return errors.New("not today")
				case 2:
					panic("a defect")
				}
				return nil
			}})
		go l.Run(ctx)
		time.Sleep(3*time.Minute + 30*time.Second)
		synctest.Wait()
		if len(ends) < 3 || ends[0] == nil || !strings.Contains(ends[1].Error(), "a defect") || ends[2] != nil {
			t.Errorf("passes ended with %v", ends)
		}
		if got := l.Status(); got.Error != "" || got.Last.IsZero() {
			t.Errorf("status %+v", got)
		}
	})
}

func TestALoopThatIsStuckIsUnhealthyAndNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		release := make(chan struct{})
		l := New(Options{Period: time.Minute, Timeout: time.Second, Clock: clock.RealClock{}, Work: func(context.Context) error {
			<-release // heeds no deadline
			return errors.New("failed")
		}})
		go l.Run(ctx)
		time.Sleep(30 * time.Second)
		if err := l.Check(nil); err != nil {
			t.Errorf("unhealthy before its first pass: %v", err)
		}
		time.Sleep(time.Minute)
		if err := l.Check(nil); err == nil || !strings.Contains(err.Error(), "should take 1s at most") {
			t.Errorf("a stuck loop's health: %v", err)
		}
		close(release)
		synctest.Wait()
		if err := l.Check(nil); err != nil {
			t.Errorf("unhealthy after a failed pass: %v", err)
		}
	})
}

func TestSoonBeginsWithinThePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		passes := 0
		l := New(Options{Period: time.Minute, Soon: true, Timeout: time.Second, Clock: clock.RealClock{}, Work: func(context.Context) error { passes++; return nil }})
		go l.Run(ctx)
		time.Sleep(time.Minute)
		synctest.Wait()
		if passes == 0 {
			t.Error("no pass within the period")
		}
	})
}
