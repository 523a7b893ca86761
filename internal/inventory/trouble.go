package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"digitalocean-cloud-controller-manager/internal/doapi"
)

// trouble is an API that fails for everything. Each of many callers would find
// that out for itself, with retries; so after some failures in a row nobody asks
// for a while that grows.
type trouble struct {
	backoff
	failures int
	err      error
}

const (
	// troubleAfter is how many failures in a row make trouble. One droplet
	// that can't be read doesn't.
	troubleAfter   = 3
	minTroubleWait = 5 * time.Second
	maxTroubleWait = time.Minute
)

// inTrouble returns the API's error while it isn't time to ask again.
func (d *Droplets) inTrouble() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.trouble; t.failures >= troubleAfter && d.clock.Now().Before(t.next) {
		return fmt.Errorf("%w: %w", ErrNotNow, t.err)
	}
	return nil
}

// noteTrouble counts a read's outcome; weight says how much a failure proves.
func (d *Droplets) noteTrouble(err error, weight int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch class := doapi.Classify(err); {
	case errors.Is(err, context.Canceled), errors.Is(err, ErrNotNow), errors.Is(err, doapi.ErrThrottled):
		// The caller gave up, or nobody was asked: it says nothing of the API. What
		// was kept back for the quota may not be for a more urgent caller.
	case class == doapi.ClassCloud, class == doapi.ClassAccount, class == doapi.ClassThrottled:
		d.trouble.failures += weight
		d.trouble.err = err
		if d.trouble.failures >= troubleAfter {
			d.trouble.backoff = d.trouble.again(d.clock.Now(), minTroubleWait, maxTroubleWait)
		}
	default:
		d.trouble = trouble{}
	}
}
