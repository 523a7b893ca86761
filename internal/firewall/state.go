package firewall

import (
	"slices"
	"strconv"
	"strings"

	"github.com/digitalocean/godo"
)

// State is a firewall in normal form: what it admits, and on which droplets.
type State struct {
	Name string
	// tags are in lower case, sorted and without duplicates: DigitalOcean's tags
	// are the same in any case.
	tags   []string
	access access
}

// StateOf reads a firewall of the API. It survives any rule that it doesn't
// know, which then is one that differs.
func StateOf(fw *godo.Firewall) State {
	a := access{}
	for _, r := range fw.InboundRules {
		s := r.Sources
		if s == nil {
			s = &godo.Sources{}
		}
		a.read(flow{protocol: strings.ToLower(r.Protocol), deny: r.Action == godo.FirewallRuleActionDeny}, r.PortRange, godo.Destinations(*s))
	}
	for _, r := range fw.OutboundRules {
		d := r.Destinations
		if d == nil {
			d = &godo.Destinations{}
		}
		a.read(flow{outbound: true, protocol: strings.ToLower(r.Protocol), deny: r.Action == godo.FirewallRuleActionDeny}, r.PortRange, *d)
	}
	a.normalize()
	return State{Name: fw.Name, tags: normalTags(fw.Tags), access: a}
}

// read adds a rule of the API.
func (a access) read(f flow, ports string, target godo.Destinations) {
	r, ok := parsePorts(ports)
	if !ok {
		// Another protocol than any that is asked for: it will go.
		f.protocol, r = f.protocol+" "+ports, allPorts
	}
	if f.protocol == protocolICMP {
		r = allPorts
	}
	for _, p := range peersOf(target) {
		f.peer = p
		a.add(f, r)
	}
}

func peersOf(target godo.Destinations) []peer {
	var peers []peer
	for _, address := range target.Addresses {
		peers = append(peers, addressPeer(address))
	}
	for _, id := range target.DropletIDs {
		peers = append(peers, peer{kindDroplet, strconv.Itoa(id)})
	}
	for _, named := range []struct {
		kind   kind
		values []string
	}{
		{kindTag, normalTags(target.Tags)}, {kindLoadBalancer, target.LoadBalancerUIDs}, {kindKubernetes, target.KubernetesIDs},
	} {
		for _, value := range named.values {
			peers = append(peers, peer{named.kind, value})
		}
	}
	return peers
}

// normalTags returns the tags in lower case, sorted and without duplicates.
func normalTags(tags []string) []string {
	normal := make([]string, len(tags))
	for i, tag := range tags {
		normal[i] = strings.ToLower(tag)
	}
	slices.Sort(normal)
	return slices.Compact(normal)
}

// request asks the API for the state. What the manager doesn't decide comes
// from actual, the firewall as it is, as a write replaces everything: droplets
// that were attached by hand stay attached.
func (s State) request(tags []string, actual *godo.Firewall) *godo.FirewallRequest {
	r := &godo.FirewallRequest{
		Name: s.Name, Tags: tags, DropletIDs: []int{},
		InboundRules: []godo.InboundRule{}, OutboundRules: []godo.OutboundRule{},
	}
	if actual != nil && len(actual.DropletIDs) > 0 {
		r.DropletIDs = actual.DropletIDs
	}
	for _, rule := range s.access.rules() {
		ports, target := rule.ports.text(rule.protocol), targetOf(rule.peers)
		if rule.outbound {
			r.OutboundRules = append(r.OutboundRules, godo.OutboundRule{Protocol: rule.protocol, PortRange: ports, Destinations: &target})
			continue
		}
		r.InboundRules = append(r.InboundRules, godo.InboundRule{Protocol: rule.protocol, PortRange: ports, Sources: new(godo.Sources(target))})
	}
	return r
}

// targetOf is for peers that the manager asks for itself.
func targetOf(peers []peer) godo.Destinations {
	var target godo.Destinations
	for _, p := range peers {
		switch p.kind {
		case kindAddress:
			target.Addresses = append(target.Addresses, p.value)
		case kindLoadBalancer:
			target.LoadBalancerUIDs = append(target.LoadBalancerUIDs, p.value)
		}
	}
	return target
}

// loadBalancers are the ids of those that the state names as sources.
func (s State) loadBalancers() []string {
	var ids []string
	for f := range s.access {
		if f.peer.kind == kindLoadBalancer && !slices.Contains(ids, f.peer.value) {
			ids = append(ids, f.peer.value)
		}
	}
	slices.Sort(ids)
	return ids
}
