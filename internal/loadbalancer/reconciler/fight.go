package reconciler

import (
	"slices"
	"time"
)

const (
	// fightWindow is the time within which fightCount reverts make a fight.
	fightWindow = time.Hour
	fightCount  = 3
	// firstTruce is how long the manager gives way in a fight at first, and
	// longestTruce at most.
	firstTruce   = 10 * time.Minute
	longestTruce = time.Hour
)

// fight is the history of putting a load balancer back that somebody else
// changes again and again.
type fight struct {
	// reverts are when it was put back within the last fightWindow.
	reverts []time.Time
	// truce is how long it is left as it is after the last revert; 0: there is
	// no fight.
	truce time.Duration
}

// after is the history with another revert. Peace that lasted for a whole
// window beyond the truce ends the fight.
func (f fight) after(now time.Time) fight {
	if f.truce > 0 && now.Sub(f.last()) > f.truce+fightWindow {
		f = fight{}
	}
	reverts := slices.DeleteFunc(slices.Clone(f.reverts), func(at time.Time) bool { return now.Sub(at) >= fightWindow })
	next := fight{reverts: append(reverts, now), truce: min(2*f.truce, longestTruce)}
	if next.truce == 0 && len(next.reverts) >= fightCount {
		next.truce = firstTruce
	}
	return next
}

// until is when the load balancer may be put back again; zero: at once.
func (f fight) until() time.Time {
	if f.truce == 0 {
		return time.Time{}
	}
	return f.last().Add(f.truce)
}

func (f fight) last() time.Time {
	if len(f.reverts) == 0 {
		return time.Time{}
	}
	return f.reverts[len(f.reverts)-1]
}
