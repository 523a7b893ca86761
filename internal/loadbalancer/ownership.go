package loadbalancer

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// Claim is how well a Service can prove that a load balancer is its own. Of
// several Services the one with the better claim has it, and of equal ones the
// oldest.
type Claim int

const (
	// NoClaim is of a Service that has nothing to do with the load balancer.
	NoClaim Claim = iota
	// Named is of a Service that holds the load balancer's id, which whoever may
	// write Services can write as well.
	Named
	// Shown is of a Service whose status shows the load balancer's address. Only
	// managers write it.
	Shown
	// Made is of the Service that the load balancer was made for: its default
	// name and its mark carry the Service's UID. A custom name proves nothing.
	Made
)

// Identity is what tells load balancers apart.
type Identity struct {
	ID, Name        string
	Tags, Addresses []string
}

// ClaimOf returns the Service's claim, by what it and the load balancer show.
func ClaimOf(svc *v1.Service, lb Identity) Claim {
	if lb.Name == DefaultName(svc) || HasTag(lb.Tags, ServiceTag(svc)) {
		return Made
	}
	id := svc.Annotations[annotation.LoadBalancerID]
	named := lb.ID != "" && strings.EqualFold(id, lb.ID)
	switch {
	case (named || id == "") && ShowsAddress(svc, lb.Addresses):
		return Shown
	case named:
		return Named
	}
	return NoClaim
}

// ShowsAddress tells whether one of the addresses is in the Service's status.
func ShowsAddress(svc *v1.Service, addresses []string) bool {
	return slices.ContainsFunc(svc.Status.LoadBalancer.Ingress, func(i v1.LoadBalancerIngress) bool {
		return i.IP != "" && slices.Contains(addresses, i.IP)
	})
}

// HasTag ignores case, as DigitalOcean does: a tag is shown in the spelling in
// which it was first used.
func HasTag(tags []string, tag string) bool {
	return slices.ContainsFunc(tags, func(t string) bool { return strings.EqualFold(t, tag) })
}

// IsOlder tells whether a goes before b where both claim equally well.
func IsOlder(a, b *v1.Service) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.UID < b.UID
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}
