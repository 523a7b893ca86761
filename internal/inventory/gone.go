package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/digitalocean/godo"

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
	d.doubts[id] = d.doubts[id].again(d.clock.Now(), minDoubtWait, maxDoubtWait)
	// Only what was seen after the account was noted was shown by it.
	droplet, known := d.index.byID[id]
	seen := known && droplet.Read.After(d.identified)
	d.mu.Unlock()
	if err := d.vouch(ctx, id, seen); err != nil {
		return fmt.Errorf("droplet %d: %w: %w (%w)", id, ErrNotBelieved, err, notFound)
	}
	return fmt.Errorf("droplet %d: %w", id, ErrGone)
}

// Vouch tells whether the token still shows this cluster, by asking now. The
// API answers "not found", or a list without the object, just as well when the
// token is of another team; what is done upon such an answer needs Vouch first.
// An error says why the answer can't be believed.
func (d *Droplets) Vouch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return d.vouch(ctx, 0, true)
}

// vouch wants another known droplet of the cluster than except to be there
// right now; or, where there is no other and this process has seen what is
// missing, that the account is the one that showed it.
func (d *Droplets) vouch(ctx context.Context, except int, seen bool) error {
	d.mu.Lock()
	witnesses := d.witnesses(except)
	d.mu.Unlock()
	for _, witness := range witnesses {
		d.book(&d.doubt, 1)
		answer, _, err := d.api.Get(ctx, witness)
		switch {
		case err == nil && answer != nil && answer.ID == witness:
			return nil
		case !doapi.IsNotFound(err):
			return fmt.Errorf("look at droplet %d of the same cluster: %w", witness, err)
		}
	}
	if len(witnesses) > 0 {
		return fmt.Errorf("the token shows no other droplet of the cluster either, of %v", witnesses)
	}
	if !seen {
		return errors.New("this process has seen nothing of the cluster yet")
	}
	return d.vouchByOwner(ctx)
}

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
	all := slices.DeleteFunc(slices.Clone(d.cluster.Known()), func(id int) bool { return id == except })
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	return all[:min(len(all), maxWitnesses)]
}

func (d *Droplets) vouchByOwner(ctx context.Context) error {
	d.mu.Lock()
	before := d.owner
	d.mu.Unlock()
	if before == "" {
		return errors.New("the account that showed the cluster is unknown")
	}
	account, _, err := d.account.Get(ctx)
	if err != nil {
		return fmt.Errorf("look at the account: %w", err)
	}
	if ownerOf(account) != before {
		return errors.New("the token is of another account or team than before")
	}
	return nil
}

// Identify notes whose the token is. What is seen afterwards is seen by this
// account.
func (d *Droplets) Identify(ctx context.Context) error {
	account, _, err := d.account.Get(ctx)
	if err != nil {
		return fmt.Errorf("get account: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.owner == "" {
		d.owner, d.identified = ownerOf(account), d.clock.Now()
	}
	return nil
}

func ownerOf(a *godo.Account) string {
	if a == nil {
		return ""
	}
	owner := a.UUID
	if a.Team != nil {
		owner += "/" + a.Team.UUID
	}
	return owner
}
