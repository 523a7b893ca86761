package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/digitalocean/godo"
)

// identity is whose the token is, as far as it matters when no other droplet
// of the cluster can be a witness.
type identity struct {
	// owner is the account and team whose word counts, since when what it
	// showed is known to be shown by it.
	owner string
	since time.Time
	// confirmed tells that the owner demonstrably showed the cluster.
	confirmed bool
	// latest is what was answered last, at which time.
	latest string
	at     time.Time
}

// hasShown tells whether the droplet was shown by the owner. What was read
// before the owner was known may have been shown by anybody.
func (i identity) hasShown(d Droplet) bool { return i.confirmed && d.Read.After(i.since) }

// answered notes whose the token is now; shown tells whether a droplet of the
// cluster was read since the answer before. An account that answers before and
// after such a reading is the owner, whoever was it until then: a wrong token
// at first, or one that was replaced, doesn't count any more.
func (i identity) answered(account string, now time.Time, shown bool) identity {
	if shown && account != "" && account == i.latest && !(i.confirmed && i.owner == account) {
		i.owner, i.since, i.confirmed = account, i.at, true
	}
	if i.owner == "" {
		i.owner, i.since = account, now
	}
	i.latest, i.at = account, now
	return i
}

// Identify asks whose the token is, with one call. It is to be called now and
// then, as tokens are replaced; settled tells that there is no hurry: the
// account is the one that showed this process the cluster.
func (d *Droplets) Identify(ctx context.Context) (settled bool, err error) {
	d.mu.Lock()
	shown := d.shownSince(d.identity.at)
	d.mu.Unlock()
	account, _, err := d.account.Get(ctx)
	if err != nil {
		return false, fmt.Errorf("get account: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.identity = d.identity.answered(ownerOf(account), d.clock.Now(), shown)
	return d.identity.confirmed && d.identity.latest == d.identity.owner, nil
}

// shownSince tells whether the API showed a droplet of the cluster since.
func (d *Droplets) shownSince(since time.Time) bool {
	for _, id := range d.cluster.Known() {
		if d.index.byID[id].Read.After(since) {
			return true
		}
	}
	return false
}

func (d *Droplets) vouchByOwner(ctx context.Context) error {
	d.mu.Lock()
	before := d.identity.owner
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

func ownerOf(a *godo.Account) string {
	// Without the team it isn't known what the token shows: one account's token
	// may be of any of its teams.
	if a == nil || a.UUID == "" || a.Team == nil || a.Team.UUID == "" {
		return ""
	}
	return a.UUID + "/" + a.Team.UUID
}
