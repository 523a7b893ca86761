package doapi

import (
	"testing"
	"time"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func after(d time.Duration) time.Time { return t0.Add(d) }

// known is a ledger that learnt at t0 what remains.
func known(remaining int, reset time.Duration) *ledger {
	l := &ledger{}
	l.sent(false, t0)
	l.settled(outcome{status: 200, signs: rateSigns{limit: 5000, remaining: remaining, reset: after(reset)}}, t0)
	return l
}

func TestHourIsSharedByPriority(t *testing.T) {
	tests := []struct {
		remaining                  int
		background, normal, urgent bool
	}{
		{5000, true, true, true},
		{1000, true, true, true},
		{999, false, true, true},
		{250, false, true, true},
		{249, false, false, true},
		{1, false, false, true},
		{0, false, false, false},
	}
	for _, tc := range tests {
		l := known(tc.remaining, 30*time.Minute)
		for p, want := range map[Priority]bool{Background: tc.background, Normal: tc.normal, Urgent: tc.urgent} {
			v := l.ask(p, after(time.Second))
			if got := v.until.IsZero(); got != want {
				t.Errorf("%d remaining, %s: may go %v, want %v", tc.remaining, p, got, want)
			}
			if !want && !v.until.Equal(after(knowledgeAge)) {
				t.Errorf("%d remaining, %s: until %s, want when the knowledge is stale", tc.remaining, p, v.until.Sub(t0))
			}
		}
	}
}

func TestRequestsInFlightCountAgainstTheHour(t *testing.T) {
	l := known(251, time.Hour)
	for range 2 {
		if v := l.ask(Normal, t0); !v.until.IsZero() {
			t.Fatal("a call within the quota was held back")
		}
		l.sent(false, t0)
	}
	if v := l.ask(Normal, t0); v.until.IsZero() {
		t.Error("a call went out on quota that those in flight use up")
	}
}

func TestNothingIsHeldBackBeforeTheQuotaIsKnown(t *testing.T) {
	l := &ledger{}
	if v := l.ask(Background, t0); !v.until.IsZero() || v.probe {
		t.Errorf("verdict %+v on the first call", v)
	}
	l.sent(false, t0)
	l.settled(outcome{status: 200, signs: rateSigns{remaining: -1}}, t0)
	if v := l.ask(Background, t0); !v.until.IsZero() {
		t.Error("an answer without quota headers held a call back")
	}
}

func TestStaleQuotaIsProbedByOneCall(t *testing.T) {
	l := known(10, time.Hour)
	if v := l.ask(Normal, after(59*time.Second)); v.until.IsZero() {
		t.Fatal("went out on fresh knowledge")
	}
	now := after(time.Minute)
	v := l.ask(Normal, now)
	if !v.probe || !v.until.IsZero() {
		t.Fatalf("verdict %+v, want a probe", v)
	}
	l.sent(true, now)
	if v := l.ask(Normal, now); !v.until.Equal(now.Add(probePatience)) {
		t.Fatalf("a second call while the probe is out: until %s", v.until.Sub(now))
	}
	l.settled(outcome{probe: true, status: 200, signs: rateSigns{limit: 5000, remaining: 9, reset: after(time.Hour)}}, now)
	if v := l.ask(Normal, now); !v.until.Equal(now.Add(knowledgeAge)) {
		t.Fatalf("after a probe in vain: until %s", v.until.Sub(now))
	}
	now = now.Add(knowledgeAge)
	l.sent(true, now)
	l.settled(outcome{probe: true, status: 200, signs: rateSigns{limit: 5000, remaining: 4000}}, now)
	if v := l.ask(Background, now); !v.until.IsZero() || v.probe {
		t.Errorf("quota came back, verdict %+v", v)
	}
}

func TestSpentHourIsAskedAfterAtTheReset(t *testing.T) {
	l := known(0, 20*time.Second)
	if v := l.ask(Urgent, t0); !v.until.Equal(after(20 * time.Second)) {
		t.Errorf("until %s, want the reset", v.until.Sub(t0))
	}
	if v := l.ask(Urgent, after(20*time.Second)); !v.probe {
		t.Error("no probe at the reset")
	}
}

func TestProbeWithoutAnswerIsReplaced(t *testing.T) {
	l := known(0, time.Hour)
	now := after(knowledgeAge)
	l.sent(true, now)
	if v := l.ask(Urgent, now.Add(probePatience-1)); v.until.IsZero() {
		t.Error("another probe went out too early")
	}
	if v := l.ask(Urgent, now.Add(knowledgeAge)); !v.probe {
		t.Error("the lost probe was not replaced")
	}
}

func TestMinuteIsSharedByPriority(t *testing.T) {
	l := &ledger{limit: 5000, remaining: 4000}
	sent := 0
	fill := func(p Priority) int {
		for l.ask(p, after(time.Duration(sent)*time.Millisecond)).until.IsZero() {
			l.sent(false, after(time.Duration(sent)*time.Millisecond))
			sent++
		}
		return sent
	}
	for p, want := range []int{Background: 200, Normal: 238, Urgent: 250} {
		if got := fill(Priority(p)); got != want {
			t.Errorf("%s calls got to %d in the minute, want %d", Priority(p), got, want)
		}
	}
	now := after(time.Second)
	if v := l.ask(Urgent, now); !v.until.Equal(after(time.Minute)) {
		t.Errorf("urgent: until %s, want when the first is a minute old", v.until.Sub(t0))
	}
	// Background may use 200: the 51st of 250 has to expire.
	if v := l.ask(Background, now); !v.until.Equal(after(time.Minute + 50*time.Millisecond)) {
		t.Errorf("background: until %s", v.until.Sub(t0))
	}
	if v := l.ask(Background, after(time.Minute+time.Second)); !v.until.IsZero() {
		t.Error("held back after the minute")
	}
}

func TestBurstFollowsTheLimit(t *testing.T) {
	for limit, want := range map[int]int{0: 250, 5000: 250, 20000: 1000, 1200: 60, 10: 1} {
		if got := (&ledger{limit: limit}).burst(); got != want {
			t.Errorf("limit %d: %d a minute, want %d", limit, got, want)
		}
	}
}

func TestPauseLength(t *testing.T) {
	tests := map[string]struct {
		signs rateSigns
		probe bool
		want  time.Duration
	}{
		"burst":                     {signs: rateSigns{burst: true, retryAfter: 42 * time.Second}, want: 42 * time.Second},
		"burst, no time":            {signs: rateSigns{burst: true}, want: time.Second},
		"burst, absurdly long":      {signs: rateSigns{burst: true, retryAfter: 240 * time.Hour}, want: time.Hour},
		"burst, probe refused":      {signs: rateSigns{burst: true, retryAfter: 5 * time.Second}, probe: true, want: 5 * time.Second},
		"hour, reset near":          {signs: rateSigns{reset: after(20 * time.Second)}, want: 20 * time.Second},
		"hour, reset far":           {signs: rateSigns{reset: after(50 * time.Minute)}, want: time.Minute},
		"hour, reset past":          {signs: rateSigns{reset: after(-time.Minute)}, want: time.Minute},
		"hour, no reset":            {want: time.Minute},
		"hour, probe refused again": {signs: rateSigns{reset: after(time.Second)}, probe: true, want: time.Minute},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := &ledger{}
			l.sent(tc.probe, t0)
			entered, left := l.settled(outcome{probe: tc.probe, status: 429, limited: true, signs: tc.signs}, t0)
			if got := l.pausedUntil.Sub(t0); got != tc.want {
				t.Errorf("paused for %s, want %s", got, tc.want)
			}
			if !entered || left {
				t.Errorf("entered %v, left %v", entered, left)
			}
		})
	}
}

func TestBurstRefusalSaysNothingOfTheHour(t *testing.T) {
	l := known(4000, time.Hour)
	l.sent(false, t0)
	l.settled(outcome{status: 429, limited: true, signs: rateSigns{limit: 5000, burst: true, retryAfter: time.Second}}, t0)
	if l.remaining != 4000 {
		t.Errorf("remaining %d was learnt from a refusal for the minute", l.remaining)
	}
}

func TestPauseEndsByItsProbeOnly(t *testing.T) {
	l := &ledger{}
	limited := outcome{status: 429, limited: true, signs: rateSigns{remaining: -1, burst: true, retryAfter: 10 * time.Second}}
	for range 3 {
		l.sent(false, t0)
	}
	l.settled(limited, t0)
	if entered, _ := l.settled(limited, t0); entered {
		t.Error("one pause was entered twice")
	}
	// Sent before the pause, answered in it.
	if _, left := l.settled(outcome{status: 200, signs: rateSigns{remaining: -1}}, t0); left {
		t.Error("an old answer ended the pause")
	}
	if v := l.ask(Urgent, after(9*time.Second)); !v.until.Equal(after(10 * time.Second)) {
		t.Error("an urgent call went through the pause")
	}
	now := after(10 * time.Second)
	if v := l.ask(Urgent, now); !v.probe {
		t.Fatal("no probe after the pause")
	}
	l.sent(true, now)
	if v := l.ask(Urgent, now); v.until.IsZero() {
		t.Error("calls went out beside the probe")
	}
	l.settled(outcome{probe: true, status: 0, signs: rateSigns{remaining: -1}}, now)
	if v := l.ask(Urgent, now); !v.probe {
		t.Error("a probe without an answer was not followed by another")
	}
	l.sent(true, now)
	if _, left := l.settled(outcome{probe: true, status: 404, signs: rateSigns{remaining: -1}}, now); !left {
		t.Error("an answer to the probe didn't end the pause")
	}
	if v := l.ask(Background, now); !v.until.IsZero() || v.probe {
		t.Errorf("after the pause: verdict %+v", v)
	}
}
