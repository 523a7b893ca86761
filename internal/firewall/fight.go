package firewall

import (
	"slices"
	"time"
)

const (
	// fightAfter is how often within fightWindow another writer may undo the
	// manager's work before it counts as a fight.
	fightAfter  = 3
	fightWindow = time.Hour
	// longestTruce bounds the waits between two restorations in a fight.
	longestTruce = time.Hour
)

// fight notes how often somebody else rewrites the firewall, and spaces out the
// restorations then.
type fight struct {
	// restored are the latest restorations.
	restored []time.Time
	// truce is how long the next one waits; 0: there is no fight.
	truce time.Duration
}

// until is the earliest time of the next restoration; zero: at once.
func (f *fight) until() time.Time {
	if f.truce == 0 {
		return time.Time{}
	}
	return f.restored[len(f.restored)-1].Add(f.truce)
}

// restore notes a restoration. It tells whether there is a fight, which doubles
// the wait; one that has been quiet for twice its wait and an hour is over.
func (f *fight) restore(now time.Time, interval time.Duration) bool {
	if f.truce > 0 && now.Sub(f.restored[len(f.restored)-1]) > fightWindow+f.truce {
		f.restored, f.truce = nil, 0
	}
	if f.truce == 0 {
		f.restored = slices.DeleteFunc(f.restored, func(at time.Time) bool { return now.Sub(at) >= fightWindow })
	}
	f.restored = append(f.restored, now)
	switch {
	case f.truce > 0:
		f.truce = min(2*f.truce, longestTruce)
		f.restored = f.restored[len(f.restored)-1:]
	case len(f.restored) >= fightAfter:
		f.truce = min(2*interval, longestTruce)
	}
	return f.truce > 0
}
