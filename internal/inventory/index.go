package inventory

import (
	"slices"
	"strings"
	"time"
)

// index finds droplets by id, name and address. It is not safe for concurrent
// use.
type index struct {
	byID map[int]Droplet
	// firstSeen is when a droplet was first read.
	firstSeen map[int]time.Time
	byName    map[string][]int
	byAddress map[string][]int
}

func newIndex() *index {
	return &index{byID: map[int]Droplet{}, firstSeen: map[int]time.Time{}, byName: map[string][]int{}, byAddress: map[string][]int{}}
}

// put stores what was read, unless something newer is known: a list of many
// pages is as old as its beginning.
func (x *index) put(d Droplet) {
	if d.ID <= 0 {
		return
	}
	if old, ok := x.byID[d.ID]; ok && old.Read.After(d.Read) {
		return
	}
	first, seen := x.firstSeen[d.ID]
	x.remove(d.ID)
	if !seen {
		first = d.Read
	}
	x.firstSeen[d.ID] = first
	x.byID[d.ID] = d
	addTo(x.byName, foldName(d.Name), d.ID)
	for _, a := range d.Addresses() {
		addTo(x.byAddress, a, d.ID)
	}
}

func (x *index) remove(id int) {
	old, ok := x.byID[id]
	if !ok {
		return
	}
	delete(x.byID, id)
	delete(x.firstSeen, id)
	removeFrom(x.byName, foldName(old.Name), id)
	for _, a := range old.Addresses() {
		removeFrom(x.byAddress, a, id)
	}
}

func (x *index) named(name string) []Droplet { return x.pick(x.byName[foldName(name)]) }

// addressed returns the droplets that have any of the addresses.
func (x *index) addressed(addresses []string) []Droplet {
	var ids []int
	for _, a := range addresses {
		for _, id := range x.byAddress[a] {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return x.pick(ids)
}

func (x *index) pick(ids []int) []Droplet {
	droplets := make([]Droplet, 0, len(ids))
	for _, id := range slices.Sorted(slices.Values(ids)) {
		droplets = append(droplets, x.byID[id])
	}
	return droplets
}

// foldName makes names comparable: kubelets write theirs in lower case, people
// name droplets as they like.
func foldName(name string) string { return strings.ToLower(name) }

func addTo(m map[string][]int, key string, id int) {
	if !slices.Contains(m[key], id) {
		m[key] = append(m[key], id)
	}
}

func removeFrom(m map[string][]int, key string, id int) {
	m[key] = slices.DeleteFunc(m[key], func(have int) bool { return have == id })
	if len(m[key]) == 0 {
		delete(m, key)
	}
}
