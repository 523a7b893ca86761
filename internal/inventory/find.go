package inventory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/internal/doapi"
)

// ErrNoMatch says that no droplet fits a Node's name and addresses. It is no
// proof that there is none.
var ErrNoMatch = errors.New("no droplet matches")

// ErrAmbiguous says that several droplets fit.
var ErrAmbiguous = errors.New("several droplets match")

// Query is what is known of a Node that has no provider ID.
type Query struct {
	// Name is the Node's name.
	Name string
	// Addresses are what the kubelet reported.
	Addresses []string
	// Since is when the Node was made. A droplet of the same name may have
	// been replaced just before, so only what was read later counts.
	Since time.Time
}

// miss remembers a look-up that found nothing.
type miss struct {
	backoff
	err error
}

// Look-ups that find nothing are repeated after a short wait that grows: a new
// droplet shows up in lists within seconds, a wrong name stays wrong.
const (
	minMissWait = 3 * time.Second
	maxMissWait = time.Minute
)

// Find returns the droplet of a Node by its name, ignoring case, or else by
// its addresses. A full domain name also matches a droplet of its first label
// when an address agrees. The error is [ErrNoMatch] or [ErrAmbiguous] when the
// API was understood.
func (d *Droplets) Find(ctx context.Context, q Query) (Droplet, error) {
	if droplet, err := d.findKnown(q); !errors.Is(err, ErrNoMatch) {
		return droplet, err
	}
	if err := d.remembered(q.Name); err != nil {
		return Droplet{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	droplet, err := d.findNow(ctx, q)
	d.remember(q.Name, err)
	return droplet, err
}

// findKnown searches what was listed after the Node was made.
func (d *Droplets) findKnown(q Query) (Droplet, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.listed.After(q.Since) {
		return Droplet{}, ErrNoMatch
	}
	return match(q, d.index)
}

func (d *Droplets) findNow(ctx context.Context, q Query) (Droplet, error) {
	d.mu.Lock()
	// A list knows names as well, so after a first miss it is enough.
	_, missed := d.misses[q.Name]
	byName := !missed && d.cluster.Unnamed() <= d.listCost()
	d.mu.Unlock()
	if byName {
		droplet, err := d.findByName(ctx, q)
		if !errors.Is(err, ErrNoMatch) {
			return droplet, err
		}
	}
	if err := d.listAll(ctx, minMissWait); err != nil {
		return Droplet{}, fmt.Errorf("list droplets: %w", err)
	}
	droplet, err := d.findKnown(q)
	if errors.Is(err, ErrNoMatch) && !byName && !missed {
		// A list may lag behind.
		return d.findByName(ctx, q)
	}
	return droplet, err
}

func (d *Droplets) findByName(ctx context.Context, q Query) (Droplet, error) {
	begun := d.clock.Now()
	found, err := doapi.ListAll(ctx, func(ctx context.Context, o *godo.ListOptions) ([]godo.Droplet, *godo.Response, error) {
		return d.api.ListByName(ctx, q.Name, o)
	}, dropletID)
	if err != nil {
		return Droplet{}, fmt.Errorf("list droplets named %q: %w", q.Name, err)
	}
	named := newIndex()
	d.mu.Lock()
	for i := range found {
		droplet := fromAPI(&found[i], begun)
		named.put(droplet)
		d.index.put(droplet)
	}
	d.mu.Unlock()
	return match(q, named)
}

// match finds the one droplet that fits.
func match(q Query, x *index) (Droplet, error) {
	if named := x.named(q.Name); len(named) > 0 {
		return one(q, named)
	}
	addressed := x.addressed(q.Addresses)
	if label, _, isDomain := strings.Cut(q.Name, "."); isDomain {
		if labelled := withAddress(q, x.named(label)); len(labelled) == 1 {
			return labelled[0], nil
		}
	}
	if len(addressed) == 0 {
		return Droplet{}, fmt.Errorf("%w: compared the name %q and the addresses %v with %d droplets", ErrNoMatch, q.Name, q.Addresses, len(x.byID))
	}
	return one(q, addressed)
}

// one takes the only candidate, or the only one with a fitting address.
func one(q Query, candidates []Droplet) (Droplet, error) {
	if len(candidates) == 1 {
		return candidates[0], nil
	}
	if fitting := withAddress(q, candidates); len(fitting) == 1 {
		return fitting[0], nil
	}
	ids := make([]int, len(candidates))
	for i, c := range candidates {
		ids[i] = c.ID
	}
	return Droplet{}, fmt.Errorf("%w %q: droplets %v; set the kubelet's --provider-id, or rename or remove the droplets that are not this Node", ErrAmbiguous, q.Name, ids)
}

func withAddress(q Query, candidates []Droplet) []Droplet {
	var fitting []Droplet
	for _, c := range candidates {
		if sharesAddress(c, q.Addresses) {
			fitting = append(fitting, c)
		}
	}
	return fitting
}

func sharesAddress(d Droplet, addresses []string) bool {
	for _, have := range d.Addresses() {
		for _, want := range addresses {
			if have == want {
				return true
			}
		}
	}
	return false
}

// remembered returns the error of a look-up that found nothing a moment ago.
func (d *Droplets) remembered(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m, ok := d.misses[name]; ok && d.clock.Now().Before(m.next) {
		return m.err
	}
	return nil
}

func (d *Droplets) remember(name string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !errors.Is(err, ErrNoMatch) && !errors.Is(err, ErrAmbiguous) {
		if err == nil {
			delete(d.misses, name)
		}
		return
	}
	now := d.clock.Now()
	d.misses[name] = miss{d.misses[name].again(now, minMissWait, maxMissWait), err}
	// Names of Nodes that are gone would pile up.
	for other, old := range d.misses {
		if now.Sub(old.next) > 10*maxMissWait {
			delete(d.misses, other)
		}
	}
}
