package simulator

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"
)

// everyList is the key of Settings.ListLag for the lists that have no own entry.
const everyList = "*"

// lists are the paths of the lists that can lag.
var lists = []string{"/v2/droplets", loadBalancersPath, "/v2/firewalls"}

// LaggingLists returns the paths of the lists that can lag; see WithListLag.
func LaggingLists() []string { return slices.Clone(lists) }

// version is what the lists showed from a time on. Its objects are copies.
type version struct {
	at    time.Time
	teams map[string]*frozenTeam
}

// frozenTeam is a team as the lists see it, with the copy of each object.
type frozenTeam struct {
	view          *team
	droplets      map[*droplet]*droplet
	loadBalancers map[*loadBalancer]*loadBalancer
	firewalls     map[*firewall]*firewall
}

// history keeps past versions as long as a list may lag behind, oldest first.
// Without lag it is empty and costs nothing.
type history struct {
	versions []version
	// changed means that something may have changed, at changedAt, since the
	// newest version.
	changed   bool
	changedAt time.Time
}

// validateListLag refuses paths that are no list that can lag.
func validateListLag[D ~int64](lags map[string]D) error {
	for path, lag := range lags {
		if path != everyList && !slices.Contains(lists, path) {
			return fmt.Errorf("list lag: %q is none of %q and %q", path, lists, everyList)
		}
		if lag < 0 {
			return fmt.Errorf("list lag of %q must not be negative", path)
		}
	}
	return nil
}

// listLag is how old the list is that a request sees.
func (c *call) listLag() time.Duration {
	if c.fault != nil && c.fault.ListLag > 0 {
		return c.fault.ListLag
	}
	if lag, ok := c.s.settings.ListLag[c.path]; ok {
		return lag
	}
	return c.s.settings.ListLag[everyList]
}

// lagging serves a list as it was a while ago, if the list lags.
func lagging(serve handler) handler {
	return func(c *call) (reply, error) {
		lag := c.listLag()
		if lag <= 0 {
			return serve(c)
		}
		past := *c
		past.now = c.now.Add(-lag)
		past.team = c.s.teamAt(c.team, past.now)
		past.past = true
		return serve(&past)
	}
}

// teamAt is the team as it was at a time, or as far back as is known.
func (s *Simulator) teamAt(t *team, at time.Time) *team {
	known := s.history.versions
	if len(known) == 0 {
		return t
	}
	i := len(known) - 1
	for i > 0 && known[i].at.After(at) {
		i--
	}
	if past, ok := known[i].teams[t.name]; ok {
		return past.view
	}
	return newTeam(t.name)
}

// longestLag is how far back any list may have to look.
func (s *Simulator) longestLag() time.Duration {
	longest := time.Duration(0)
	for lag := range maps.Values(s.settings.ListLag) {
		longest = max(longest, lag)
	}
	for _, f := range s.faults.faults {
		longest = max(longest, f.ListLag)
	}
	return longest
}

// lagChanged begins or ends the history. It begins with the present, as if it
// had always been so.
func (s *Simulator) lagChanged() {
	switch lag := s.longestLag(); {
	case lag == 0:
		s.history = history{}
	case len(s.history.versions) == 0:
		s.history = history{versions: []version{{teams: s.freeze(nil)}}}
	}
}

// remember keeps what the last holder of the lock may have changed.
func (s *Simulator) remember(now time.Time) {
	h := &s.history
	if !h.changed {
		return
	}
	h.changed = false
	if len(h.versions) == 0 {
		return
	}
	newest := h.versions[len(h.versions)-1]
	teams := s.freeze(newest.teams)
	if maps.EqualFunc(teams, newest.teams, (*frozenTeam).same) {
		return
	}
	// Only the newest version is compared with; older ones need no index.
	for _, f := range newest.teams {
		f.droplets, f.loadBalancers, f.firewalls = nil, nil, nil
	}
	h.versions = append(h.versions, version{at: h.changedAt, teams: teams})
	oldest := now.Add(-s.longestLag())
	for len(h.versions) > 1 && !h.versions[1].at.After(oldest) {
		h.versions = slices.Delete(h.versions, 0, 1)
	}
}

// mark notes that something may be changed from now on.
func (s *Simulator) mark(now time.Time) {
	s.history.changed, s.history.changedAt = true, now
}

// freeze copies all teams, sharing what has not changed with the copies before.
func (s *Simulator) freeze(before map[string]*frozenTeam) map[string]*frozenTeam {
	frozen := map[string]*frozenTeam{}
	for name, t := range s.teams {
		old := before[name]
		if old == nil {
			old = &frozenTeam{}
		}
		f := &frozenTeam{view: newTeam(name)}
		f.view.droplets.items, f.droplets = copies(t.droplets.items, old.droplets)
		f.view.loadBalancers.items, f.loadBalancers = copies(t.loadBalancers.items, old.loadBalancers)
		f.view.firewalls.items, f.firewalls = copies(t.firewalls.items, old.firewalls)
		frozen[name] = f
	}
	return frozen
}

// copies copies each item, or takes the copy that is still equal. Shallow
// copies do, for slices of objects are replaced and never changed in place.
func copies[V any](items []*V, before map[*V]*V) ([]*V, map[*V]*V) {
	kept, index := make([]*V, len(items)), make(map[*V]*V, len(items))
	for i, item := range items {
		made, ok := before[item]
		if !ok || !reflect.DeepEqual(made, item) {
			made = new(*item)
		}
		kept[i], index[item] = made, made
	}
	return kept, index
}

func (f *frozenTeam) same(other *frozenTeam) bool {
	return slices.Equal(f.view.droplets.items, other.view.droplets.items) &&
		slices.Equal(f.view.loadBalancers.items, other.view.loadBalancers.items) &&
		slices.Equal(f.view.firewalls.items, other.view.firewalls.items)
}
