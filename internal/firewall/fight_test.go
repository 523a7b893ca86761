package firewall

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFightWaitsLongerAndLonger(t *testing.T) {
	const interval = 5 * time.Minute
	tests := map[string]struct {
		// gaps are between restorations, the first one is from the start.
		gaps []time.Duration
		// want is the wait after each.
		want []time.Duration
	}{
		"three in an hour":        {[]time.Duration{0, 5 * time.Minute, 5 * time.Minute}, []time.Duration{0, 0, 10 * time.Minute}},
		"three in over an hour":   {[]time.Duration{0, 30 * time.Minute, 30 * time.Minute, 30 * time.Minute}, []time.Duration{0, 0, 0, 0}},
		"goes on":                 {[]time.Duration{0, 0, 0, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute, time.Hour}, []time.Duration{0, 0, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute, time.Hour, time.Hour}},
		"over after it was quiet": {[]time.Duration{0, 0, 0, 2 * time.Hour}, []time.Duration{0, 0, 10 * time.Minute, 0}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var f fight
			now := time.Unix(0, 0)
			var got []time.Duration
			for i, gap := range test.gaps {
				now = now.Add(gap)
				contested := f.restore(now, interval)
				if contested != (test.want[i] > 0) {
					t.Errorf("restoration %d: a fight %t", i, contested)
				}
				wait := time.Duration(0)
				if until := f.until(); !until.IsZero() {
					wait = until.Sub(now)
				}
				got = append(got, wait)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGatheringWaitsForQuietButNotForEver(t *testing.T) {
	var g gathering
	start := time.Unix(0, 0)
	if _, ok := g.due(); ok || g.take() {
		t.Error("changes before the first")
	}
	var got []time.Duration
	for _, at := range []time.Duration{0, 800, 1600, 2400, 2900} {
		got = append(got, at*time.Millisecond+g.change(start.Add(at*time.Millisecond)))
	}
	want := []time.Duration{time.Second, 1800 * time.Millisecond, 2600 * time.Millisecond, 3 * time.Second, 3 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if due, ok := g.due(); !ok || due != start.Add(3*time.Second) || !g.take() {
		t.Errorf("due at %s, %t", due, ok)
	}
	if g.take() {
		t.Error("taken twice")
	}
}
