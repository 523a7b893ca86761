package simulator

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	maxFirewallDroplets = 10
	maxFirewallTags     = 5
	maxFirewallRules    = 50
	maxFirewallTargets  = 1000
)

var firewallName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.\-]+$`)

// firewallRequest is the body of every write; the calls that change a part use
// only that part.
type firewallRequest struct {
	Name          string         `json:"name"`
	InboundRules  []InboundRule  `json:"inbound_rules"`
	OutboundRules []OutboundRule `json:"outbound_rules"`
	DropletIDs    []int          `json:"droplet_ids"`
	Tags          []string       `json:"tags"`
}

func (c *call) decodeFirewall() (*firewallRequest, error) {
	var req firewallRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	// What is removed may be named as it was read.
	if c.s.settings.RefuseZeroPorts && c.method != http.MethodDelete {
		for _, r := range rulesOf(req.InboundRules, req.OutboundRules) {
			if r.ports == allPorts && !strings.EqualFold(r.protocol, "icmp") {
				return nil, unprocessable("%s", textNeedsPorts)
			}
		}
	}
	normaliseRules(req.InboundRules, req.OutboundRules)
	return &req, nil
}

// config is the firewall that the request describes; no list is ever null.
func (req *firewallRequest) config() Firewall {
	return Firewall{
		Name:           req.Name,
		PendingChanges: []PendingChange{},
		InboundRules:   append([]InboundRule{}, req.InboundRules...),
		OutboundRules:  append([]OutboundRule{}, req.OutboundRules...),
		DropletIDs:     unique(req.DropletIDs),
		Tags:           uniqueTags(req.Tags),
	}
}

// uniqueTags returns the names without repetitions in any spelling, never nil.
func uniqueTags(names []string) []string {
	kept := []string{}
	for _, name := range names {
		if !slices.ContainsFunc(kept, func(k string) bool { return strings.EqualFold(k, name) }) {
			kept = append(kept, name)
		}
	}
	return kept
}

// validateFirewall checks a firewall as it would become; old is nil at creation.
func (c *call) validateFirewall(f *Firewall, old *firewall) error {
	switch {
	case len(f.Name) > 255 || !firewallName.MatchString(f.Name):
		return unprocessable("name is invalid: letters, digits, dots and dashes are allowed, 2 to 255, beginning with a letter or digit")
	case len(f.DropletIDs) > maxFirewallDroplets:
		return unprocessable("a firewall may have at most %d droplets", maxFirewallDroplets)
	case len(f.Tags) > maxFirewallTags:
		return unprocessable("a firewall may have at most %d tags", maxFirewallTags)
	}
	if err := firstError(
		c.authorizeFirewall(f),
		c.validateFirewallRules(rulesOf(f.InboundRules, f.OutboundRules)),
		c.validateFirewallDroplets(f.DropletIDs),
		c.validateFirewallTags(f.Tags),
	); err != nil {
		return err
	}
	for other := range c.team.firewalls.all() {
		if other.Name == f.Name && other != old {
			return conflict("duplicate name")
		}
	}
	return nil
}

func createFirewall(c *call) (reply, error) {
	f := &firewall{}
	if err := firstError(c.limitFirewalls(), c.fillFirewall(f, nil)); err != nil {
		return reply{}, err
	}
	f.ID, f.CreatedAt = c.s.ids.next(), c.now.Truncate(time.Second)
	c.team.firewalls.add(f.ID, f)
	return jsonReply(http.StatusAccepted, map[string]any{"firewall": f.fresh()})
}

// updateFirewall replaces everything.
func updateFirewall(c *call) (reply, error) {
	f, err := c.firewall()
	if err != nil {
		return reply{}, err
	}
	if err := c.fillFirewall(f, f); err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, map[string]any{"firewall": f.fresh()})
}

func (c *call) fillFirewall(f, old *firewall) error {
	req, err := c.decodeFirewall()
	if err != nil {
		return err
	}
	config := req.config()
	if len(config.InboundRules)+len(config.OutboundRules) == 0 {
		return unprocessable("at least one inbound or outbound rule is required")
	}
	if err := c.validateFirewall(&config, old); err != nil {
		return err
	}
	c.applyFirewall(f, config)
	return nil
}

// applyFirewall puts a valid firewall in place, which takes a while.
func (c *call) applyFirewall(f *firewall, config Firewall) {
	before, after := c.team.coveredBy(&f.Firewall), c.team.coveredBy(&config)
	config.PendingChanges = []PendingChange{}
	for d := range c.team.droplets.all() {
		if before[d.ID] || after[d.ID] {
			config.PendingChanges = append(config.PendingChanges,
				PendingChange{DropletID: d.ID, Removing: !after[d.ID], Status: firewallWaiting})
		}
	}
	config.ID, config.CreatedAt = f.ID, f.CreatedAt
	f.Firewall, f.forced = config, ""
	f.appliedAt, f.reads = c.now.Add(c.s.settings.FirewallActivation), c.s.settings.ActivationReads
}

// firewallChange is a change of a part of a firewall.
type firewallChange struct {
	req *firewallRequest
	// config is the firewall as it would become.
	config Firewall
}

// changeFirewall serves the calls that add or remove parts.
func changeFirewall(change func(*firewallChange) error) handler {
	return func(c *call) (reply, error) {
		f, err := c.firewall()
		if err != nil {
			return reply{}, err
		}
		req, err := c.decodeFirewall()
		if err != nil {
			return reply{}, err
		}
		ch := &firewallChange{req: req, config: f.Firewall.clone()}
		if err := change(ch); err != nil {
			return reply{}, err
		}
		if err := c.validateFirewall(&ch.config, f); err != nil {
			return reply{}, err
		}
		c.applyFirewall(f, ch.config)
		return noContent()
	}
}

func (ch *firewallChange) addDroplets() error {
	ch.config.DropletIDs = unique(append(ch.config.DropletIDs, ch.req.DropletIDs...))
	return needsMembers(len(ch.req.DropletIDs), "droplet_ids")
}

// removeDroplets takes droplets away; those that are not there are no error.
func (ch *firewallChange) removeDroplets() error {
	ch.config.DropletIDs = slices.DeleteFunc(ch.config.DropletIDs, func(id int) bool {
		return slices.Contains(ch.req.DropletIDs, id)
	})
	return needsMembers(len(ch.req.DropletIDs), "droplet_ids")
}

func (ch *firewallChange) addTags() error {
	ch.config.Tags = uniqueTags(append(ch.config.Tags, ch.req.Tags...))
	return needsMembers(len(ch.req.Tags), "tags")
}

func (ch *firewallChange) removeTags() error {
	for _, name := range ch.req.Tags {
		ch.config.Tags = without(ch.config.Tags, name)
	}
	return needsMembers(len(ch.req.Tags), "tags")
}

func (ch *firewallChange) addRules() error {
	ch.config.InboundRules = append(ch.config.InboundRules, ch.req.InboundRules...)
	ch.config.OutboundRules = append(ch.config.OutboundRules, ch.req.OutboundRules...)
	return needsMembers(len(ch.req.InboundRules)+len(ch.req.OutboundRules), "inbound_rules or outbound_rules")
}

// removeRules removes rules that match as a whole.
func (ch *firewallChange) removeRules() error {
	for _, r := range ch.req.InboundRules {
		i := slices.IndexFunc(ch.config.InboundRules, func(o InboundRule) bool { return o.rule().key() == r.rule().key() })
		if i < 0 {
			return unknownRule(r.rule())
		}
		ch.config.InboundRules = slices.Delete(ch.config.InboundRules, i, i+1)
	}
	for _, r := range ch.req.OutboundRules {
		i := slices.IndexFunc(ch.config.OutboundRules, func(o OutboundRule) bool { return o.rule().key() == r.rule().key() })
		if i < 0 {
			return unknownRule(r.rule())
		}
		ch.config.OutboundRules = slices.Delete(ch.config.OutboundRules, i, i+1)
	}
	return needsMembers(len(ch.req.InboundRules)+len(ch.req.OutboundRules), "inbound_rules or outbound_rules")
}

func unknownRule(r firewallRule) error {
	return unprocessable("%s rule for %s ports %s could not be found", r.direction, r.protocol, r.ports)
}

func needsMembers(count int, what string) error {
	if count == 0 {
		return unprocessable("%s is required", what)
	}
	return nil
}
