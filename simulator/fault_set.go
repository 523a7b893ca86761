package simulator

import (
	"math/rand/v2"
	"net/url"
	"slices"
)

// faultSet holds the faults in the order in which they were added.
type faultSet struct {
	faults []*Fault
	last   int
	source *rand.PCG
	dice   *rand.Rand
}

func newFaultSet(seed int64) faultSet {
	source := rand.NewPCG(uint64(seed), 0)
	return faultSet{source: source, dice: rand.New(source)}
}

func (s *faultSet) add(f Fault) int {
	s.last++
	f.ID, f.Hits = s.last, 0
	s.faults = append(s.faults, &f)
	return f.ID
}

// pick returns a copy of the fault that strikes a request, or nil.
func (s *faultSet) pick(method, requestPath string, query url.Values) *Fault {
	for _, f := range s.faults {
		if f.Count > 0 && f.Hits >= f.Count || !f.matches(method, requestPath, query) {
			continue
		}
		if f.Probability > 0 && s.dice.Float64() >= f.Probability {
			continue
		}
		f.Hits++
		struck := *f
		return &struck
	}
	return nil
}

// AddFault adds a fault and returns the id to remove it by. It panics when the
// fault cannot ever strike as told: a broken pattern, a probability beyond 1, a
// status that is none, no effect at all.
func (s *Simulator) AddFault(f Fault) (id int) {
	if err := f.validate(); err != nil {
		panic(err)
	}
	s.lock()
	defer s.mu.Unlock()
	id = s.faults.add(f)
	s.lagChanged()
	return id
}

// RemoveFault removes a fault; one that is gone already is no error.
func (s *Simulator) RemoveFault(id int) {
	s.lock()
	defer s.mu.Unlock()
	s.faults.faults = slices.DeleteFunc(s.faults.faults, func(f *Fault) bool { return f.ID == id })
	s.lagChanged()
}

// ClearFaults removes all faults.
func (s *Simulator) ClearFaults() {
	s.lock()
	defer s.mu.Unlock()
	s.faults.faults = nil
	s.lagChanged()
}

// Faults returns all faults with their hits, spent ones included.
func (s *Simulator) Faults() []Fault {
	s.lock()
	defer s.mu.Unlock()
	found := []Fault{}
	for _, f := range s.faults.faults {
		found = append(found, *f)
	}
	return found
}
