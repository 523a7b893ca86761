package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/internal/doapi"
)

// list refreshes what is known of the cluster's droplets by a list: of all
// droplets, of those with the tag that they share, or only the first page where
// the rest turns out to be too many strangers'.
func (d *Droplets) list(ctx context.Context, maxAge time.Duration, p *pace) error {
	return d.refresh("list", maxAge, &d.listed, func() error { return d.listNow(ctx, p) })
}

// listAll reads every droplet that there is, to find one of which neither id
// nor name is known.
func (d *Droplets) listAll(ctx context.Context, maxAge time.Duration) error {
	return d.refresh("list all", maxAge, &d.listedAll, func() error { return d.listAllNow(ctx) })
}

// refresh reads a list, unless one of the kind was begun at most maxAge ago or
// the API is in trouble. Callers at the same time share it.
func (d *Droplets) refresh(kind string, maxAge time.Duration, at *time.Time, read func() error) error {
	_, err := share(&d.flights, kind, func() (any, error) {
		if d.within(maxAge, at) {
			return nil, nil // by whoever was just before us
		}
		if err := d.inTrouble(); err != nil {
			return nil, err
		}
		err := read()
		d.noteTrouble(err, troubleAfter)
		return nil, err
	})
	return err
}

func (d *Droplets) within(maxAge time.Duration, at *time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !at.IsZero() && d.clock.Since(*at) < maxAge
}

func (d *Droplets) listNow(ctx context.Context, p *pace) error {
	d.mu.Lock()
	cost := d.listCost()
	tag := d.sharedTag()
	d.mu.Unlock()
	d.book(p, cost)
	begun := d.clock.Now()
	if worthwhile, err := d.probe(ctx, begun); err != nil || !worthwhile {
		return err
	}
	if err := d.listPlain(ctx, begun, tag); err != nil {
		return err
	}
	return d.listMissingGPUs(ctx, begun)
}

func (d *Droplets) listAllNow(ctx context.Context) error {
	d.mu.Lock()
	cost := pagesFor(d.total) + pagesFor(d.gpus)
	d.mu.Unlock()
	if !d.allowed(&d.search) {
		return ErrNotNow
	}
	d.book(&d.search, cost)
	begun := d.clock.Now()
	// GPU droplets first: "listed" then means that they are known too.
	if err := d.listGPUs(ctx, begun); err != nil {
		return err
	}
	if err := d.listPlain(ctx, begun, ""); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listedAll = begun
	return nil
}

// listPlain reads the droplets without GPUs, only those with the tag if it isn't
// empty.
func (d *Droplets) listPlain(ctx context.Context, begun time.Time, tag string) error {
	list := d.plain.All
	if tag != "" {
		list = func(ctx context.Context) ([]godo.Droplet, error) {
			return doapi.ListAll(ctx, func(ctx context.Context, o *godo.ListOptions) ([]godo.Droplet, *godo.Response, error) {
				return d.api.ListByTag(ctx, tag, o)
			}, dropletID)
		}
	}
	droplets, err := list(ctx)
	if err != nil {
		return err
	}
	d.store(droplets, begun, tag == "")
	return nil
}

// probe reads the first page when the number of droplets is unknown, and tells
// whether the rest is worth reading.
func (d *Droplets) probe(ctx context.Context, begun time.Time) (worthwhile bool, err error) {
	d.mu.Lock()
	known := d.total > 0
	d.mu.Unlock()
	if known {
		return true, nil
	}
	droplets, resp, err := d.api.List(ctx, &godo.ListOptions{Page: 1, PerPage: pageSize})
	if err != nil {
		return false, err
	}
	if resp.Meta == nil {
		return false, fmt.Errorf("the answer has no meta.total")
	}
	d.mu.Lock()
	d.total = resp.Meta.Total
	for i := range droplets {
		d.index.put(fromAPI(&droplets[i], begun))
	}
	wanted := len(d.cluster.Known()) + d.cluster.Unnamed()
	pages := pagesFor(d.total)
	d.mu.Unlock()
	if pages == 1 && len(droplets) == resp.Meta.Total {
		d.store(droplets, begun, true)
		return false, d.listMissingGPUs(ctx, begun)
	}
	return wanted > pages, nil
}

func (d *Droplets) store(droplets []godo.Droplet, begun time.Time, whole bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range droplets {
		droplet := fromAPI(&droplets[i], begun)
		d.index.put(droplet)
		delete(d.doubts, droplet.ID)
	}
	if !whole {
		return
	}
	d.listed, d.total = begun, max(1, len(droplets))
	d.forgetStrangers(begun, false)
}

// forgetStrangers drops droplets of one kind that a list begun at the time
// lacked. Those of the cluster stay until somebody asks for them, as absence
// from a list proves nothing.
func (d *Droplets) forgetStrangers(begun time.Time, gpus bool) {
	known := map[int]bool{}
	for _, id := range d.cluster.Known() {
		known[id] = true
	}
	for id, droplet := range d.index.byID {
		if droplet.Read.Before(begun) && (droplet.GPU != "") == gpus && !known[id] {
			d.index.remove(id)
		}
	}
	for id := range d.doubts {
		if !known[id] {
			delete(d.doubts, id)
		}
	}
}

// listMissingGPUs reads the droplets with GPUs, which a plain list leaves out,
// when the cluster has some or it isn't known yet whether it has.
func (d *Droplets) listMissingGPUs(ctx context.Context, begun time.Time) error {
	d.mu.Lock()
	wanted := d.clusterHasGPUs() || (!d.gpusListed && d.missing(begun) > 1)
	d.mu.Unlock()
	if !wanted {
		return nil
	}
	return d.listGPUs(ctx, begun)
}

func (d *Droplets) listGPUs(ctx context.Context, begun time.Time) error {
	droplets, err := d.withGPUs.All(ctx)
	if err != nil {
		return fmt.Errorf("with GPUs: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gpus, d.gpusListed = len(droplets), true
	for i := range droplets {
		droplet := fromAPI(&droplets[i], begun)
		if droplet.GPU == "" {
			droplet.GPU = droplet.Size
		}
		d.index.put(droplet)
	}
	d.forgetStrangers(begun, true)
	return nil
}

// missing counts the cluster's droplets that were not read since begun.
func (d *Droplets) missing(begun time.Time) int {
	n := 0
	for _, id := range d.cluster.Known() {
		if droplet, ok := d.index.byID[id]; !ok || droplet.Read.Before(begun) {
			n++
		}
	}
	return n
}

func (d *Droplets) clusterHasGPUs() bool {
	for _, id := range d.cluster.Known() {
		if d.index.byID[id].GPU != "" {
			return true
		}
	}
	return false
}

// sharedTag is a tag that every droplet of the cluster carries, when a list by
// it takes fewer calls than one of all droplets; else empty.
func (d *Droplets) sharedTag() string {
	known := d.cluster.Known()
	if pagesFor(d.total) <= pagesFor(len(known)) || d.clusterHasGPUs() {
		return ""
	}
	var shared []string
	for i, id := range known {
		droplet, ok := d.index.byID[id]
		if !ok {
			return ""
		}
		if i == 0 {
			shared = slices.Clone(droplet.Tags)
		}
		shared = slices.DeleteFunc(shared, func(t string) bool { return !slices.Contains(droplet.Tags, t) })
	}
	if len(shared) == 0 {
		return ""
	}
	return slices.Min(shared)
}

func dropletID(d godo.Droplet) int { return d.ID }
