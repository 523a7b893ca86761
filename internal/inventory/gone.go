package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"digitalocean-cloud-controller-manager/internal/doapi"
)

// maxWitnesses is how many other droplets are asked for before a 404 is given
// up as not believable: several may really be gone at once.
const maxWitnesses = 3

// A droplet that the API didn't find is asked for again after a wait that
// grows, whatever was made of the answer.
const (
	minDoubtWait = 10 * time.Second
	maxDoubtWait = 5 * time.Minute
)

// confirmGone decides whether the API's "not found" for a droplet is to be
// believed.
func (d *Droplets) confirmGone(ctx context.Context, id int, notFound error) error {
	d.mu.Lock()
	d.doubts[id] = doubt{d.doubts[id].again(d.clock.Now(), minDoubtWait, maxDoubtWait), nil}
	droplet, known := d.index.byID[id]
	seen := known && d.identity.hasShown(droplet)
	d.mu.Unlock()
	verdict := fmt.Errorf("droplet %d: %w", id, ErrGone)
	if err := d.vouch(ctx, id, seen, &d.doubt); err != nil {
		verdict = fmt.Errorf("droplet %d: %w: %w (%w)", id, ErrNotBelieved, err, notFound)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if doubted, ok := d.doubts[id]; ok {
		doubted.err = verdict
		d.doubts[id] = doubted
	}
	return verdict
}

// Vouch tells whether the token still shows this cluster, by asking now. The
// API answers "not found", or a list without the object, just as well when the
// token is of another team; what is done upon such an answer needs Vouch first.
// An error says why the answer can't be believed.
//
// seen tells whether this process has seen what is missing; without it, an
// account with no Node of the cluster can't be told from a stranger's.
func (d *Droplets) Vouch(ctx context.Context, seen bool) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return d.vouch(ctx, 0, seen, nil)
}

// vouch wants another known droplet of the cluster than except to be there
// right now; or, where there is no other and this process has seen what is
// missing, that the account is the one that showed it.
func (d *Droplets) vouch(ctx context.Context, except int, seen bool, p *pace) error {
	d.mu.Lock()
	witnesses := d.witnesses(except)
	unvouched := d.unvouched
	d.mu.Unlock()
	if unvouched.err != nil && d.clock.Now().Before(unvouched.until) {
		return unvouched.err
	}
	if len(witnesses) == 0 && !seen {
		return errors.New("this process has seen nothing of the cluster yet")
	}
	err := d.vouchNow(ctx, witnesses, p)
	if err != nil && ctx.Err() == nil && !errors.Is(err, doapi.ErrThrottled) {
		// Said of one droplet, it holds for the others for a while.
		d.mu.Lock()
		defer d.mu.Unlock()
		d.unvouched.err, d.unvouched.until = err, d.clock.Now().Add(unvouchedFor)
	}
	return err
}

func (d *Droplets) vouchNow(ctx context.Context, witnesses []int, p *pace) error {
	if len(witnesses) == 0 {
		return d.vouchByOwner(ctx)
	}
	for _, witness := range witnesses {
		d.book(p, 1)
		answer, _, err := d.api.Get(ctx, witness)
		switch {
		case err == nil && answer != nil && answer.ID == witness:
			return nil
		case !doapi.IsNotFound(err):
			return fmt.Errorf("look at droplet %d of the same cluster: %w", witness, err)
		}
	}
	return fmt.Errorf("the token shows no other droplet of the cluster either, of %v", witnesses)
}

// unvouchedFor is how long it stands that nobody vouched for the token.
// That the token does show it is never remembered.
const unvouchedFor = 30 * time.Second

// witnesses are other droplets of the cluster, the most promising first: those
// whose Node is ready, then those that are known to have existed.
func (d *Droplets) witnesses(except int) []int {
	unready := map[int]bool{}
	for _, id := range d.cluster.Unready() {
		unready[id] = true
	}
	rank := func(id int) int {
		_, seen := d.index.byID[id]
		_, doubted := d.doubts[id]
		switch {
		case !unready[id]:
			return 0
		case seen && !doubted:
			return 1
		default:
			return 2
		}
	}
	// What a token of another account shows is no witness: a droplet that this
	// process knows must have been known before the missing one was last seen.
	missing, known := d.index.byID[except]
	all := slices.DeleteFunc(slices.Clone(d.cluster.Known()), func(id int) bool {
		first, seen := d.index.firstSeen[id]
		return id == except || (known && (!seen || first.After(missing.Read)))
	})
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	return all[:min(len(all), maxWitnesses)]
}
