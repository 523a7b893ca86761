package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

const (
	// resets is how often it is tried to make a control plane as new: the API server
	// may write meanwhile, such as an event.
	resets = 5
	// followInterval is how often the API server is asked whether it serves what is
	// in etcd.
	followInterval = 50 * time.Millisecond
	// followTimeout is how long that may take.
	followTimeout = 20 * time.Second
)

// reset makes the control plane as new, as nobody uses it: what is in etcd, and
// what the API server serves. Revisions go on. It refuses if the test has
// left what works on in the API server when it is gone from etcd.
//
// Everything goes at once and without its finalizers, by etcd itself: there are no
// controllers that would delete namespaces and what is in them.
func (p *Plane) reset(ctx context.Context) error {
	if p.spent != "" {
		return errors.New(p.spent)
	}
	for range resets {
		keys, err := p.store.read(ctx)
		if err != nil {
			return err
		}
		changed := changes(keys, p.fresh.keys)
		if len(changed) == 0 {
			return nil
		}
		for _, key := range changed {
			if !hasPrefix(key, plain) {
				return fmt.Errorf("the API server may still act on %s", key)
			}
		}
		if err := p.resetKeys(ctx, changed); err != nil {
			return err
		}
	}
	return errors.New("something goes on writing to etcd")
}

// resetKeys has the Services go before their addresses: the API server
// gives a Service another one that has none.
func (p *Plane) resetKeys(ctx context.Context, changed []string) error {
	var ofServices, others []string
	for _, key := range changed {
		if strings.HasPrefix(key, addresses) {
			ofServices = append(ofServices, key)
		} else {
			others = append(others, key)
		}
	}
	for _, step := range []struct {
		keys         []string
		hasAddresses bool
	}{{others, len(ofServices) > 0}, {ofServices, false}} {
		if len(step.keys) == 0 {
			continue
		}
		written, err := p.store.restore(ctx, step.keys, p.fresh.keys)
		if err != nil {
			return err
		}
		if err := p.followed(ctx, written, step.hasAddresses); err != nil {
			return err
		}
	}
	return nil
}

// followed waits until the API server serves the objects of a new control plane,
// those that were written just now in their new version, and nothing else but
// addresses where there still are some.
func (p *Plane) followed(ctx context.Context, written []int64, hasAddresses bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, followTimeout, errors.New("it took too long"))
	defer cancel()
	for {
		objects, revisions, err := p.caches.read(ctx)
		if err != nil {
			return err
		}
		if hasAddresses {
			maps.DeleteFunc(objects, func(o object, _ bool) bool {
				return o.resource.Resource == "ipaddresses" && !p.fresh.objects[o]
			})
		}
		if maps.Equal(objects, p.fresh.objects) && hasAll(revisions, written) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server does not follow etcd: %w", context.Cause(ctx))
		case <-time.After(followInterval):
		}
	}
}

func hasAll(revisions map[int64]bool, wanted []int64) bool {
	for _, revision := range wanted {
		if !revisions[revision] {
			return false
		}
	}
	return true
}
