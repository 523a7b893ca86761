package inventory

import (
	"slices"
	"time"
)

// pageSize is how many droplets a page of a list holds at most.
const pageSize = 200

// pagesFor is how many calls a list of n objects takes.
func pagesFor(n int) int { return max(1, (n+pageSize-1)/pageSize) }

// listIsCheaper compares the calls of a list with those of asking for each of
// the droplets that are due: id, and those peers of which too old a state is
// known.
func (d *Droplets) listIsCheaper(id int, maxAge time.Duration, peers []int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.index.byID[id].GPU != "" && d.gpusListed {
		// It isn't in a plain list; only many of its kind are worth one.
		return d.due(maxAge, peers, true) > d.listCost()
	}
	due := d.due(maxAge, peers, false)
	if !slices.Contains(peers, id) {
		due++
	}
	return due > d.listCost()
}

// due counts the peers whose known state is older than maxAge.
func (d *Droplets) due(maxAge time.Duration, peers []int, gpusOnly bool) int {
	due := 0
	for _, id := range peers {
		droplet, ok := d.index.byID[id]
		if gpusOnly && droplet.GPU == "" {
			continue
		}
		if !ok || d.clock.Since(droplet.Read) > maxAge {
			due++
		}
	}
	return due
}

// listCost is how many calls a list will take. While nothing was listed yet,
// it is unknown, and the first page is worth a try as it tells.
func (d *Droplets) listCost() int {
	if d.total == 0 {
		return 1
	}
	cost := pagesFor(d.total)
	if tag := d.sharedTag(); tag != "" {
		cost = pagesFor(len(d.cluster.Known()))
	}
	if d.gpus > 0 && d.clusterHasGPUs() {
		cost += pagesFor(d.gpus)
	}
	return cost
}
