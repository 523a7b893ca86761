package simulator

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"
)

const (
	defaultPerHour   = 5000
	defaultPerMinute = 250
	// unlimitedQuota is what the headers advertise when no limit is set.
	unlimitedQuota = math.MaxInt32
)

// rateLimit is the quota that each token has; zero is without limit.
type rateLimit struct {
	perHour, perMinute int
}

// rateWindow holds the times of one token's counted requests, oldest first.
type rateWindow struct {
	times []time.Time
}

// rateVerdict is what the limiter says about one request.
type rateVerdict struct {
	limit, remaining int
	reset            time.Time
	exceeded         bool
	// retryAfter is set only when the minute's burst was exceeded.
	retryAfter time.Duration
}

// admit counts a request at now unless it exceeds a limit. Refused requests are
// not counted.
func (w *rateWindow) admit(now time.Time, limit rateLimit) rateVerdict {
	w.prune(now, limit)
	lastMinute := w.since(now.Add(-time.Minute))
	switch {
	case limit.perHour > 0 && len(w.times) >= limit.perHour:
		v := w.verdict(now, limit)
		v.exceeded = true
		return v
	case limit.perMinute > 0 && len(lastMinute) >= limit.perMinute:
		v := w.verdict(now, limit)
		v.exceeded, v.remaining = true, 0
		// One place is free again when enough of the oldest have left.
		v.retryAfter = lastMinute[len(lastMinute)-limit.perMinute].Add(time.Minute).Sub(now)
		return v
	}
	w.times = append(w.times, now)
	return w.verdict(now, limit)
}

func (w *rateWindow) verdict(now time.Time, limit rateLimit) rateVerdict {
	v := rateVerdict{limit: limit.perHour, reset: now.Add(time.Hour)}
	if v.limit <= 0 {
		v.limit = unlimitedQuota
	}
	v.remaining = max(v.limit-len(w.times), 0)
	if len(w.times) > 0 {
		v.reset = w.times[0].Add(time.Hour)
	}
	return v
}

// prune forgets what no window looks at any more.
func (w *rateWindow) prune(now time.Time, limit rateLimit) {
	keep := time.Hour
	if limit.perHour <= 0 {
		keep = time.Minute
	}
	w.times = w.since(now.Add(-keep))
}

// since returns the requests after t.
func (w *rateWindow) since(t time.Time) []time.Time {
	i, _ := slices.BinarySearchFunc(w.times, t, func(a, b time.Time) int {
		if a.After(b) {
			return 1
		}
		return -1
	})
	return w.times[i:]
}

// write sets the headers that every answer carries.
func (v rateVerdict) write(h http.Header) {
	h.Set("Ratelimit-Limit", strconv.Itoa(v.limit))
	h.Set("Ratelimit-Remaining", strconv.Itoa(v.remaining))
	h.Set("Ratelimit-Reset", strconv.FormatInt(unixCeil(v.reset), 10))
	if v.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(v.retryAfter.Seconds()))))
	}
}

// unixCeil rounds up, so that a client which waits until then has waited enough.
func unixCeil(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}

// exhausted is the verdict as if a limit, quotaHour or quotaMinute, was reached.
func (v rateVerdict) exhausted(quota string) rateVerdict {
	v.exceeded, v.remaining = true, 0
	if quota == quotaMinute {
		v.retryAfter = time.Minute
	}
	return v
}
