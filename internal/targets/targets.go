// Package targets keeps a droplet tag on exactly the droplets that are backends,
// so that load balancers can send their traffic to the tag: a Node that joins
// then costs one call, however many load balancers there are.
package targets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/digitalocean/godo"
	"golang.org/x/sync/semaphore"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/doapi"
)

// TagAPI is the part of DigitalOcean's API that is written to.
type TagAPI interface {
	Create(context.Context, *godo.TagCreateRequest) (*godo.Tag, *godo.Response, error)
	Delete(context.Context, string) (*godo.Response, error)
	TagResources(context.Context, string, *godo.TagResourcesRequest) (*godo.Response, error)
	UntagResources(context.Context, string, *godo.UntagResourcesRequest) (*godo.Response, error)
}

// DropletAPI lists the droplets that carry a tag.
type DropletAPI interface {
	ListByTag(context.Context, string, *godo.ListOptions) ([]godo.Droplet, *godo.Response, error)
}

// relist is how often the droplets that carry the tag are listed, to find those
// that got or lost it by somebody else's hand. It costs a call for 200 of them.
const relist = time.Hour

// Tag is a droplet tag of ours. It is safe for concurrent use.
type Tag struct {
	name   string
	api    TagAPI
	lister *doapi.Lister[godo.Droplet, int]
	clock  clock.PassiveClock

	// turn is held over calls: what is sent depends on what was sent before. It
	// is no mutex, as whoever waits for one holds up the fake time of tests.
	turn *semaphore.Weighted
	// carriers are the droplets that carry the tag, as far as is known.
	carriers map[int]bool
	// listed is when they were listed; zero: they aren't known.
	listed time.Time
	// dropped is when the tag was deleted; zero: never.
	dropped time.Time
	// failures are how often it failed in a row, failure is the last, and
	// failedUntil when it is tried again.
	failures    int
	failure     error
	failedUntil time.Time
}

// New makes a Tag of a name that is the manager's alone.
func New(name string, api TagAPI, droplets DropletAPI, c clock.PassiveClock) *Tag {
	list := func(ctx context.Context, o *godo.ListOptions) ([]godo.Droplet, *godo.Response, error) {
		return droplets.ListByTag(ctx, name, o)
	}
	return &Tag{turn: semaphore.NewWeighted(1), name: name, api: api, clock: c, lister: doapi.NewLister(list, func(d godo.Droplet) int { return d.ID })}
}

// lock waits for its turn, however long that takes.
func (t *Tag) lock() (unlock func()) {
	_ = t.turn.Acquire(context.Background(), 1) // it fails for a context that ends alone
	return func() { t.turn.Release(1) }
}

// Name is the tag's name.
func (t *Tag) Name() string { return t.name }

// Sync makes the droplets that backends returns the only ones that carry the
// tag. It returns them. New ones get the tag before others lose it, so that
// there is no moment with too few. backends is asked once nobody else is at
// work on the tag, so that no older knowledge undoes newer.
//
// DigitalOcean refuses all droplets for one that doesn't exist: then the error
// matches [doapi.IsNotFound], and it takes fresher backends.
func (t *Tag) Sync(ctx context.Context, backends func(context.Context) ([]int, error)) ([]int, error) {
	if err := t.turn.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("wait for others' work on the tag %s: %w", t.name, err)
	}
	defer t.turn.Release(1)
	if wait := t.failedUntil.Sub(t.clock.Now()); wait > 0 {
		return nil, t.failure
	}
	ids, err := backends(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.sync(ctx, ids); err != nil {
		if !errors.Is(err, doapi.ErrThrottled) { // nothing was sent
			t.failed(err)
		}
		return nil, err
	}
	t.failures, t.failure, t.failedUntil = 0, nil, time.Time{}
	return ids, nil
}

func (t *Tag) sync(ctx context.Context, ids []int) error {
	if err := t.list(ctx); err != nil {
		return err
	}
	add, remove := t.difference(ids)
	if len(add) > 0 {
		if err := t.put(ctx, add, ids); err != nil {
			return err
		}
	}
	// An empty set of backends is more often a mistake than meant, and costs
	// all traffic of all Services at once: the last ones keep the tag.
	if len(remove) > 0 && len(ids) > 0 {
		return t.take(ctx, remove)
	}
	return nil
}

// Waits after failures, before which no Service has it tried again: each of
// hundreds would.
const (
	firstWait   = 30 * time.Second
	longestWait = 5 * time.Minute
)

func (t *Tag) failed(err error) {
	class := doapi.Classify(err)
	if class != doapi.ClassUser && class != doapi.ClassAccount {
		t.listed = time.Time{} // what came of it is not known
	}
	t.failures++
	if t.failures == 1 && doapi.IsNotFound(err) {
		return // fresher backends may do
	}
	wait := longestWait
	if t.failures < 5 {
		wait = min(longestWait, firstWait<<(t.failures-1))
	}
	t.failure, t.failedUntil = err, t.clock.Now().Add(wait)
}

// Doubt has the droplets that carry the tag listed anew at the next Sync.
func (t *Tag) Doubt() {
	defer t.lock()()
	t.listed = time.Time{}
}

// list learns which droplets carry the tag, when that is due.
func (t *Tag) list(ctx context.Context) error {
	if !t.listed.IsZero() && t.clock.Since(t.listed) < relist {
		return nil
	}
	now := t.clock.Now()
	droplets, err := t.lister.All(ctx)
	if err != nil {
		return fmt.Errorf("list droplets tagged %s: %w", t.name, err)
	}
	t.carriers = make(map[int]bool, len(droplets))
	for _, d := range droplets {
		t.carriers[d.ID] = true
	}
	t.listed = now
	return nil
}

// difference is what must be added and removed, sorted.
func (t *Tag) difference(ids []int) (add, remove []int) {
	for _, id := range ids {
		if !t.carriers[id] {
			add = append(add, id)
		}
	}
	wanted := make(map[int]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	for id := range t.carriers {
		if !wanted[id] {
			remove = append(remove, id)
		}
	}
	slices.Sort(add)
	slices.Sort(remove)
	return add, remove
}

// put tags the droplets that lack the tag; all of the backends, where the tag
// doesn't exist (any more).
func (t *Tag) put(ctx context.Context, ids, all []int) error {
	request := &godo.TagResourcesRequest{Resources: resources(ids)}
	_, err := t.api.TagResources(ctx, t.name, request)
	if doapi.IsNotFound(err) {
		// Either the tag doesn't exist or a droplet; making the tag tells.
		if _, _, err := t.api.Create(ctx, &godo.TagCreateRequest{Name: t.name}); err != nil {
			return fmt.Errorf("create tag %s: %w", t.name, err)
		}
		klog.FromContext(ctx).Info("Created the tag of backends", "tag", t.name)
		clear(t.carriers)
		ids, request = all, &godo.TagResourcesRequest{Resources: resources(all)}
		_, err = t.api.TagResources(ctx, t.name, request)
	}
	if err != nil {
		return fmt.Errorf("tag %d droplets with %s: %w", len(ids), t.name, err)
	}
	for _, id := range ids {
		t.carriers[id] = true
	}
	klog.FromContext(ctx).Info("Tagged droplets as backends", "tag", t.name, "droplets", ids)
	return nil
}

// takeOneByOne bounds the calls for droplets of which some are gone.
const takeOneByOne = 10

// take takes the tag from droplets. Those that don't exist carry none, but
// DigitalOcean refuses all for one of them.
func (t *Tag) take(ctx context.Context, ids []int) error {
	err := t.untag(ctx, ids)
	switch {
	case !doapi.IsNotFound(err):
		return err
	case len(ids) == 1:
		delete(t.carriers, ids[0])
		return nil
	case len(ids) > takeOneByOne:
		t.listed = time.Time{} // the next list is cheaper, and tells
		return nil
	}
	for _, id := range ids {
		if err := t.take(ctx, []int{id}); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tag) untag(ctx context.Context, ids []int) error {
	if _, err := t.api.UntagResources(ctx, t.name, &godo.UntagResourcesRequest{Resources: resources(ids)}); err != nil {
		return fmt.Errorf("take the tag %s from %d droplets: %w", t.name, len(ids), err)
	}
	for _, id := range ids {
		delete(t.carriers, id)
	}
	klog.FromContext(ctx).Info("Took the backends' tag from droplets", "tag", t.name, "droplets", ids)
	return nil
}

// Drop deletes the tag, which takes it from all droplets. Nothing may target it
// any more.
func (t *Tag) Drop(ctx context.Context) error {
	defer t.lock()()
	t.listed = time.Time{}
	if _, err := t.api.Delete(ctx, t.name); err != nil && !doapi.IsNotFound(err) {
		return fmt.Errorf("delete tag %s: %w", t.name, err)
	}
	t.dropped = t.clock.Now()
	klog.FromContext(ctx).Info("Deleted the backends' tag, which no load balancer targets any more", "tag", t.name)
	return nil
}

// Dropped is when this process last deleted the tag; zero: never. What was read
// of droplets before may still show it.
func (t *Tag) Dropped() time.Time {
	defer t.lock()()
	return t.dropped
}

func resources(ids []int) []godo.Resource {
	list := make([]godo.Resource, len(ids))
	for i, id := range ids {
		list[i] = godo.Resource{ID: strconv.Itoa(id), Type: godo.DropletResourceType}
	}
	return list
}
