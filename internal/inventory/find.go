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

// missKey is what a look-up that found nothing is remembered by: a Node that
// was made anew begins anew.
type missKey struct {
	name  string
	since time.Time
}

func (q Query) key() missKey { return missKey{q.Name, q.Since} }

// Find returns the droplet of a Node by its name, ignoring case, or else by
// its addresses. A full domain name also matches a droplet of its first label
// when an address agrees. The error is [ErrNoMatch] or [ErrAmbiguous] when the
// API was understood.
func (d *Droplets) Find(ctx context.Context, q Query) (Droplet, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	droplet, err := d.findKnown(q)
	if errors.Is(err, ErrNoMatch) {
		if err := d.remembered(q); err != nil {
			return Droplet{}, err
		}
		droplet, err = d.findNow(ctx, q)
		d.remember(q, err)
	}
	if err == nil && d.mayBeReplaced(droplet, q) {
		// The droplet that this name had before may still be listed, and its
		// successor not yet.
		return d.get(ctx, droplet.ID, nil)
	}
	return droplet, err
}

// replacedAfter is by how much a droplet is older than its Node that makes it
// doubtful: a kubelet registers within minutes.
const replacedAfter = 30 * time.Minute

func (d *Droplets) mayBeReplaced(droplet Droplet, q Query) bool {
	return q.Since.Sub(droplet.Created) > replacedAfter && !sharesAddress(droplet, q.Addresses)
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
	_, missed := d.misses[q.key()]
	byName := d.cluster.Unnamed() <= d.listCost()
	d.mu.Unlock()
	if byName {
		droplet, err := d.findByName(ctx, q)
		// With other addresses than the kubelet's, it may be a namesake.
		if err == nil && (len(q.Addresses) == 0 || sharesAddress(droplet, q.Addresses)) {
			return droplet, nil
		}
		if err != nil && !errors.Is(err, ErrNoMatch) {
			return Droplet{}, err
		}
	}
	listAge := minMissWait
	if missed && byName {
		listAge = searchListAge
	}
	if err := d.listAll(ctx, listAge); err != nil && !errors.Is(err, ErrNotNow) {
		return Droplet{}, fmt.Errorf("list droplets: %w", err)
	}
	return d.findKnown(q)
}

// searchListAge is how old a list of everything may be while a search by name
// goes on that costs one call.
const searchListAge = 5 * time.Minute

func (d *Droplets) findByName(ctx context.Context, q Query) (Droplet, error) {
	found, err := d.listNamed(ctx, q.Name)
	switch {
	case errors.Is(err, errNoTurn):
		return Droplet{}, ErrNoMatch
	case err != nil:
		return Droplet{}, err
	}
	named := newIndex()
	for _, droplet := range found {
		named.put(droplet)
	}
	return match(q, named)
}

// errNoTurn is ErrNotNow because of the pace of searches.
var errNoTurn = fmt.Errorf("%w: many searches", ErrNotNow)

// listNamed asks for the droplets of a name.
func (d *Droplets) listNamed(ctx context.Context, name string) ([]Droplet, error) {
	if err := d.inTrouble(); err != nil {
		return nil, err
	}
	if !d.allowed(&d.search) {
		return nil, errNoTurn
	}
	d.book(&d.search, 1)
	begun := d.clock.Now()
	found, err := doapi.ListAll(ctx, func(ctx context.Context, o *godo.ListOptions) ([]godo.Droplet, *godo.Response, error) {
		return d.api.ListByName(ctx, name, o)
	}, dropletID)
	d.noteTrouble(err, troubleAfter)
	if err != nil {
		return nil, fmt.Errorf("list droplets named %q: %w", name, err)
	}
	named := make([]Droplet, len(found))
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range found {
		named[i] = fromAPI(&found[i], begun)
		d.index.put(named[i])
	}
	return named, nil
}

// match finds the one droplet that fits.
func match(q Query, x *index) (Droplet, error) {
	addressed := x.addressed(q.Addresses)
	if named := x.named(q.Name); len(named) > 0 {
		if len(withAddress(q, named)) == 0 {
			// The name says one, the addresses another: somebody's namesake.
			named = append(named, addressed...)
		}
		return one(q, named)
	}
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
	if fitting := withAddress(q, candidates); len(fitting) == 1 && (foldName(fitting[0].Name) == foldName(q.Name) || len(candidates) == len(fitting)) {
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
func (d *Droplets) remembered(q Query) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m, ok := d.misses[q.key()]; ok && d.clock.Now().Before(m.next) {
		return m.err
	}
	return nil
}

func (d *Droplets) remember(q Query, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !errors.Is(err, ErrNoMatch) && !errors.Is(err, ErrAmbiguous) {
		if err == nil {
			delete(d.misses, q.key())
		}
		return
	}
	now := d.clock.Now()
	d.misses[q.key()] = miss{d.misses[q.key()].again(now, minMissWait, maxMissWait), err}
	// Names of Nodes that are gone would pile up.
	for other, old := range d.misses {
		if now.Sub(old.next) > 10*maxMissWait {
			delete(d.misses, other)
		}
	}
}
