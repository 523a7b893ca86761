package loadbalancer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// Candidate is a Node that may become a backend, as far as its droplet is
// known.
type Candidate struct {
	// Node is the Node's name.
	Node string
	// DropletID is zero when the Node has no droplet that is known for sure.
	DropletID int
	// Labels are the Node's.
	Labels map[string]string
	// PublicIPv4 and PublicIPv6 tell which addresses the droplet has.
	PublicIPv4, PublicIPv6 bool
	// Public and Private are the droplet's addresses, in normal form.
	Public, Private []string
	// Excluded says why the Node can't be a backend whatever the load balancer
	// is; empty when it can.
	Excluded string
	// Unshown is true while the API shows no address of the droplet at all.
	Unshown bool
}

// Serving returns the candidates as they are to be judged for a load balancer
// that sends to the droplets: of those, one that the API shows no address of is
// still a backend. It was one, and a droplet's addresses stay for its life, so
// that the answer lacks something is likelier than that the droplet does.
func Serving(candidates []Candidate, dropletIDs []int) []Candidate {
	serving := slices.Clone(candidates)
	for i := range serving {
		if c := &serving[i]; c.Unshown && slices.Contains(dropletIDs, c.DropletID) {
			c.Excluded, c.PublicIPv4, c.PublicIPv6 = "", true, true
		}
	}
	return serving
}

// NoneShown tells whether there are candidates but the API shows no address of
// any of them: nothing may be concluded from that.
func NoneShown(candidates []Candidate) bool {
	return len(Eligible(candidates)) == 0 && slices.ContainsFunc(candidates, func(c Candidate) bool { return c.Unshown })
}

// Backends are the droplets that serve a load balancer, and why other Nodes
// do not.
type Backends struct {
	// DropletIDs are sorted and without duplicates.
	DropletIDs []int
	LeftOut    []LeftOut
	// DualStack is true when there are backends and all have a public IPv4 and
	// a public IPv6 address.
	DualStack bool
	// IPv4Only are the Nodes that keep a load balancer which is yet to be made
	// from being DUALSTACK; none where the Nodes' addresses don't matter.
	IPv4Only []string
	// Sources are the addresses from which the Nodes that qualify come to the
	// load balancer, selected or not.
	Sources []string
	// NotSelected are the Nodes that qualify and that the Service's selector
	// doesn't select.
	NotSelected []string
}

// LeftOut is a Node that is no backend.
type LeftOut struct {
	Node, Reason string
	// ForStack is true where the load balancer's network stack is all that is
	// in the way.
	ForStack bool
	// Serves is true where it is a backend all the same, as there is none that
	// fits better.
	Serves bool
}

const (
	reasonUnknown     = "its droplet is not known"
	reasonNotSelected = "its labels are not what " + annotation.NodeSelector + " selects"
	reasonIPv6Only    = "its droplet has a public IPv6 address only, and a REGIONAL_NETWORK load balancer with an EXTERNAL network needs a public IPv4 address; use the type REGIONAL or the network INTERNAL"
	reasonPrivateOnly = "its droplet has no public IPv4 address, which a REGIONAL_NETWORK load balancer with an EXTERNAL network needs; use the type REGIONAL or the network INTERNAL"
	reasonIPv4Only    = "its droplet has no public IPv6 address, which the load balancer's network stack DUALSTACK needs; give it one, or re-create the Service with the network stack IPV4"
)

// SelectBackends picks those candidates that qualify for the load balancer. A
// network load balancer with a public address hands packets to the droplets'
// public addresses; every other kind reaches them through the VPC. actualStack
// is the network stack of a load balancer that exists, where it is fixed, or "".
func SelectBackends(spec annotation.Spec, actualStack string, candidates []Candidate) Backends {
	public, selector := needsPublicAddresses(spec), selectorOf(spec)
	b := Backends{DualStack: true}
	var halfFit []int
	for _, c := range candidates {
		if unfit(c, false) == "" {
			b.Sources = append(b.Sources, sourcesOf(c, spec)...)
		}
		if reason := unfit(c, public); reason != "" {
			b.LeftOut = append(b.LeftOut, LeftOut{Node: c.Node, Reason: reason})
			continue
		}
		if !selector.Matches(labels.Set(c.Labels)) {
			b.LeftOut = append(b.LeftOut, LeftOut{Node: c.Node, Reason: reasonNotSelected})
			b.NotSelected = append(b.NotSelected, c.Node)
			continue
		}
		if public && !c.PublicIPv6 {
			if actualStack == annotation.StackDual {
				b.LeftOut = append(b.LeftOut, LeftOut{Node: c.Node, Reason: reasonIPv4Only, ForStack: true})
				halfFit = append(halfFit, c.DropletID)
				continue
			}
			if actualStack == "" {
				b.IPv4Only = append(b.IPv4Only, c.Node)
			}
		}
		b.DropletIDs = append(b.DropletIDs, c.DropletID)
		b.DualStack = b.DualStack && c.PublicIPv4 && c.PublicIPv6
	}
	if len(b.DropletIDs) == 0 {
		b.serveHalf(halfFit)
	}
	b.DropletIDs = set(b.DropletIDs)
	b.DualStack = b.DualStack && len(b.DropletIDs) > 0
	return b
}

// sourcesOf are the addresses from which a Node comes to the load balancer.
func sourcesOf(c Candidate, spec annotation.Spec) []string {
	addresses := c.Public
	if spec.Network == annotation.NetworkInternal {
		addresses = c.Private
	}
	sources := make([]string, len(addresses))
	for i, address := range addresses {
		sources[i] = "ip:" + address
	}
	return sources
}

// selectorOf is the Service's; everything where it has none.
func selectorOf(spec annotation.Spec) labels.Selector {
	selector, err := labels.Parse(spec.NodeSelector)
	if err != nil {
		return labels.Everything() // Parse has refused it
	}
	return selector
}

// Selects tells whether a Node of these labels may be a backend.
func Selects(spec annotation.Spec, set map[string]string) bool {
	return selectorOf(spec).Matches(labels.Set(set))
}

// SelectorProblem tells what is wrong with a selector that selects none of the
// Nodes that qualify; none where that is right.
func (b Backends) SelectorProblem(spec annotation.Spec) []annotation.Problem {
	if len(b.DropletIDs) > 0 || len(b.NotSelected) == 0 || spec.AllowEmptyBackends {
		return nil
	}
	return []annotation.Problem{{Field: annotation.NodeSelector, Value: spec.NodeSelector, Allowed: fmt.Sprintf(
		"must select one of the Nodes that can be backends at least (there are %d: %s); until then the load balancer keeps the ones it has. If it is to have none, set %s: \"true\"",
		len(b.NotSelected), names(b.NotSelected), annotation.AllowEmptyBackends)}}
}

// Eligible are the droplets of all Nodes that may be backends at all: sorted and
// without duplicates.
func Eligible(candidates []Candidate) []int {
	var ids []int
	for _, c := range candidates {
		if unfit(c, false) == "" {
			ids = append(ids, c.DropletID)
		}
	}
	return set(ids)
}

// serveHalf takes the droplets that serve IPv4 alone, where no other is left:
// half of the traffic is better than none.
func (b *Backends) serveHalf(droplets []int) {
	b.DropletIDs = droplets
	b.DualStack = b.DualStack && len(droplets) == 0
	for i := range b.LeftOut {
		b.LeftOut[i].Serves = b.LeftOut[i].ForStack
	}
}

// unfit says why a Node is no backend, or "". public is whether backends need a
// public IPv4 address.
func unfit(c Candidate, public bool) string {
	switch {
	case c.Excluded != "":
		return c.Excluded
	case c.DropletID == 0:
		return reasonUnknown
	case public && !c.PublicIPv4 && c.PublicIPv6:
		return reasonIPv6Only
	case public && !c.PublicIPv4:
		return reasonPrivateOnly
	}
	return ""
}

// Bounds of what an explanation tells.
const (
	maxReasons   = 3
	maxNodeNames = 3
)

// Explain says for people why there is no backend, or "" when there is one.
func (b Backends) Explain() string {
	if len(b.DropletIDs) > 0 {
		return ""
	}
	if len(b.LeftOut) == 0 {
		return "no Node of the cluster qualifies as a backend"
	}
	return fmt.Sprintf("none of %d Nodes qualifies as a backend: %s", len(b.LeftOut), countReasons(b.LeftOut))
}

// ExplainStack says for people which Nodes are no backends for the load
// balancer's network stack alone, or "" when there is none.
func (b Backends) ExplainStack() string {
	left := slices.DeleteFunc(slices.Clone(b.LeftOut), func(l LeftOut) bool { return !l.ForStack })
	if len(left) == 0 {
		return ""
	}
	if left[0].Serves {
		return fmt.Sprintf("clients that come by IPv6 are not served, as no Node has both addresses: %s", countReasons(left))
	}
	return fmt.Sprintf("left out as backends: %s", countReasons(left))
}

// countReasons groups Nodes by the reason, the commonest first.
func countReasons(left []LeftOut) string {
	nodes := map[string][]string{}
	for _, l := range left {
		nodes[l.Reason] = append(nodes[l.Reason], l.Node)
	}
	reasons := slices.SortedFunc(maps.Keys(nodes), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(nodes[b]), len(nodes[a])), strings.Compare(a, b))
	})
	var texts []string
	for _, reason := range reasons[:min(len(reasons), maxReasons)] {
		texts = append(texts, fmt.Sprintf("%d (%s): %s", len(nodes[reason]), names(nodes[reason]), reason))
	}
	if more := len(reasons) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more reasons", more))
	}
	return strings.Join(texts, "; ")
}

// names lists Nodes, the first few by name.
func names(nodes []string) string {
	nodes = set(nodes)
	s := strings.Join(nodes[:min(len(nodes), maxNodeNames)], ", ")
	if more := len(nodes) - maxNodeNames; more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}
