package sandbox

import (
	"maps"
	"slices"
	"strings"
)

// goal is what must have happened, by object.
type goal struct {
	pending map[string]string // what was last seen of those that aren't done
	told    map[string]string // what was last told of each object
}

func newGoal(keys ...string) *goal {
	g := &goal{pending: map[string]string{}, told: map[string]string{}}
	for _, key := range keys {
		g.pending[key] = "not seen yet"
	}
	return g
}

// reached says whether everything has happened. It stays so, whatever happens
// later.
func (g *goal) reached() bool { return len(g.pending) == 0 }

// note takes in what was seen, and says whether it is news.
func (g *goal) note(s sight) bool {
	if _, waiting := g.pending[s.key]; waiting {
		g.pending[s.key] = s.text
		if s.done {
			delete(g.pending, s.key)
		}
	}
	if g.told[s.key] == s.text {
		return false
	}
	g.told[s.key] = s.text
	return true
}

// missing lists what hasn't happened, with where it stands.
func (g *goal) missing() string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(g.pending)) {
		lines = append(lines, key+": "+g.pending[key])
	}
	return strings.Join(lines, "; ")
}
