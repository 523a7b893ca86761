package loadbalancer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// maxForwardingRules is how many rules DigitalOcean takes.
const maxForwardingRules = 40

// reservedPorts are entry ports that DigitalOcean keeps for itself.
var reservedPorts = []int{50053, 50054, 50055}

var transports = map[v1.Protocol]string{
	"":             annotation.ProtocolTCP, // the API server's default
	v1.ProtocolTCP: annotation.ProtocolTCP,
	v1.ProtocolUDP: annotation.ProtocolUDP,
}

// forwardingRules makes the rules of a Service's ports, and reports those that
// can't be made.
func forwardingRules(svc *v1.Service, spec annotation.Spec, in Inputs) ([]ForwardingRule, []annotation.Problem) {
	m := ruleMaker{spec: spec, in: in}
	for i, port := range svc.Spec.Ports {
		m.port(i, port)
	}
	if spec.Type == annotation.TypeRegional {
		m.http3(svc)
	}
	m.checkEntries()
	switch n := len(m.rules); {
	case n > maxForwardingRules:
		m.refuse("spec.ports", fmt.Sprintf("%d forwarding rules", n), fmt.Sprintf("must be at most %d", maxForwardingRules))
	case len(svc.Spec.Ports) == 0:
		m.refuse("spec.ports", "", "must have at least one port")
	}
	return m.rules, m.problems
}

type ruleMaker struct {
	spec     annotation.Spec
	in       Inputs
	rules    []ForwardingRule
	problems []annotation.Problem
}

// refuse reports a field once, however many ports it concerns.
func (m *ruleMaker) refuse(field, value, allowed string) {
	if !slices.ContainsFunc(m.problems, func(p annotation.Problem) bool { return p.Field == field }) {
		m.problems = append(m.problems, annotation.Problem{Field: field, Value: value, Allowed: allowed})
	}
}

// port makes the rule of the Service's i-th port.
func (m *ruleMaker) port(i int, port v1.ServicePort) {
	path := func(field string) string { return fmt.Sprintf("spec.ports[%d].%s", i, field) }
	transport, ok := transports[port.Protocol]
	if !ok {
		m.refuse(path("protocol"), string(port.Protocol), "must be TCP or UDP, which is what DigitalOcean's load balancers forward")
		return
	}
	if slices.Contains(reservedPorts, int(port.Port)) {
		m.refuse(path("port"), fmt.Sprint(port.Port), "must not be 50053, 50054 or 50055, which DigitalOcean keeps for itself")
	}
	rule := ForwardingRule{EntryProtocol: transport, EntryPort: int(port.Port), TargetProtocol: transport}
	if m.spec.Type != annotation.TypeRegional {
		// A network load balancer doesn't rewrite packets: they reach the node
		// with the Service's own port.
		rule.TargetPort = rule.EntryPort
		m.rules = append(m.rules, rule)
		return
	}
	if rule.TargetPort = int(port.NodePort); rule.TargetPort == 0 {
		m.refuse(path("nodePort"), "0", "must be allocated, as a REGIONAL load balancer sends to node ports: set spec.allocateLoadBalancerNodePorts to true, or use the type REGIONAL_NETWORK")
	}
	if transport == annotation.ProtocolTCP {
		protocol, _ := m.spec.PortProtocol(rule.EntryPort)
		if rule, ok = m.speak(rule, protocol); !ok {
			return
		}
	}
	m.rules = append(m.rules, rule)
}

// speak completes a rule of TCP for the protocol. It is false where TLS lacks
// what it needs.
func (m *ruleMaker) speak(rule ForwardingRule, protocol string) (ForwardingRule, bool) {
	rule.EntryProtocol, rule.TargetProtocol = protocol, protocol
	if protocol == annotation.ProtocolTCP || protocol == annotation.ProtocolHTTP {
		return rule, true
	}
	if m.spec.TLSPassthrough && protocol != annotation.ProtocolHTTP3 {
		rule.TLSPassthrough = true
		return rule, true
	}
	id := m.certificateID(rule.EntryPort)
	if id == "" {
		named := m.spec.CertificateAt(rule.EntryPort) // one is, Parse has seen to
		m.refuse(named.Key, named.Value(), "must be of a certificate that exists in the account, as "+protocol+" needs one")
		return rule, false
	}
	rule.TargetProtocol, rule.CertificateID = m.spec.BackendProtocolAt(rule.EntryPort), id
	return rule, true
}

// certificateID is the id of the port's certificate; empty: none.
func (m *ruleMaker) certificateID(port int) string {
	if _, own := m.spec.PortCertificates[port]; own {
		return m.in.PortCertificateIDs[port]
	}
	return m.in.CertificateID
}

// http3 adds the rule that stands beside that of the same TCP port.
func (m *ruleMaker) http3(svc *v1.Service) {
	if m.spec.HTTP3Port == 0 {
		return
	}
	port := tcpPort(svc, m.spec.HTTP3Port)
	if port == nil {
		return // Parse has refused it
	}
	rule := ForwardingRule{EntryPort: m.spec.HTTP3Port, TargetPort: int(port.NodePort)}
	if rule, ok := m.speak(rule, annotation.ProtocolHTTP3); ok {
		m.rules = append(m.rules, rule)
	}
}

// transport is what an entry port is taken on: HTTP/3 runs over UDP.
func (r ForwardingRule) transport() string {
	if r.EntryProtocol == annotation.ProtocolUDP || r.EntryProtocol == annotation.ProtocolHTTP3 {
		return annotation.ProtocolUDP
	}
	return annotation.ProtocolTCP
}

// checkEntries refuses two rules at one port of a transport. The API server
// refuses a Service that repeats a port, so HTTP/3 beside UDP remains.
func (m *ruleMaker) checkEntries() {
	type entry struct {
		transport string
		port      int
	}
	taken := map[entry]ForwardingRule{}
	for _, rule := range m.rules {
		e := entry{rule.transport(), rule.EntryPort}
		other, ok := taken[e]
		if !ok {
			taken[e] = rule
			continue
		}
		m.refuse("spec.ports", fmt.Sprint(rule.EntryPort), fmt.Sprintf("must be used once on %s, and %s and %s both take it", strings.ToUpper(e.transport), other, rule))
	}
}

func compareRules(a, b ForwardingRule) int {
	return cmp.Or(
		cmp.Compare(a.EntryPort, b.EntryPort),
		strings.Compare(a.EntryProtocol, b.EntryProtocol),
		cmp.Compare(a.TargetPort, b.TargetPort),
		strings.Compare(a.TargetProtocol, b.TargetProtocol),
		strings.Compare(a.CertificateID, b.CertificateID),
		cmp.Compare(toInt(a.TLSPassthrough), toInt(b.TLSPassthrough)),
	)
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
