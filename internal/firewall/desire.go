package firewall

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// DigitalOcean's limits of one firewall. Rules and targets count those of both
// directions; targets are sources and destinations.
const (
	maxRules   = 50
	maxTargets = 1000
	maxTags    = 5
)

// Claim is what one Service needs.
type Claim struct {
	Service types.NamespacedName
	Created time.Time
	Needs   Needs
}

// fingerprints tell by Service whether what it needs is the same.
func fingerprints(claims []Claim) map[types.NamespacedName]string {
	prints := make(map[types.NamespacedName]string, len(claims))
	for _, c := range claims {
		prints[c.Service] = fmt.Sprint(c.Needs.balancer, c.Needs.openings)
	}
	return prints
}

// Identity is which firewall it is.
type Identity struct {
	Name string
	Tags []string
}

// Desired is what the firewall must be.
type Desired struct {
	State
	// LeftOut are the Services whose ports aren't opened as the firewall would
	// exceed its limits, the oldest first.
	LeftOut []types.NamespacedName
	// Rules and Targets are what of the limits is used.
	Rules, Targets int
}

// NearLimit tells that few more Services will fit.
func (d Desired) NearLimit() bool { return d.Rules*10 >= maxRules*9 || d.Targets*10 >= maxTargets*9 }

// Usage says for people what of the limits is used.
func (d Desired) Usage() string {
	return fmt.Sprintf("%d of the %d rules and %d of the %d sources and destinations", d.Rules, maxRules, d.Targets, maxTargets)
}

// Desire makes the firewall that all claims together need. Where that is more
// than DigitalOcean takes, the older Services come first, and each that still
// fits is in. actual is what the firewall admits now, and gone are the ids of
// load balancers that don't exist: the API refuses a rule that names one.
func Desire(id Identity, claims []Claim, actual State, gone map[string]bool) Desired {
	base := access{}
	for _, protocol := range []string{protocolTCP, protocolUDP, protocolICMP} {
		for _, p := range everyone {
			base.add(flow{outbound: true, protocol: protocol, peer: p}, allPorts)
		}
	}
	d := Desired{State: State{Name: id.Name, tags: normalTags(id.Tags)}}
	all := base.clone()
	for _, c := range claims {
		c.Needs.grants(all, actual.access, gone)
	}
	if d.take(all) {
		return d
	}
	d.take(base)
	d.LeftOut = d.fill(base, byAge(claims), actual.access, gone)
	return d
}

// fill takes claims one after the other as long as they fit, and returns those
// that don't. One that joins ranges makes room for others, which are then tried
// again.
func (d *Desired) fill(kept access, claims []Claim, actual access, gone map[string]bool) []types.NamespacedName {
	for {
		var rest []Claim
		for _, c := range claims {
			more := access{}
			c.Needs.grants(more, actual, gone)
			if grown := kept.union(more); d.take(grown) {
				kept = grown
				continue
			}
			rest = append(rest, c)
		}
		if len(rest) == len(claims) || len(rest) == 0 {
			return names(rest)
		}
		claims = rest
	}
}

func names(claims []Claim) []types.NamespacedName {
	var names []types.NamespacedName
	for _, c := range claims {
		names = append(names, c.Service)
	}
	return names
}

// take makes the access the desired one if it is within the limits.
func (d *Desired) take(a access) bool {
	reduced := a.clone()
	reduced.normalize()
	reduced.dropCovered()
	rules, targets := reduced.size()
	if rules > maxRules || targets > maxTargets {
		return false
	}
	d.access, d.Rules, d.Targets = reduced, rules, targets
	return true
}

// byAge sorts claims from the oldest Service to the youngest.
func byAge(claims []Claim) []Claim {
	return slices.SortedStableFunc(slices.Values(claims), func(a, b Claim) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Service.String(), b.Service.String()))
	})
}
