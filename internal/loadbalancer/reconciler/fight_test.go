package reconciler

import (
	"testing"
	"time"
)

func TestFightBeginsAndEnds(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		reverts []time.Duration
		want    time.Duration
	}{
		"once":                        {[]time.Duration{0}, 0},
		"twice":                       {[]time.Duration{0, time.Minute}, 0},
		"three times":                 {[]time.Duration{0, time.Minute, 59 * time.Minute}, firstTruce},
		"three times, not in an hour": {[]time.Duration{0, 30 * time.Minute, time.Hour}, 0},
		"once more":                   {[]time.Duration{0, 1, 2, 10 * time.Minute}, 2 * firstTruce},
		"without end":                 {[]time.Duration{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, longestTruce},
		"after peace":                 {[]time.Duration{0, 1, 2, firstTruce + fightWindow + 3}, 0},
		"not quite peace":             {[]time.Duration{0, 1, 2, firstTruce + fightWindow}, 2 * firstTruce},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var f fight
			for _, at := range test.reverts {
				f = f.after(start.Add(at))
			}
			last := start.Add(test.reverts[len(test.reverts)-1])
			want := time.Time{}
			if test.want > 0 {
				want = last.Add(test.want)
			}
			if got := f.until(); !got.Equal(want) {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}
