package simulator

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// allPorts is how a rule for every port is read back.
const allPorts = "0"

const textNeedsPorts = "You must specify a positive value for ports."

// firewallRule is an inbound or outbound rule, to treat both alike.
type firewallRule struct {
	direction string
	protocol  string
	ports     string
	action    string
	target    *FirewallTarget
}

func (r InboundRule) rule() firewallRule {
	return firewallRule{"inbound", r.Protocol, r.Ports, r.Action, r.Sources}
}

func (r OutboundRule) rule() firewallRule {
	return firewallRule{"outbound", r.Protocol, r.Ports, r.Action, r.Destinations}
}

// key is the same for rules that mean the same.
func (r firewallRule) key() string {
	t := r.target
	if t == nil {
		t = &FirewallTarget{}
	}
	ids := slices.Clone(t.DropletIDs)
	slices.Sort(ids)
	return fmt.Sprint(r.direction, r.protocol, r.ports, orElse(r.action, "allow"),
		sorted(t.Addresses), ids, sorted(t.Tags), sorted(t.LoadBalancerUIDs), sorted(t.KubernetesIDs))
}

func sorted(values []string) []string { return slices.Sorted(slices.Values(values)) }

// normaliseRules brings rules into the form in which they are read back.
func normaliseRules(in []InboundRule, out []OutboundRule) {
	for i := range in {
		in[i].Protocol = strings.ToLower(in[i].Protocol)
		in[i].Ports = normalisePorts(in[i].Protocol, in[i].Ports)
	}
	for i := range out {
		out[i].Protocol = strings.ToLower(out[i].Protocol)
		out[i].Ports = normalisePorts(out[i].Protocol, out[i].Ports)
	}
}

func normalisePorts(protocol, ports string) string {
	if ports == "all" || ports == "1-65535" || protocol == "icmp" && ports == "" {
		return allPorts
	}
	return ports
}

func rulesOf(in []InboundRule, out []OutboundRule) []firewallRule {
	rules := make([]firewallRule, 0, len(in)+len(out))
	for _, r := range in {
		rules = append(rules, r.rule())
	}
	for _, r := range out {
		rules = append(rules, r.rule())
	}
	return rules
}

// validateFirewallRules checks normalised rules one by one and together.
func (c *call) validateFirewallRules(rules []firewallRule) error {
	if len(rules) > maxFirewallRules {
		return unprocessable("a firewall may have at most %d rules", maxFirewallRules)
	}
	seen, targets := map[string]bool{}, 0
	for _, r := range rules {
		if err := c.validateFirewallRule(r); err != nil {
			return err
		}
		if seen[r.key()] {
			return unprocessable("duplicate rule: %s %s %s", r.direction, r.protocol, r.ports)
		}
		seen[r.key()] = true
		targets += r.target.len()
	}
	if targets > maxFirewallTargets {
		return unprocessable("a firewall may have at most %d sources and destinations", maxFirewallTargets)
	}
	return nil
}

func (c *call) validateFirewallRule(r firewallRule) error {
	if err := firstError(
		oneOf("protocol", r.protocol, "tcp", "udp", "icmp"),
		oneOf("action", orElse(r.action, "allow"), "allow", "deny"),
		validatePorts(r.protocol, r.ports),
	); err != nil {
		return err
	}
	if r.target.len() == 0 {
		return unprocessable("%s rule must have at least one source or destination", r.direction)
	}
	return c.validateFirewallTarget(r.target)
}

func validatePorts(protocol, ports string) error {
	switch {
	case ports == allPorts:
		return nil
	case protocol == "icmp":
		return unprocessable("ports cannot be set for protocol icmp")
	case ports == "":
		return unprocessable("%s", textNeedsPorts)
	}
	low, high, ranged := strings.Cut(ports, "-")
	if !ranged {
		high = low
	}
	from, errFrom := strconv.ParseUint(low, 10, 16)
	to, errTo := strconv.ParseUint(high, 10, 16)
	if errFrom != nil || errTo != nil || from == 0 || from > to {
		return unprocessable("you must specify a valid range for ports")
	}
	return nil
}

func (t *FirewallTarget) len() int {
	if t == nil {
		return 0
	}
	return len(t.Addresses) + len(t.DropletIDs) + len(t.Tags) + len(t.LoadBalancerUIDs) + len(t.KubernetesIDs)
}

// validateFirewallTarget knows no managed clusters, so their ids only have to
// look like ids.
func (c *call) validateFirewallTarget(t *FirewallTarget) error {
	for _, address := range t.Addresses {
		_, errAddress := netip.ParseAddr(address)
		_, errPrefix := netip.ParsePrefix(address)
		if errAddress != nil && errPrefix != nil {
			return unprocessable("invalid address %q", address)
		}
	}
	for _, id := range t.LoadBalancerUIDs {
		if _, ok := c.team.loadBalancers.get(id); !ok {
			return unprocessable("load balancer %q could not be found", id)
		}
	}
	for _, id := range t.KubernetesIDs {
		if uuid.Validate(id) != nil {
			return unprocessable("kubernetes cluster %q could not be found", id)
		}
	}
	return firstError(c.validateFirewallDroplets(t.DropletIDs), c.validateFirewallTags(t.Tags))
}

func (c *call) validateFirewallDroplets(ids []int) error {
	for _, id := range ids {
		if _, ok := c.team.droplets.get(id); !ok {
			return unprocessable("droplet %d could not be found", id)
		}
	}
	return nil
}

func (c *call) validateFirewallTags(names []string) error {
	for _, name := range names {
		if _, ok := c.team.tags.get(strings.ToLower(name)); !ok {
			return unprocessable("tag %q could not be found", name)
		}
	}
	return nil
}
