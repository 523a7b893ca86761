package doapi

import "time"

const (
	// defaultLimit is the documented quota of a token, requests in a sliding
	// hour; answers tell the true one.
	defaultLimit = 5000
	minute       = time.Minute
	// burstPercent of the hour's quota may be used within a minute.
	burstPercent = 5
	// backgroundReserve is the share, in percent of the hour's quota and of the
	// minute's burst, that background calls leave alone. Refreshes are the bulk
	// of our calls; a fifth (1,000) is ample for a rollout of 500 Services, and
	// for the CSI driver that shares the token.
	backgroundReserve = 20
	// normalReserve is the share that updates leave alone: 250 calls, enough to
	// create or delete a hundred load balancers in the worst hour.
	normalReserve = 5
	// knowledgeAge is how long what an answer said of the quota is taken for
	// true. Then one call may go and ask: others may have stopped meanwhile.
	knowledgeAge = time.Minute
	// probePatience is how long others wait for a probe's answer before the
	// next of them becomes the probe.
	probePatience = 10 * time.Second
)

// reserve is the percentage that p leaves to those more urgent.
func (p Priority) reserve() int {
	switch p {
	case Background:
		return backgroundReserve
	case Urgent:
		return 0
	default:
		return normalReserve
	}
}

// ledger is what is known of the quota, and the rules on it. It has neither
// lock nor clock: every method is told the time.
type ledger struct {
	limit     int // 0: not learnt yet
	remaining int
	reset     time.Time
	learned   time.Time
	inFlight  int
	recent    []time.Time // our own requests of the last minute, oldest first

	pausedUntil time.Time // zero: no pause. Passed: a probe decides
	probing     bool
	probed      time.Time // when the last probe was sent
}

// verdict answers whether a call may be sent. probe: it may, and others wait
// for what its answer says.
type verdict struct {
	until time.Time // zero: it may go; else when to ask again
	probe bool
}

func (v *verdict) join(o verdict) {
	v.probe = v.probe || o.probe
	if o.until.After(v.until) {
		v.until = o.until
	}
}

// ask gives the verdict on a call of priority p.
func (l *ledger) ask(p Priority, now time.Time) verdict {
	v := l.askMinute(p, now)
	v.join(l.askPause(now))
	v.join(l.askHour(p, now))
	return v
}

func (l *ledger) burst() int {
	limit := l.limit
	if limit == 0 {
		limit = defaultLimit
	}
	return max(1, limit*burstPercent/100)
}

func (l *ledger) askMinute(p Priority, now time.Time) verdict {
	for len(l.recent) > 0 && !l.recent[0].After(now.Add(-minute)) {
		l.recent = l.recent[1:]
	}
	burst := l.burst()
	allowed := max(1, burst-burst*p.reserve()/100)
	if len(l.recent) < allowed {
		return verdict{}
	}
	return verdict{until: l.recent[len(l.recent)-allowed].Add(minute)}
}

func (l *ledger) askPause(now time.Time) verdict {
	switch {
	case l.pausedUntil.IsZero():
		return verdict{}
	case now.Before(l.pausedUntil):
		return verdict{until: l.pausedUntil}
	}
	return l.askProbe(now)
}

func (l *ledger) askHour(p Priority, now time.Time) verdict {
	floor := max(1, l.limit*p.reserve()/100)
	if l.limit == 0 || l.remaining-l.inFlight >= floor {
		return verdict{}
	}
	if at := l.staleAt(); now.Before(at) && !l.probeOut(now) {
		return verdict{until: at}
	}
	return l.askProbe(now)
}

// staleAt is when the knowledge of the hour's quota is to be refreshed: when a
// request expires, or after a minute; but not sooner than a minute after the
// last attempt to do so.
func (l *ledger) staleAt() time.Time {
	at := l.learned.Add(knowledgeAge)
	if l.reset.After(l.learned) && l.reset.Before(at) {
		at = l.reset
	}
	if next := l.probed.Add(knowledgeAge); !l.probed.IsZero() && next.After(at) {
		at = next
	}
	return at
}

func (l *ledger) probeOut(now time.Time) bool {
	return l.probing && now.Before(l.probed.Add(probePatience))
}

func (l *ledger) askProbe(now time.Time) verdict {
	if l.probeOut(now) {
		return verdict{until: l.probed.Add(probePatience)}
	}
	return verdict{probe: true}
}

// sent books a call that goes out now.
func (l *ledger) sent(probe bool, now time.Time) {
	l.recent = append(l.recent, now)
	l.inFlight++
	if probe {
		l.probing, l.probed = true, now
	}
}

// outcome is what came of a call.
type outcome struct {
	probe   bool
	status  int // 0: no answer
	limited bool
	signs   rateSigns
}

// settled books the outcome of a call. It tells what it did to the pause.
func (l *ledger) settled(o outcome, now time.Time) (entered, left bool) {
	l.inFlight--
	if o.probe {
		l.probing = false
	}
	paused := !l.pausedUntil.IsZero()
	if o.status != 0 {
		l.learn(o, now)
	}
	switch {
	case o.limited:
		if until := now.Add(l.pauseFor(o, now)); until.After(l.pausedUntil) {
			l.pausedUntil = until
		}
		return !paused, false
	// Only the probe was sent after the pause: others' answers are old news.
	case o.probe && paused && o.status != 0 && o.status < 500:
		l.pausedUntil = time.Time{}
		return false, true
	}
	return false, false
}

func (l *ledger) learn(o outcome, now time.Time) {
	if o.signs.limit != 0 {
		l.limit = o.signs.limit
	}
	// On the minute's limit the API says that nothing remains, although the
	// hour has room.
	if o.signs.remaining >= 0 && !(o.limited && o.signs.burst) {
		l.remaining, l.reset, l.learned = o.signs.remaining, o.signs.reset, now
		if l.limit == 0 {
			l.limit = defaultLimit
		}
	}
}

func (l *ledger) pauseFor(o outcome, now time.Time) time.Duration {
	if o.signs.burst {
		return min(max(o.signs.retryAfter, minPause), maxPause)
	}
	wait := o.signs.reset.Sub(now)
	if wait <= 0 || o.probe {
		// No reset to go by, or one that didn't hold what it promised.
		wait = hourProbe
	}
	return min(max(wait, minPause), hourProbe)
}
