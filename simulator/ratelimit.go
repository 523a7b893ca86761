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
	// keyListsPerMinute is the limit that the list of SSH keys has beside the
	// others.
	keyListsPerMinute = 10
	// unlimitedQuota is what the headers advertise when no limit is set.
	unlimitedQuota = math.MaxInt32
)

// rateLimit is the quota that each token has; zero is without limit.
type rateLimit struct {
	perHour, perMinute int
	// narrow is the limit in a minute of requests that have one of their own.
	narrow int
}

// of narrows the limit for the one request that has a limit of its own, unless
// there is none in a minute at all.
func (l rateLimit) of(method, path string) rateLimit {
	if l.perMinute > 0 && method == http.MethodGet && path == keysPath {
		l.narrow = keyListsPerMinute
	}
	return l
}

// rateWindow holds the times of one token's counted requests, oldest first.
type rateWindow struct {
	times times
	// narrow are those of them that have a limit of their own.
	narrow times
}

// times are sorted, the oldest first.
type times []time.Time

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
	if limit.perHour > 0 && len(w.times) >= limit.perHour {
		v := w.verdict(now, limit)
		v.exceeded = true
		return v
	}
	if wait := max(w.times.wait(now, limit.perMinute), w.narrow.wait(now, limit.narrow)); wait > 0 {
		v := w.verdict(now, limit)
		v.exceeded, v.remaining, v.retryAfter = true, 0, wait
		return v
	}
	w.times = append(w.times, now)
	if limit.narrow > 0 {
		w.narrow = append(w.narrow, now)
	}
	return w.verdict(now, limit)
}

// wait is how long it takes until another request is within perMinute; 0 is
// without limit.
func (t times) wait(now time.Time, perMinute int) time.Duration {
	lastMinute := t.since(now.Add(-time.Minute))
	if perMinute <= 0 || len(lastMinute) < perMinute {
		return 0
	}
	// One place is free again when enough of the oldest have left.
	return lastMinute[len(lastMinute)-perMinute].Add(time.Minute).Sub(now)
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
	w.times = w.times.since(now.Add(-keep))
	w.narrow = w.narrow.since(now.Add(-time.Minute))
}

// since returns those after begin.
func (t times) since(begin time.Time) times {
	i, _ := slices.BinarySearchFunc(t, begin, func(a, b time.Time) int {
		if a.After(b) {
			return 1
		}
		return -1
	})
	return t[i:]
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
