package firewall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/digitalocean/godo"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
)

// write is one change of the firewall.
type write struct {
	claims []Claim
	// actual is the firewall as it is, and fw the API's object; nil: there is
	// none.
	actual State
	fw     *godo.Firewall
	// foreign is true where somebody else changed or deleted the firewall since
	// it was last as it must be.
	foreign bool
	at      time.Time
}

// make makes the firewall.
func (c *Controller) make(ctx context.Context, w write) error {
	if c.vouch != nil {
		if err := c.vouch(ctx); err != nil {
			return fmt.Errorf("no firewall is found, which is not believed: %w", err)
		}
	}
	desired, fw, err := c.send(ctx, w, func(r *godo.FirewallRequest) (*godo.Firewall, error) { return c.calls.create(ctx, r) })
	if err != nil {
		return err
	}
	c.setID(fw.ID)
	what := Describe(Diff(desired.State, w.actual))
	klog.FromContext(ctx).Info("Made firewall", "id", fw.ID, "changes", what, "services", c.askers())
	if w.foreign {
		c.tellRestored(w.at, fmt.Sprintf("The firewall %s was deleted by somebody else, and is made again (%s).", fw.Name, fw.ID))
	} else {
		c.recorder.Tell(c.object, events.FirewallCreated, fmt.Sprintf("Made the firewall %s (%s) on droplets tagged %s: %s.", fw.Name, fw.ID, strings.Join(c.identity.Tags, ", "), what))
	}
	return c.verify(fw, desired.State)
}

// change replaces what differs. gone is true where the firewall isn't there any
// more.
func (c *Controller) change(ctx context.Context, w write) (gone bool, err error) {
	first := c.memory.settled == nil
	desired, fw, err := c.send(ctx, w, func(r *godo.FirewallRequest) (*godo.Firewall, error) { return c.calls.update(ctx, w.fw.ID, r) })
	switch {
	case doapi.IsNotFound(err):
		return true, nil // the next look by id finds the same, and goes on by name
	case isDuplicate(err):
		// Renamed by somebody else, and another one has the name now.
		c.setID("")
		return false, err
	case err != nil:
		return false, err
	}
	changes := Diff(desired.State, w.actual)
	if len(changes) > 0 {
		c.tellChanged(ctx, w, fw, first, changes)
	}
	return false, c.verify(fw, desired.State)
}

func isDuplicate(err error) bool {
	return doapi.Classify(err) == doapi.ClassConflict && strings.Contains(strings.ToLower(doapi.Message(err)), "duplicate")
}

// tellChanged tells a change by why it was made.
func (c *Controller) tellChanged(ctx context.Context, w write, fw *godo.Firewall, first bool, changes []Change) {
	what := Describe(changes)
	klog.FromContext(ctx).Info("Changed firewall", "id", fw.ID, "changes", what, "foreign", w.foreign, "services", c.askers())
	switch {
	case w.foreign:
		c.tellRestored(w.at, fmt.Sprintf("Somebody else changed the firewall %s (%s); it is put back: %s. To open a port for good, use a Service or a firewall of another name.", fw.Name, fw.ID, what))
	case first && removes(changes):
		c.recorder.Tell(c.object, events.FirewallTakenOver, fmt.Sprintf("A firewall %s (%s) was there when the manager started, and wasn't what the Services need; replaced: %s.", fw.Name, fw.ID, what))
	default:
		c.recorder.Tell(c.object, events.FirewallUpdated, fmt.Sprintf("Changed the firewall %s (%s): %s.", fw.Name, fw.ID, what))
	}
}

// tellRestored tells that somebody else's change was undone, and whether that is
// a habit of theirs.
func (c *Controller) tellRestored(at time.Time, message string) {
	c.metrics.restored()
	c.recorder.Tell(c.object, events.FirewallRestored, message)
	c.recorder.Forget(c.object, events.FirewallRestored) // each time is news
	m := &c.memory
	if m.fight.restore(at, c.interval) {
		c.recorder.Tell(c.object, events.FirewallContested, fmt.Sprintf("Somebody else keeps rewriting the firewall %s: another cluster with the same %s, Terraform, or a person. "+
			"It is put back again in %s at the earliest; what the Services need is still opened at once. Give each cluster a name of its own.", c.identity.Name, "PUBLIC_ACCESS_FIREWALL_NAME", m.fight.truce))
	}
}

// send writes what is desired. Where the API refuses that for a tag that isn't
// there, the tag is made; where it does for a load balancer that isn't there,
// that is left out; and it is written once more.
func (c *Controller) send(ctx context.Context, w write, call func(*godo.FirewallRequest) (*godo.Firewall, error)) (Desired, *godo.Firewall, error) {
	desired := c.desire(w.claims, w.actual)
	fw, err := call(desired.request(c.identity.Tags, w.fw))
	if err == nil || !isRefusal(err) || w.fw != nil && doapi.IsNotFound(err) {
		return desired, fw, err
	}
	mended, mendErr := c.mend(ctx, desired.State)
	if mendErr != nil {
		return desired, nil, errors.Join(err, mendErr)
	}
	if !mended {
		return desired, nil, err
	}
	desired = c.desire(w.claims, w.actual)
	fw, err = call(desired.request(c.identity.Tags, w.fw))
	return desired, fw, err
}

// isRefusal tells an answer that may be about a tag or a load balancer which
// doesn't exist.
func isRefusal(err error) bool {
	return doapi.Classify(err) == doapi.ClassUser || doapi.IsNotFound(err)
}

// mend looks for what the firewall refers to and isn't there.
func (c *Controller) mend(ctx context.Context, s State) (mended bool, err error) {
	for _, tag := range c.identity.Tags {
		made, err := c.calls.ensureTag(ctx, tag)
		if err != nil {
			return mended, err
		}
		if made {
			klog.FromContext(ctx).Info("Made tag for the firewall", "tag", tag)
			mended = true
		}
	}
	for _, id := range s.loadBalancers() {
		gone, err := c.calls.isGone(ctx, id)
		if err != nil {
			return mended, err
		}
		if gone {
			klog.FromContext(ctx).Info("Left a load balancer out of the firewall, as it doesn't exist", "loadBalancer", id)
			c.memory.gone[id] = c.clock.Now()
			mended = true
		}
	}
	return mended, nil
}

// notTakenError is a write that was answered with success and shows something
// else than was asked for.
type notTakenError struct{ missing []Change }

func (e *notTakenError) Error() string {
	return "DigitalOcean took the change and shows another firewall than was asked for: " + Describe(e.missing)
}

// verify compares what the API answered with what it was asked for.
func (c *Controller) verify(fw *godo.Firewall, desired State) error {
	shown := StateOf(fw)
	c.settle(shown)
	if missing := Diff(desired, shown); len(missing) > 0 {
		return &notTakenError{missing}
	}
	return nil
}

// maxAskers bounds how many Services are told of, or named.
const maxAskers = 10

// askers are the first of the Services that need something else than when the
// firewall was last as it must be, those that went included.
func (c *Controller) askers() []types.NamespacedName {
	m := &c.memory
	var askers []types.NamespacedName
	for service, needs := range m.wanted {
		if m.opened[service] != needs {
			askers = append(askers, service)
		}
	}
	for service := range m.opened {
		if _, ok := m.wanted[service]; !ok {
			askers = append(askers, service)
		}
	}
	slices.SortFunc(askers, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return askers[:min(len(askers), maxAskers)]
}
