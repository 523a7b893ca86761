package annotation

import (
	"cmp"
	"fmt"
	"iter"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Parse reads the annotations of a Service. It returns every problem at once;
// the Spec then still holds what could be read, with the default in place of
// what could not. An annotation whose value is empty counts as absent, as
// charts render it so; only [OverrideHealthCheck] counts by its presence.
func Parse(svc *v1.Service, defaults Defaults) (Spec, []Problem) {
	own := svc.Annotations[RetainOnDelete]
	svc, inherited := defaults.inEffect(svc)
	p := read(svc.Annotations, inherited)
	defaults.checkClass(p)
	spec := p.spec(defaults)
	if own == "" && !defaults.knowsClass(svc.Annotations[Class]) {
		// What the class says of it isn't known, and what is deleted is gone.
		spec.RetainOnDelete, spec.RetainUnsure = true, true
	}
	p.perPort(svc, &spec)
	spec.Inherited = inherited
	_, spec.HealthCheck.Override = svc.Annotations[OverrideHealthCheck]
	if ranges := svc.Spec.LoadBalancerSourceRanges; len(ranges) > 0 {
		spec.AllowRules = p.sourceRanges(ranges)
	}
	c := checker{svc: svc, parser: p, spec: &spec}
	c.check()
	return spec, p.problems
}

// FirewallManaged tells whether the public access firewall opens the Service's
// ports. A value that is not a boolean is a problem, and counts as true.
func FirewallManaged(svc *v1.Service) (managed bool, problem *Problem) {
	value := svc.Annotations[FirewallManagedKey]
	if value == "" {
		return true, nil
	}
	managed, err := strconv.ParseBool(value)
	if err != nil {
		definition, _ := Lookup(FirewallManagedKey)
		return true, &Problem{Field: FirewallManagedKey, Value: value, Allowed: definition.check(value)}
	}
	return managed, nil
}

// parser holds the annotations whose values are valid.
type parser struct {
	values    map[string]string
	inherited inherited
	problems  []Problem
}

// read checks the values one by one, in the registry's order.
func read(annotations map[string]string, inherited inherited) *parser {
	p := &parser{values: map[string]string{}, inherited: inherited}
	for definition := range declared(annotations) {
		value := annotations[definition.Key]
		if value == "" || definition.NotForBalancer {
			continue
		}
		if allowed := definition.check(value); allowed != "" {
			p.refuse(definition.Key, value, allowed)
			if !definition.FailSafe {
				continue
			}
			value = cmp.Or(definition.Safe, "true")
		}
		p.values[definition.Key] = value
	}
	return p
}

// declared are all annotations in the registry's order, each followed by those
// that say the same for one port.
func declared(annotations map[string]string) iter.Seq[Definition] {
	return func(yield func(Definition) bool) {
		for _, d := range Registry {
			if !yield(d) {
				return
			}
			if !d.PerPort {
				continue
			}
			for _, key := range portKeys(annotations, d.Key) {
				_, port, _ := SplitPort(key)
				if !yield(d.forPort(port)) {
					return
				}
			}
		}
	}
}

func (p *parser) refuse(field, value, allowed string) {
	p.problems = append(p.problems, Problem{Field: field, Value: value, Allowed: allowed + origin(p.inherited[field])})
}

// spec is what the values say one by one.
func (p *parser) spec(defaults Defaults) Spec {
	spec := Spec{
		LoadBalancerID: p.lower(LoadBalancerID),
		Disowned:       p.bool(Disown),
		Manage:         p.text(Manage),
		RetainOnDelete: p.bool(RetainOnDelete),
		DryRun:         p.bool(DryRun),
		Name:           p.text(Name),
		Type:           p.text(Type),
		Network:        p.text(Network),
		NetworkStack:   p.text(NetworkStack),
		SizeUnit:       p.int(SizeUnit),
		SizeSlug:       p.text(SizeSlug),
		IP:             p.text(IP),
		SubnetUUID:     p.lower(SubnetUUID),
		ProjectID:      p.lower(ProjectID),
		IPMode:         p.text(IPMode),
		Hostname:       p.lower(Hostname),

		Protocol:        p.text(Protocol),
		HTTPPorts:       p.ports(HTTPPorts),
		TLSPorts:        p.ports(TLSPorts),
		HTTP2Ports:      p.ports(HTTP2Ports),
		HTTP3Port:       p.int(HTTP3Port),
		TLSPassthrough:  p.bool(TLSPassthrough),
		CertificateID:   p.lower(CertificateID),
		CertificateName: p.text(CertificateName),
		BackendProtocol: p.text(BackendProtocol),
		TLSCipherPolicy: p.text(TLSCipherPolicy),

		NodeSelector:       p.text(NodeSelector),
		AllowEmptyBackends: p.bool(AllowEmptyBackends),

		HealthCheck: HealthCheck{
			Port:                   p.int(HealthCheckPort),
			Path:                   p.text(HealthCheckPath),
			Protocol:               p.text(HealthCheckProtocol),
			CheckIntervalSeconds:   p.int(HealthCheckIntervalSeconds),
			ResponseTimeoutSeconds: p.int(HealthCheckResponseTimeoutSeconds),
			UnhealthyThreshold:     p.int(HealthCheckUnhealthyThreshold),
			HealthyThreshold:       p.int(HealthCheckHealthyThreshold),
		},
		StickySessions: StickySessions{
			Type:             p.text(StickySessionsType),
			CookieName:       p.text(StickySessionsCookieName),
			CookieTTLSeconds: p.int(StickySessionsCookieTTL),
		},
		RedirectHTTPToHTTPS:          p.bool(RedirectHTTPToHTTPS),
		EnableProxyProtocol:          p.bool(EnableProxyProtocol),
		EnableBackendKeepalive:       p.bool(EnableBackendKeepalive),
		DisableLetsEncryptDNSRecords: p.bool(DisableLetsEncryptDNSRecords),
		HTTPIdleTimeoutSeconds:       p.int(HTTPIdleTimeoutSeconds),
		AllowRules:                   p.sources(AllowRules),
		AllowClusterNodes:            p.bool(AllowClusterNodes),
		DenyRules:                    p.sources(DenyRules),
	}
	spec.Drift, spec.Ignored = p.drift()
	if spec.Type == "" {
		spec.Type = defaults.Type
	}
	if units := UnitsOf(spec.SizeSlug); units > 0 {
		spec.SizeUnit = units
	}
	return spec
}

// text returns the annotation's value or its default.
func (p *parser) text(key string) string {
	if value, ok := p.values[key]; ok {
		return value
	}
	definition, ok := Lookup(key)
	if !ok {
		// Reading an undeclared annotation would escape the documentation and
		// the validation: a mistake in this package, found by any test.
		panic("annotation " + key + " is not declared in the registry")
	}
	return definition.Default
}

// lower is for values whose case doesn't matter, and which others compare.
func (p *parser) lower(key string) string { return strings.ToLower(p.text(key)) }

// The errors below are those of absent values: the others are validated.

func (p *parser) bool(key string) bool {
	b, _ := strconv.ParseBool(p.text(key))
	return b
}

func (p *parser) int(key string) int {
	n, _ := strconv.Atoi(p.text(key))
	return n
}

func (p *parser) ports(key string) []int {
	ports, _ := parsePorts(p.text(key))
	return ports
}

func (p *parser) drift() (policy string, ignored []string) {
	if ignored, _ = parseDrift(p.text(Drift)); len(ignored) > 0 {
		return DriftRevert, ignored
	}
	return p.text(Drift), nil
}

func (p *parser) sources(key string) []string {
	sources, _ := parseSources(p.text(key))
	return sources
}

// sourceRanges reads spec.loadBalancerSourceRanges.
func (p *parser) sourceRanges(ranges []string) []string {
	var sources []string
	for i, text := range ranges {
		source, err := NormalizeSource(sourceCIDR + text)
		if err != nil {
			p.refuse(fmt.Sprintf("spec.loadBalancerSourceRanges[%d]", i), text, "must be an address with a prefix length, such as 198.51.100.0/24 or 2001:db8::/32")
			continue
		}
		sources = append(sources, source)
	}
	return set(sources)
}

// isSet tells whether the Service has the annotation, valid or not.
func isSet(svc *v1.Service, key string) bool { return svc.Annotations[key] != "" }
