package loadbalancer

import (
	"fmt"
	"slices"
	"strings"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// Candidate is a Node that may become a backend, as far as its droplet is
// known.
type Candidate struct {
	// Node is the Node's name.
	Node string
	// DropletID is zero when the Node has no droplet that is known for sure.
	DropletID int
	// PublicIPv4 and PublicIPv6 tell which addresses the droplet has.
	PublicIPv4, PublicIPv6 bool
	// Excluded says why the Node can't be a backend whatever the load balancer
	// is; empty when it can.
	Excluded string
}

// Backends are the droplets that serve a load balancer, and why other Nodes
// do not.
type Backends struct {
	DropletIDs []int
	LeftOut    []LeftOut
	// DualStack is true when there are backends and all have a public IPv4 and
	// a public IPv6 address.
	DualStack bool
}

// LeftOut is a Node that is no backend.
type LeftOut struct{ Node, Reason string }

// SelectBackends picks those candidates that qualify for the load balancer. A
// network load balancer with a public address hands packets to the droplets'
// public IPv4 address; every other kind reaches them through the VPC.
func SelectBackends(spec annotation.Spec, candidates []Candidate) Backends {
	needsPublicIPv4 := spec.Type == annotation.TypeRegionalNetwork && spec.Network == annotation.NetworkExternal
	b := Backends{DualStack: true}
	for _, c := range candidates {
		switch {
		case c.Excluded != "":
			b.LeftOut = append(b.LeftOut, LeftOut{c.Node, c.Excluded})
		case needsPublicIPv4 && !c.PublicIPv4:
			b.LeftOut = append(b.LeftOut, LeftOut{c.Node, "its droplet has no public IPv4 address, which a REGIONAL_NETWORK load balancer with an EXTERNAL network needs"})
		default:
			b.DropletIDs = append(b.DropletIDs, c.DropletID)
			b.DualStack = b.DualStack && c.PublicIPv4 && c.PublicIPv6
		}
	}
	slices.Sort(b.DropletIDs)
	b.DropletIDs = slices.Compact(b.DropletIDs)
	b.DualStack = b.DualStack && len(b.DropletIDs) > 0
	return b
}

// maxExplained bounds how many Nodes an explanation names.
const maxExplained = 3

// Explain says for people why there is no backend, or "" when there is one.
func (b Backends) Explain() string {
	if len(b.DropletIDs) > 0 {
		return ""
	}
	if len(b.LeftOut) == 0 {
		return "no Node of the cluster qualifies as a backend"
	}
	reasons := make([]string, 0, maxExplained)
	for _, l := range b.LeftOut[:min(len(b.LeftOut), maxExplained)] {
		reasons = append(reasons, fmt.Sprintf("%s: %s", l.Node, l.Reason))
	}
	s := fmt.Sprintf("none of %d Nodes qualifies as a backend (%s", len(b.LeftOut), strings.Join(reasons, "; "))
	if more := len(b.LeftOut) - len(reasons); more > 0 {
		s += fmt.Sprintf("; and %d more", more)
	}
	return s + ")"
}
