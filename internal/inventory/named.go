package inventory

import (
	"context"
	"slices"
	"time"
)

// Named returns the droplets that have the name, ignoring case, and none of the
// ids, as they were at most maxAge ago; the oldest first. None is no proof that
// there is none: lists lag behind, and that by name may lack droplets with
// GPUs. The error is [ErrNotNow] when asking has to wait.
func (d *Droplets) Named(ctx context.Context, name string, except []int, maxAge time.Duration) ([]Droplet, error) {
	unwanted := func(droplet Droplet) bool {
		return slices.Contains(except, droplet.ID) || foldName(droplet.Name) != foldName(name) || d.clock.Since(droplet.Read) > maxAge
	}
	d.mu.Lock()
	known := slices.DeleteFunc(d.index.named(name), unwanted)
	d.mu.Unlock()
	if len(known) > 0 {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found, err := d.listNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, unwanted)
	slices.SortFunc(found, func(a, b Droplet) int { return a.Created.Compare(b.Created) })
	return found, nil
}
