package firewall

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

const (
	protocolTCP  = "tcp"
	protocolUDP  = "udp"
	protocolICMP = "icmp"
)

// kind is what a peer is named by.
type kind string

const (
	kindAddress      kind = "address"
	kindLoadBalancer kind = "load balancer"
	kindTag          kind = "tag"
	kindDroplet      kind = "droplet"
	kindKubernetes   kind = "Kubernetes cluster"
)

// peer is who traffic comes from or goes to.
type peer struct {
	kind  kind
	value string
}

func (p peer) String() string {
	if p.kind == kindAddress {
		return p.value
	}
	return string(p.kind) + " " + p.value
}

var (
	everyIPv4 = peer{kindAddress, "0.0.0.0/0"}
	everyIPv6 = peer{kindAddress, "::/0"}
	everyone  = []peer{everyIPv4, everyIPv6}
)

// addressPeer is an address or a prefix in its one spelling: bits beyond the
// prefix cleared, and no length where it is a single address. What can't be read
// stays as it is.
func addressPeer(text string) peer {
	text = strings.TrimSpace(text)
	if address, err := netip.ParseAddr(text); err == nil {
		return peer{kindAddress, address.Unmap().String()}
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return peer{kindAddress, text}
	}
	if prefix = prefix.Masked(); prefix.IsSingleIP() {
		return peer{kindAddress, prefix.Addr().Unmap().String()}
	}
	return peer{kindAddress, prefix.String()}
}

// prefix is the addresses of a peer that is named by addresses.
func (p peer) prefix() (netip.Prefix, bool) {
	if p.kind != kindAddress {
		return netip.Prefix{}, false
	}
	if prefix, err := netip.ParsePrefix(p.value); err == nil {
		return prefix, true
	}
	address, err := netip.ParseAddr(p.value)
	return netip.PrefixFrom(address, address.BitLen()), err == nil
}

// flow is traffic with one peer, but for its ports.
type flow struct {
	outbound bool
	protocol string
	// deny is true for the rare rule that doesn't admit.
	deny bool
	peer peer
}

// access is which ports each flow is admitted to. However a firewall's rules
// split and order the same thing, it is the same access.
type access map[flow]Ports

func (a access) add(f flow, r Range) { a[f] = append(a[f], r) }

// normalize must follow the last add.
func (a access) normalize() {
	for f, ranges := range a {
		a[f] = normalPorts(ranges)
	}
}

func (a access) clone() access {
	c := make(access, len(a))
	for f, ports := range a {
		c[f] = slices.Clone(ports)
	}
	return c
}

// minus returns what a has and b hasn't.
func (a access) minus(b access) access {
	rest := access{}
	for f, ports := range a {
		if more := ports.minus(b[f]); len(more) > 0 {
			rest[f] = more
		}
	}
	return rest
}

// dropCovered takes out what is admitted to a wider prefix anyway.
func (a access) dropCovered() {
	for f, ports := range a {
		prefix, ok := f.peer.prefix()
		if !ok {
			continue
		}
		for bits := prefix.Bits() - 1; bits >= 0; bits-- {
			wider := f
			wider.peer = addressPeer(netip.PrefixFrom(prefix.Addr(), bits).String())
			ports = ports.minus(a[wider])
		}
		if len(ports) == 0 {
			delete(a, f)
			continue
		}
		a[f] = ports
	}
}

// rule is a firewall's rule: one range of ports, and all who have exactly that.
type rule struct {
	flow  // its peer is empty
	ports Range
	peers []peer
}

// rules are the fewest sources and destinations that say the same, in a fixed
// order.
func (a access) rules() []rule {
	type group struct {
		flow
		ports Range
	}
	groups := map[group][]peer{}
	for f, ports := range a {
		who := f.peer
		f.peer = peer{}
		for _, r := range ports {
			groups[group{f, r}] = append(groups[group{f, r}], who)
		}
	}
	rules := make([]rule, 0, len(groups))
	for g, peers := range groups {
		slices.SortFunc(peers, comparePeers)
		rules = append(rules, rule{g.flow, g.ports, peers})
	}
	slices.SortFunc(rules, compareRules)
	return rules
}

func comparePeers(a, b peer) int {
	return cmp.Or(strings.Compare(string(a.kind), string(b.kind)), strings.Compare(a.value, b.value))
}

func compareRules(a, b rule) int {
	return cmp.Or(
		compareBools(a.outbound, b.outbound),
		strings.Compare(a.protocol, b.protocol),
		cmp.Compare(a.ports.From, b.ports.From),
		cmp.Compare(a.ports.To, b.ports.To),
		compareBools(a.deny, b.deny),
	)
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// maxListedPeers is how many peers a rule names for people.
const maxListedPeers = 4

// String is the rule as people write it.
func (r rule) String() string {
	direction, preposition := "inbound", "from"
	if r.outbound {
		direction, preposition = "outbound", "to"
	}
	if r.deny {
		direction = "denied " + direction
	}
	ports := " " + r.ports.String()
	if r.protocol == protocolICMP {
		ports = ""
	}
	return fmt.Sprintf("%s %s%s %s %s", direction, r.protocol, ports, preposition, describePeers(r.peers))
}

func describePeers(peers []peer) string {
	var texts []string
	if slices.Contains(peers, everyIPv4) && slices.Contains(peers, everyIPv6) {
		texts = append(texts, "everywhere")
		peers = slices.DeleteFunc(slices.Clone(peers), func(p peer) bool { return slices.Contains(everyone, p) })
	}
	for i, p := range peers {
		if i == maxListedPeers {
			texts = append(texts, fmt.Sprintf("%d more", len(peers)-i))
			break
		}
		texts = append(texts, p.String())
	}
	return strings.Join(texts, ", ")
}

// size is how much of a firewall's limits the access takes.
func (a access) size() (rules, targets int) {
	for _, r := range a.rules() {
		rules++
		targets += len(r.peers)
	}
	return rules, targets
}

// union returns what either has.
func (a access) union(b access) access {
	u := a.clone()
	for f, ports := range maps.All(b) {
		u[f] = append(u[f], ports...)
	}
	u.normalize()
	return u
}
