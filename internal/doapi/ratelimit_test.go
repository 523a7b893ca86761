package doapi

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadSigns(t *testing.T) {
	stamp := func(at time.Time) string { return at.UTC().Format(http.TimeFormat) }
	tests := map[string]struct {
		headers map[string]string
		want    rateSigns
	}{
		"none": {want: rateSigns{remaining: -1}},
		"all": {
			headers: map[string]string{"ratelimit-limit": "5000", "ratelimit-remaining": "4816", "ratelimit-reset": "1767323105"},
			want:    rateSigns{limit: 5000, remaining: 4816, reset: time.Unix(1767323105, 0)},
		},
		"nothing left": {headers: map[string]string{"ratelimit-remaining": "0"}, want: rateSigns{remaining: 0}},
		"our clock is an hour ahead": {
			headers: map[string]string{"Date": stamp(after(-time.Hour)), "ratelimit-reset": "1767319505"}, // 60 s after t0 less an hour
			want:    rateSigns{remaining: -1, reset: after(time.Minute)},
		},
		"seconds":       {headers: map[string]string{"Retry-After": "42"}, want: rateSigns{remaining: -1, burst: true, retryAfter: 42 * time.Second}},
		"a date":        {headers: map[string]string{"Retry-After": stamp(after(time.Minute))}, want: rateSigns{remaining: -1, burst: true, retryAfter: time.Minute}},
		"a past date":   {headers: map[string]string{"Retry-After": stamp(after(-time.Minute))}, want: rateSigns{remaining: -1, burst: true}},
		"far too many":  {headers: map[string]string{"Retry-After": "9223372036854775807"}, want: rateSigns{remaining: -1, burst: true, retryAfter: time.Hour}},
		"what is none":  {headers: map[string]string{"Retry-After": "soon", "ratelimit-limit": "x", "ratelimit-remaining": "-3", "ratelimit-reset": "never"}, want: rateSigns{remaining: -1}},
		"no limit at 0": {headers: map[string]string{"ratelimit-limit": "0"}, want: rateSigns{remaining: -1}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := http.Header{}
			for k, v := range tc.headers {
				h.Set(k, v)
			}
			if d := cmp.Diff(tc.want, readSigns(h, t0), cmp.AllowUnexported(rateSigns{})); d != "" {
				t.Error(d)
			}
		})
	}
}
