package policy

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// rule is one refusal.
type rule struct {
	// name is that of the rule's CEL variable. It doesn't depend on rules of
	// other annotations, so that the policy changes as little as the registry.
	name string
	// field is the annotation that is refused.
	field string
	// others are the annotations that the refusal depends on as well.
	others []string
	// ports is true where it depends on the Service's ports.
	ports bool
	// ofPorts are annotations of which the refusal depends on those for single
	// ports.
	ofPorts []string
	// perPort is true where it is of the annotations for single ports, of which
	// field is the one for all. broken then is of the key k.
	perPort bool
	// broken is a CEL expression that is true where it is refused. It may rely
	// on the annotation being there, and not empty.
	broken string
	// allowed says what must be instead.
	allowed string
}

// overridden have an effect only beside the override of the health check.
var overridden = map[string]bool{annotation.HealthCheckPath: true, annotation.HealthCheckPort: true, annotation.HealthCheckProtocol: true}

// rules are all refusals: of each value, and of values that don't go together.
func rules() []rule {
	var all []rule
	for _, d := range annotation.Registry {
		condition := valid(d, value(d.Key))
		if condition == "" || d.NotForBalancer {
			continue
		}
		r := rule{field: d.Key, broken: "!(" + condition + ")", allowed: allowed(d)}
		if overridden[d.Key] {
			r.others = []string{annotation.OverrideHealthCheck}
			r.broken = present(annotation.OverrideHealthCheck) + " && " + r.broken
		}
		all = append(all, r)
		if d.PerPort {
			all = append(all, rule{field: d.Key, perPort: true, broken: "!(" + valid(d, "variables.now[k]") + ")", allowed: allowed(d)})
		}
	}
	return named(append(all, together()...))
}

// named names the rules: by the annotation, and by a number from the second on.
func named(rules []rule) []rule {
	taken := map[string]int{}
	for i, r := range rules {
		name := "rule_" + strings.ReplaceAll(annotation.Suffix(r.field), "-", "_")
		if taken[name]++; taken[name] > 1 {
			name = fmt.Sprintf("%s_%d", name, taken[name])
		}
		rules[i].name = name
	}
	return rules
}

// allowed is what Parse says of a value that the annotation doesn't take.
func allowed(d annotation.Definition) string {
	nonsense := "\x00"
	if d.Kind == annotation.KindPorts || d.Kind == annotation.KindSources {
		nonsense = "," // of a list with a bad entry it would name the entry
	}
	svc := &v1.Service{}
	svc.Annotations = map[string]string{d.Key: nonsense}
	_, problems := annotation.Parse(svc, annotation.Defaults{})
	for _, p := range problems {
		if p.Field == d.Key {
			return p.Allowed
		}
	}
	return "must be of another form"
}

// together are the refusals of values that don't go together. Those that depend
// on the type speak of a type that the Service names: which is the default, only
// the manager knows.
func together() []rule {
	regional := is(annotation.Type, annotation.TypeRegional)
	isPassed := value(annotation.TLSPassthrough) + ` in ["1", "t", "T", "true", "TRUE", "True"]`
	certificate := func(key string) rule {
		return rule{
			field: annotation.TLSPassthrough, others: []string{annotation.Type, key},
			broken:  regional + " && " + isPassed + " && " + set(key),
			allowed: "must be absent or false with " + key + ": TLS ends either at the load balancer or at the backends",
		}
	}
	reencrypts := func(r rule) rule {
		r.others = []string{annotation.Type, annotation.TLSPassthrough, annotation.CertificateID, annotation.CertificateName}
		// Beside a certificate it is the passthrough that is refused.
		r.broken = regional + " && " + set(annotation.TLSPassthrough) + " && " + isPassed + " && " + r.broken + noCertificate
		r.allowed = "must be absent with " + annotation.TLSPassthrough + ", which hands the client's TLS to the backends"
		return r
	}
	tls := list([]string{annotation.ProtocolHTTPS, annotation.ProtocolHTTP2})
	missing := func(key string) rule {
		return rule{
			field: annotation.StickySessionsType, others: []string{annotation.Type, key},
			broken:  regional + " && " + is(annotation.StickySessionsType, annotation.StickyCookies) + " && !" + set(key),
			allowed: "must be none or absent without " + key,
		}
	}
	shared := func(key, other string) rule {
		return rule{
			field: key, others: []string{annotation.Type, other},
			broken:  regional + " && " + set(other) + " && " + entries(value(key)) + ".exists(x, x in " + entries(value(other)) + ")",
			allowed: "must not have a port that " + other + " has too: a port speaks one protocol",
		}
	}
	insecure := func(key, condition string, others ...string) rule {
		return rule{
			field: key, ports: true,
			others:  append([]string{annotation.Type, annotation.CertificateID, annotation.CertificateName, annotation.TLSPassthrough}, others...),
			broken:  regional + " && !" + set(annotation.TLSPassthrough) + " && " + condition + noCertificate,
			allowed: "must be accompanied by " + annotation.CertificateID + ", " + annotation.CertificateName + " or " + annotation.TLSPassthrough + ", as TLS needs one of them",
		}
	}
	has := func(key string) string {
		return "variables.tcpPorts.exists(p, string(p) in " + entries(value(key)) + ")"
	}
	lists := []string{annotation.HTTPPorts, annotation.TLSPorts, annotation.HTTP2Ports}
	forAll := value(annotation.Protocol) + " in " + list([]string{annotation.ProtocolHTTPS, annotation.ProtocolHTTP2, annotation.ProtocolHTTP3}) +
		" && variables.tcpPorts.size() > 0"
	for _, key := range lists {
		forAll += " && !" + set(key)
	}
	byPort := func(key string) rule {
		r := certificate(key)
		r.broken = regional + " && " + isPassed + " && " + anyPort(key) + " && !" + set(annotation.CertificateID) + " && !" + set(annotation.CertificateName)
		r.others, r.ofPorts = []string{annotation.Type, annotation.CertificateID, annotation.CertificateName}, []string{key}
		r.allowed = "must be absent or false with " + key + " of a port: TLS ends either at the load balancer or at the backends"
		return r
	}
	byName := certificate(annotation.CertificateName)
	byName.broken += " && !" + set(annotation.CertificateID) // told already
	byName.others = append(byName.others, annotation.CertificateID)
	return []rule{
		{
			field: annotation.SizeSlug, others: []string{annotation.SizeUnit},
			broken: set(annotation.SizeUnit), allowed: "must be absent beside " + annotation.SizeUnit,
		},
		{
			field: annotation.NetworkStack, others: []string{annotation.Network},
			broken:  is(annotation.NetworkStack, annotation.StackDual) + " && " + is(annotation.Network, annotation.NetworkInternal),
			allowed: "must be IPV4 or absent with the INTERNAL of " + annotation.Network,
		},
		shared(annotation.HTTPPorts, annotation.TLSPorts), shared(annotation.HTTP2Ports, annotation.HTTPPorts), shared(annotation.HTTP2Ports, annotation.TLSPorts),
		certificate(annotation.CertificateID), byName, byPort(annotation.CertificateID), byPort(annotation.CertificateName),
		reencrypts(rule{field: annotation.BackendProtocol, broken: value(annotation.BackendProtocol) + " in " + tls}),
		reencrypts(rule{field: annotation.BackendProtocol, perPort: true, broken: "variables.now[k] in " + tls}),
		insecure(annotation.TLSPorts, has(annotation.TLSPorts)), insecure(annotation.HTTP2Ports, has(annotation.HTTP2Ports)),
		insecure(annotation.Protocol, forAll, lists...),
		missing(annotation.StickySessionsCookieName), missing(annotation.StickySessionsCookieTTL),
		{
			field: annotation.HealthCheckPath, others: []string{annotation.OverrideHealthCheck, annotation.HealthCheckProtocol},
			broken:  present(annotation.OverrideHealthCheck) + " && " + is(annotation.HealthCheckProtocol, annotation.ProtocolTCP),
			allowed: "must be absent with the tcp of " + annotation.HealthCheckProtocol + ", which asks for no path",
		},
		{
			field: annotation.HealthCheckPort, others: []string{annotation.OverrideHealthCheck}, ports: true,
			broken: present(annotation.OverrideHealthCheck) + " && " + matches(value(annotation.HealthCheckPort), integer) +
				` && !variables.tcpPorts.exists(p, p == int(` + value(annotation.HealthCheckPort) + `))`,
			allowed: "must be a TCP port of the Service",
		},
	}
}

// noCertificate is true where no annotation names a certificate.
var noCertificate = " && !" + set(annotation.CertificateID) + " && !" + set(annotation.CertificateName) +
	" && !" + anyPort(annotation.CertificateID) + " && !" + anyPort(annotation.CertificateName)

// anyPort is true where an annotation says for a single port what key says for all.
func anyPort(key string) string { return "(" + ofPorts(key) + ".size() > 0)" }

// ofPorts is the list of the annotations that say for a single port what key says
// for all.
func ofPorts(key string) string { return "variables." + ofPortsName(key) }

func ofPortsName(key string) string {
	return "ports_" + strings.ReplaceAll(annotation.Suffix(key), "-", "_")
}

// listOfPorts is the expression of that list: of keys with a dot and a port by
// number or by name at their end.
func listOfPorts(key string) string {
	port := fmt.Sprintf("k.substring(%d)", len(key)+1)
	return "variables.now.map(k, k).filter(k, k.startsWith(" + quote(key+".") + `) && variables.now[k] != "" && (` +
		matches(port, `^[0-9]+$`) + " ? " + matches(port, `^[1-9][0-9]{0,4}$`) + fmt.Sprintf(" && int(%s) <= %d", port, maxPort) +
		" : size(" + port + ") <= 63 && " + matches(port, `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`) + "))"
}

// Expressions of an annotation. value is "" where it is absent.

func value(key string) string { return "variables.now[" + quote(key) + "]" }

func set(key string) string { return "(" + present(key) + " && " + value(key) + ` != "")` }

func present(key string) string { return "(" + quote(key) + " in variables.now)" }

func is(key, want string) string {
	return "(" + present(key) + " && " + value(key) + " == " + quote(want) + ")"
}
