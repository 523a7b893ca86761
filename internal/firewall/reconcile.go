package firewall

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
)

// memory is what the controller remembers from one run to the next.
type memory struct {
	// id is the firewall's; empty: not known.
	id string
	// settled is the firewall as it was last found or made to be as it must be.
	// Whatever differs from it was done by somebody else. Nil: never yet.
	settled *State
	// services is what was last understood of each Service.
	services map[types.UID]*good
	// opened is what each Service needed when the firewall was last settled.
	opened map[types.NamespacedName]string
	// wanted is what each Service needs now.
	wanted map[types.NamespacedName]string
	// gone are load balancers that Services name, and when the API said that
	// they don't exist. It is asked again: one wrong answer must not close a
	// port for good.
	gone  map[string]time.Time
	fight fight

	// due is when the firewall is looked at even if no Service changes, and
	// closed until when it isn't even then.
	due, closed time.Time
	// changed is true while a change of Services isn't worked off.
	changed bool
}

// run does one pass and decides when the next comes.
func (c *Controller) run(ctx context.Context) {
	begun := c.clock.Now()
	c.setBegun(begun)
	defer c.setBegun(time.Time{})
	m := &c.memory
	periodic := !begun.Before(m.due)
	m.changed = c.gathered.take() || m.changed
	m.closed = time.Time{}

	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	next, err := c.safely(ctx, periodic)
	if errors.Is(err, context.Canceled) {
		return // the process ends
	}
	c.metrics.ran(m.changed, err, c.clock.Since(begun))
	if err != nil {
		c.report(ctx, err)
	} else {
		c.recovered()
		m.due, m.changed = next, false
	}
	c.note(err)
}

// safely turns a panic into an error, which is tried again as any other.
func (c *Controller) safely(ctx context.Context, periodic bool) (next time.Time, err error) {
	defer func() {
		if p := recover(); p != nil {
			klog.FromContext(ctx).Error(nil, "A defect in the manager stopped the work for the firewall", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("internal defect: %v", p)
		}
	}()
	return c.pass(ctx, periodic)
}

// pass makes the firewall as the Services need it. It asks the API when it is
// time to, or when the Services need something else than before.
func (c *Controller) pass(ctx context.Context, periodic bool) (next time.Time, err error) {
	if n := len(normalTags(c.identity.Tags)); n > maxTags {
		return time.Time{}, &limitError{fmt.Sprintf("it is to be put on %d tags, and DigitalOcean takes at most %d", n, maxTags)}
	}
	m := &c.memory
	claims := c.claims(ctx)
	m.wanted = fingerprints(claims)
	now := c.clock.Now()
	priority := doapi.Normal
	if m.settled != nil {
		desired := c.desire(claims, *m.settled)
		unchanged := Equal(desired.State, *m.settled)
		switch {
		case unchanged && !periodic:
			c.tellLimits(ctx, desired, claims)
			m.opened = m.wanted
			return m.due, nil
		case unchanged:
			priority = doapi.Background
		}
	}
	ctx = doapi.WithPriority(ctx, priority)
	for range 2 {
		gone, err := c.converge(ctx, claims, now)
		if !gone {
			return c.after(now), err
		}
	}
	return time.Time{}, &requestError{"change firewall " + c.identity.Name, errNoAnswer}
}

// after is when the firewall is checked again.
func (c *Controller) after(now time.Time) time.Time {
	if truce := c.memory.fight.until(); truce.After(now) {
		return truce
	}
	return now.Add(c.interval)
}

// converge reads the firewall and writes what differs. gone is true where it
// vanished between the two.
func (c *Controller) converge(ctx context.Context, claims []Claim, now time.Time) (gone bool, err error) {
	fw, err := c.find(ctx)
	if err != nil {
		return false, err
	}
	actual := State{}
	if fw != nil {
		actual = StateOf(fw)
	}
	if err := c.askAgain(ctx); err != nil {
		return false, err
	}
	desired := c.desire(claims, actual)
	c.tellLimits(ctx, desired, claims)
	if fw != nil && Equal(desired.State, actual) {
		c.tellFound(ctx)
		c.settle(actual)
		return false, nil
	}
	m := &c.memory
	foreign := m.settled != nil && (fw == nil || !Equal(*m.settled, actual))
	if foreign && now.Before(m.fight.until()) && Equal(desired.State, *m.settled) {
		klog.FromContext(ctx).V(2).Info("The firewall differs, and is put back later since somebody else keeps changing it", "until", m.fight.until())
		return false, nil
	}
	w := write{claims: claims, actual: actual, fw: fw, foreign: foreign, at: now}
	if fw == nil {
		err = c.make(ctx, w)
	} else {
		gone, err = c.change(ctx, w)
	}
	if errors.Is(err, doapi.ErrRehearsed) {
		return false, nil // which is told where it is kept from being sent
	}
	return gone, err
}

// askAgain asks for the load balancers that didn't exist an interval ago. To let
// the API refuse a firewall with them would cost a write, a call for each load
// balancer and another write, again and again.
func (c *Controller) askAgain(ctx context.Context) error {
	for id, since := range c.memory.gone {
		if c.clock.Since(since) < c.interval {
			continue
		}
		gone, err := c.calls.isGone(ctx, id)
		if err != nil {
			return err
		}
		if !gone {
			delete(c.memory.gone, id)
			continue
		}
		c.memory.gone[id] = c.clock.Now()
	}
	return nil
}

// desire is what the firewall must be, as far as is known.
func (c *Controller) desire(claims []Claim, actual State) Desired {
	return Desire(c.identity, claims, actual, c.gone())
}

// settle notes that the firewall is as the Services need it.
func (c *Controller) settle(s State) {
	c.memory.settled, c.memory.opened = &s, c.memory.wanted
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Checked = c.clock.Now()
}

// find reads the firewall: by its id, which is one call, or by its name among
// all. It returns nil where there is none.
func (c *Controller) find(ctx context.Context) (*godo.Firewall, error) {
	missing := ""
	if id := c.memory.id; id != "" {
		fw, err := c.calls.get(ctx, id)
		if !doapi.IsNotFound(err) {
			return fw, err
		}
		c.setID("")
		missing = id
	}
	ids, err := c.calls.named(ctx, c.identity.Name)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if id == missing {
			continue // lists lag behind
		}
		// What is in a list may be old, and a write starts from what is.
		fw, err := c.calls.get(ctx, id)
		if doapi.IsNotFound(err) {
			continue
		}
		if err == nil {
			c.setID(id)
		}
		return fw, err
	}
	return nil, nil
}

// claims is what the Services need. A Service that is broken doesn't stop the
// others.
func (c *Controller) claims(ctx context.Context) []Claim {
	services, err := c.services.List(labels.Everything())
	if err != nil {
		// The cache's lister gives none.
		klog.FromContext(ctx).Error(err, "Services can't be listed")
	}
	m := &c.memory
	present := make(map[types.UID]*good, len(services))
	mentioned := map[string]bool{}
	var claims []Claim
	for _, svc := range services {
		needs, last := c.need(ctx, svc)
		if last != nil {
			present[svc.UID] = last
		}
		mentioned[needs.balancer] = true
		c.tellProblems(svc, needs)
		if len(needs.openings) > 0 {
			claims = append(claims, Claim{types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}, svc.CreationTimestamp.Time, needs})
		}
	}
	m.services = present
	maps.DeleteFunc(m.gone, func(id string, _ time.Time) bool { return !mentioned[id] })
	return claims
}

// need is [Need], which must not fail for all because of one.
func (c *Controller) need(ctx context.Context, svc *v1.Service) (needs Needs, last *good) {
	before := c.memory.services[svc.UID]
	defer func() {
		if p := recover(); p != nil {
			klog.FromContext(ctx).Error(nil, "A defect in the manager stopped the work for a Service", "service", klog.KObj(svc), "panic", p, "stack", string(debug.Stack()))
			c.recorder.Tell(svc, events.InternalError, "A defect in the manager keeps the public access firewall from following this Service; other Services go on. Its log says more.")
			if needs, last = (Needs{}), before; before != nil {
				needs = Needs{openings: before.openings, balancer: before.balancer}
			}
		}
	}()
	return Need(svc, c.settings, before)
}

func (c *Controller) setID(id string) {
	c.memory.id = id
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.ID = id
}

func (c *Controller) setBegun(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = at
}

// note keeps what came of the run for [Controller.Status].
func (c *Controller) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Error, c.status.Next = "", c.memory.due
	if err != nil {
		c.status.Error = err.Error()
	}
}

// gone is the set of load balancers that don't exist.
func (c *Controller) gone() map[string]bool {
	gone := make(map[string]bool, len(c.memory.gone))
	for id := range c.memory.gone {
		gone[id] = true
	}
	return gone
}
