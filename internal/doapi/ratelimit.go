package doapi

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// Bounds of a pause. Under a second there is nothing to gain; over an hour
	// the sliding hour has passed.
	minPause = time.Second
	maxPause = time.Hour
	// hourProbe is how often a spent hour is asked after again: other requests
	// on the token may have expired long before the reset we know of.
	hourProbe = time.Minute
)

// rateSigns are the signs of the rate limit on an answer.
type rateSigns struct {
	limit      int       // requests an hour, 0: unsaid
	remaining  int       // of the limit, -1: unsaid
	reset      time.Time // when the oldest request expires, zero: unsaid
	retryAfter time.Duration
	burst      bool // retryAfter was given: the minute's limit, not the hour's
}

// readSigns reads the headers of resp, which arrived at now. Times are taken
// relative to the server's own date, so that a clock that is off does no harm.
func readSigns(h http.Header, now time.Time) rateSigns {
	s := rateSigns{remaining: -1}
	server := now
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		server = date
	}
	if n, err := strconv.Atoi(h.Get("RateLimit-Limit")); err == nil && n > 0 {
		s.limit = n
	}
	if n, err := strconv.Atoi(h.Get("RateLimit-Remaining")); err == nil && n >= 0 {
		s.remaining = n
	}
	if n, err := strconv.ParseInt(h.Get("RateLimit-Reset"), 10, 64); err == nil && n > 0 {
		s.reset = now.Add(time.Unix(n, 0).Sub(server))
	}
	if after := h.Get("Retry-After"); after != "" {
		if n, err := strconv.Atoi(after); err == nil && n >= 0 {
			s.retryAfter, s.burst = time.Duration(min(n, int(maxPause/time.Second)))*time.Second, true
		} else if at, err := http.ParseTime(after); err == nil {
			s.retryAfter, s.burst = max(0, at.Sub(server)), true
		}
	}
	return s
}

// isRateLimit tells a 429 of the token's rate limit from any other, such as the
// account's limit of load balancers, which concerns one call alone.
func isRateLimit(resp *http.Response) bool {
	if resp == nil || resp.StatusCode != http.StatusTooManyRequests {
		return false
	}
	f := failureOf(resp)
	if f != nil && f.structured && !strings.EqualFold(f.id, "too_many_requests") {
		return false
	}
	// Its words are enough: something in between may drop the headers, and what
	// remains of the hour says nothing of the minute.
	if f != nil && strings.Contains(strings.ToLower(f.message), "rate limit") {
		return true
	}
	return resp.Header.Get("Retry-After") != "" || resp.Header.Get("RateLimit-Remaining") == "0"
}
