package annotation

import (
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Spec is what a Service's annotations ask for. A zero value stands for an
// annotation that is absent.
type Spec struct {
	// LoadBalancerID is the id of the load balancer that exists already.
	LoadBalancerID string
	// Disowned is true when the manager must leave the load balancer alone.
	Disowned bool
	// Name is the custom name.
	Name string
	// Type is TypeRegional or TypeRegionalNetwork.
	Type string
	// Network is NetworkExternal or NetworkInternal.
	Network string
	// SizeUnit is the number of the load balancer's nodes.
	SizeUnit int
}

// Defaults are the cluster-wide values of annotations that a Service lacks.
type Defaults struct {
	// Type is the type of load balancers.
	Type string
}

// Parse reads the annotations of a Service. It returns every problem at once;
// the Spec then still holds what could be read, with the default in place of
// what could not. An annotation whose value is empty counts as absent, as
// charts render it so.
func Parse(svc *v1.Service, defaults Defaults) (Spec, []Problem) {
	p := parser{annotations: svc.Annotations}
	spec := Spec{
		LoadBalancerID: p.text(LoadBalancerID, ""),
		Disowned:       p.bool(Disown),
		Name:           p.text(Name, ""),
		Type:           p.text(Type, defaults.Type),
		Network:        p.text(Network, NetworkExternal),
		SizeUnit:       p.int(SizeUnit, 1),
	}
	p.refuseUnsupported(svc)
	return spec, p.problems
}

// unsupported restrict who may reach a load balancer. One that ignores them
// would be open to the world, so a Service that has them gets none.
var unsupported = []string{prefixLoadBalancer + "allow-rules", prefixLoadBalancer + "deny-rules"}

func (p *parser) refuseUnsupported(svc *v1.Service) {
	const allowed = "must be absent: this version can't restrict sources yet, and makes no load balancer that is open to all instead"
	for _, key := range unsupported {
		if value := svc.Annotations[key]; value != "" {
			p.problems = append(p.problems, Problem{Field: key, Value: value, Allowed: allowed})
		}
	}
	if ranges := svc.Spec.LoadBalancerSourceRanges; len(ranges) > 0 {
		p.problems = append(p.problems, Problem{Field: "spec.loadBalancerSourceRanges", Value: strings.Join(ranges, ","), Allowed: allowed})
	}
}

// Unknown returns the annotations under our prefixes that nothing reads, sorted.
func Unknown(svc *v1.Service) []string {
	var unknown []string
	for key := range svc.Annotations {
		if !strings.HasPrefix(key, prefixLoadBalancer) && !strings.HasPrefix(key, prefixIdentity) {
			continue
		}
		if _, known := Lookup(key); !known && !slices.Contains(unsupported, key) {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	return unknown
}

type parser struct {
	annotations map[string]string
	problems    []Problem
}

// value returns the annotation's value if it is present and valid.
func (p *parser) value(key string) (string, bool) {
	value := p.annotations[key]
	if value == "" {
		return "", false
	}
	definition, ok := Lookup(key)
	if !ok {
		// Reading an undeclared annotation would escape the documentation and
		// the validation: a mistake in this package, found by any test.
		panic("annotation " + key + " is not declared in the registry")
	}
	if allowed := definition.check(value); allowed != "" {
		p.problems = append(p.problems, Problem{Field: key, Value: value, Allowed: allowed})
		if definition.FailSafe {
			return "true", true
		}
		return "", false
	}
	return value, true
}

func (p *parser) text(key, fallback string) string {
	if v, ok := p.value(key); ok {
		return v
	}
	return fallback
}

func (p *parser) bool(key string) bool {
	v, _ := p.value(key)
	b, _ := strconv.ParseBool(v) // absent: false; validated otherwise
	return b
}

func (p *parser) int(key string, fallback int) int {
	v, ok := p.value(key)
	if !ok {
		return fallback
	}
	n, _ := strconv.Atoi(v) // validated
	return n
}
