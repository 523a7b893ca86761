package inventory

import (
	"errors"

	"golang.org/x/sync/singleflight"

	"digitalocean-cloud-controller-manager/internal/doapi"
)

// share has callers at the same time share a call, but for one that was kept back
// for the quota: another caller may be more urgent, or have more time to wait. That nobody vouches is an answer.
func share(flights *singleflight.Group, key string, ask func() (any, error)) (any, error) {
	for {
		own := false
		answer, err, _ := flights.Do(key, func() (any, error) {
			own = true
			return ask()
		})
		if own || !errors.Is(err, doapi.ErrThrottled) || errors.Is(err, ErrNotBelieved) {
			return answer, err
		}
	}
}
