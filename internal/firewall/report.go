package firewall

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
)

// Waits until the firewall is tried again, by who must act.
const (
	waitUser     = 10 * time.Minute
	waitAccount  = 2 * time.Minute
	waitConflict = 10 * time.Second
)

// limitError is a setting that exceeds a limit of DigitalOcean's.
type limitError struct{ what string }

func (e *limitError) Error() string { return e.what }

// classOf says who must act on the error of a run.
func classOf(err error) doapi.Class {
	var (
		limit    *limitError
		notTaken *notTakenError
	)
	switch {
	case errors.As(err, &limit), errors.As(err, &notTaken):
		return doapi.ClassUser
	case errors.Is(err, errNoAnswer):
		return doapi.ClassCloud
	}
	return doapi.Classify(err)
}

// report tells what is wrong and decides when to try again. It is the one place
// where a run's error is handled.
func (c *Controller) report(ctx context.Context, err error) {
	class := classOf(err)
	klog.FromContext(ctx).Info("The firewall can't be kept for now", "class", class, "requestID", doapi.RequestID(err), "reason", err.Error())
	now, m := c.clock.Now(), &c.memory
	var wait time.Duration
	edits := false // whether an edit of a Service is a reason to try earlier
	advice := ""
	switch class {
	case doapi.ClassUser:
		wait, edits, advice = waitUser, true, "Look for what it refuses in the settings and the Services."
	case doapi.ClassAccount:
		wait, advice = waitAccount, "Check the token, its scopes (firewall, tag) and the account's limits."
	case doapi.ClassThrottled:
		// A check gives way to more urgent calls; what a Service needs is urgent.
		wait, edits, advice = c.throttledFor(err), !m.changed, "The API token's quota of calls is used up; the firewall is kept as soon as it allows."
	case doapi.ClassConflict:
		wait, advice = waitConflict, "It is tried again every few seconds."
	default:
		wait, advice = c.backoff.When(item), "It is tried again, after longer and longer waits of less than a minute."
	}
	m.due = now.Add(wait)
	if !edits {
		m.closed = m.due
	}
	if class == doapi.ClassThrottled && !m.changed {
		return // a check that comes later is no news
	}
	c.tellFailure(err, advice)
}

// tellFailure tells on the firewall's object, and on the Services whose ports
// wait.
func (c *Controller) tellFailure(err error, advice string) {
	text := strings.TrimSuffix(err.Error(), ".") + ". " + advice
	c.recorder.Tell(c.object, events.FirewallRequestFailed, "The public access firewall "+c.identity.Name+" can't be kept: "+text)
	for _, svc := range c.waiting() {
		c.recorder.Tell(svc, events.FirewallRequestFailed, "The public access firewall doesn't follow this Service yet: "+text)
	}
}

// waiting are the Services that need something else than the firewall was last
// made for.
func (c *Controller) waiting() []*v1.Service {
	var waiting []*v1.Service
	for _, key := range c.askers() {
		if svc, err := c.services.Services(key.Namespace).Get(key.Name); err == nil {
			waiting = append(waiting, svc)
		}
	}
	return waiting
}

// throttledFor is how long the quota is used up, within bounds.
func (c *Controller) throttledFor(err error) time.Duration {
	const shortest, longest = 5 * time.Second, 15 * time.Minute
	var throttled *doapi.ThrottledError
	if errors.As(err, &throttled) {
		return min(max(throttled.Until.Sub(c.clock.Now()), shortest), longest)
	}
	return time.Minute
}

// recovered forgets troubles that are over.
func (c *Controller) recovered() {
	c.backoff.Forget(item)
	c.recorder.Forget(c.object, events.FirewallRequestFailed)
	if c.memory.fight.truce == 0 {
		c.recorder.Forget(c.object, events.FirewallContested)
	}
}

// tellProblems tells what of a Service the firewall can't follow.
func (c *Controller) tellProblems(svc *v1.Service, n Needs) {
	if len(n.Problems) == 0 {
		c.recorder.Forget(svc, events.FirewallConfigError)
		return
	}
	texts := make([]string, len(n.Problems))
	for i, p := range n.Problems {
		texts[i] = p.String()
	}
	c.recorder.Tell(svc, events.FirewallConfigError, "What the public access firewall can't use is skipped, and what it opened for this Service before stays open: "+strings.Join(texts, "; "))
}

// tellLimits tells which Services have no room, and when that is near.
func (c *Controller) tellLimits(ctx context.Context, d Desired, claims []Claim) {
	c.metrics.desired(d)
	c.mu.Lock()
	c.status.Rules, c.status.Targets, c.status.LeftOut = d.Rules, d.Targets, d.LeftOut
	c.mu.Unlock()
	for _, claim := range claims {
		svc, err := c.services.Services(claim.Service.Namespace).Get(claim.Service.Name)
		if err != nil {
			continue // gone meanwhile
		}
		if !slices.Contains(d.LeftOut, claim.Service) {
			c.recorder.Forget(svc, events.FirewallLimit)
			continue
		}
		c.recorder.Tell(svc, events.FirewallLimit, "The public access firewall has no room for this Service's ports, which stay closed: older Services use "+d.Usage()+
			" that DigitalOcean takes. Node ports that are adjacent share a rule; or delete Services, or mark some with the annotation firewall-managed.")
	}
	if !d.NearLimit() && len(d.LeftOut) == 0 {
		c.recorder.Forget(c.object, events.FirewallLimit)
		return
	}
	message := "The public access firewall " + c.identity.Name + " uses " + d.Usage() + " that DigitalOcean takes."
	if n := len(d.LeftOut); n > 0 {
		klog.FromContext(ctx).V(2).Info("Services don't fit into the firewall", "services", d.LeftOut)
		message += " Ports of the youngest Services stay closed; events on them tell."
	}
	c.recorder.Tell(c.object, events.FirewallLimit, message)
}

// tellFound tells once that a firewall that was there is used as it is.
func (c *Controller) tellFound(ctx context.Context) {
	if c.memory.settled == nil {
		klog.FromContext(ctx).Info("Found the firewall as it must be", "id", c.memory.id)
	}
}
