package annotation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// checker finds annotations that are valid one by one and don't go together, or
// not with the Service's ports. What it refuses it takes out of the spec, so
// that whoever works with the spec doesn't find the same again. What depends on
// a value that was refused already is not told as another problem.
type checker struct {
	svc *v1.Service
	*parser
	spec *Spec
}

func (c *checker) check() {
	c.size()
	c.stack()
	c.ipMode()
	c.manage()
	if c.spec.Type == TypeRegional {
		// The other type passes packets on unread: there these have no effect.
		c.overlap(HTTPPorts, &c.spec.HTTPPorts, TLSPorts, c.spec.TLSPorts)
		c.overlap(HTTP2Ports, &c.spec.HTTP2Ports, HTTPPorts, c.spec.HTTPPorts)
		c.overlap(HTTP2Ports, &c.spec.HTTP2Ports, TLSPorts, c.spec.TLSPorts)
		c.passthrough()
		c.http3Port()
		c.tls()
		c.backendProtocol()
		c.http3Alone()
		c.stickySessions()
	}
	if c.spec.HealthCheck.Override {
		c.healthCheck()
	}
}

// refuse reports an annotation with its value as it was written.
func (c *checker) refuse(key, allowed string) {
	c.parser.refuse(key, c.svc.Annotations[key], allowed)
}

func (c *checker) size() {
	_, unit := c.values[SizeUnit]
	if _, slug := c.values[SizeSlug]; !slug || !unit {
		return
	}
	c.refuse(SizeSlug, "must be absent beside "+SizeUnit)
	c.spec.SizeSlug, c.spec.SizeUnit = "", c.int(SizeUnit)
}

func (c *checker) stack() {
	if c.spec.NetworkStack == StackDual && c.spec.Network == NetworkInternal {
		c.refuse(NetworkStack, "must be IPV4 or absent with the INTERNAL of "+Network)
		c.spec.NetworkStack = ""
	}
}

// ipMode refuses to have packets sent out that only kube-proxy may take.
func (c *checker) ipMode() {
	if c.spec.IPMode != IPModeProxy || c.spec.Type != TypeRegionalNetwork {
		return
	}
	if c.inherited[IPMode] == "" {
		c.refuse(IPMode, "must be VIP or absent with the type REGIONAL_NETWORK, whose packets Nodes take only where they know its address")
	}
	c.spec.IPMode = ""
}

// manage refuses to look after the backends of a load balancer that isn't named.
func (c *checker) manage() {
	if c.svc.Annotations[Manage] == ManageBackends && !isSet(c.svc, LoadBalancerID) {
		c.refuse(Manage, "must be accompanied by "+LoadBalancerID+", which names the load balancer: with backends none is made")
	}
}

// overlap refuses ports of a list that another has too.
func (c *checker) overlap(key string, ports *[]int, otherKey string, other []int) {
	var rest, shared []int
	for _, port := range *ports {
		if slices.Contains(other, port) {
			shared = append(shared, port)
		} else {
			rest = append(rest, port)
		}
	}
	if len(shared) > 0 {
		c.refuse(key, fmt.Sprintf("must not have %s, as %s has it: a port speaks one protocol", listPorts(shared), otherKey))
		*ports = rest
	}
}

// passthrough refuses both ends of TLS at once.
func (c *checker) passthrough() {
	if !c.spec.TLSPassthrough {
		return
	}
	for _, key := range c.certificateKeys() {
		if isSet(c.svc, key) {
			c.refuse(TLSPassthrough, "must be absent or false with "+key+": TLS ends either at the load balancer or at the backends")
			c.spec.TLSPassthrough = false
			return
		}
	}
}

// http3Port checks the rule that stands beside that of the same TCP port.
func (c *checker) http3Port() {
	if c.spec.HTTP3Port == 0 {
		return
	}
	protocol, _ := c.spec.PortProtocol(c.spec.HTTP3Port)
	secure := protocol == ProtocolHTTPS || protocol == ProtocolHTTP2
	why := c.http3Obstacle(c.spec.HTTP3Port, secure)
	if why != "" {
		c.refuse(HTTP3Port, why)
	}
	if why != "" || !secure || c.spec.CertificateAt(c.spec.HTTP3Port).Value() == "" {
		c.spec.HTTP3Port = 0
	}
}

// http3Obstacle says what must be instead, or "": also where another annotation
// was refused that it takes to tell.
func (c *checker) http3Obstacle(port int, secure bool) string {
	switch {
	case !slices.Contains(tcpPorts(c.svc), port):
		return "must be a TCP port of the Service: " + describePorts(c.svc)
	case c.spec.TLSPassthrough:
		return "must be absent with " + TLSPassthrough
	case c.broken(append(c.certificateKeys(), TLSPassthrough)...):
		return ""
	case c.spec.CertificateAt(port).Value() == "":
		return "must be accompanied by " + CertificateID + " or " + CertificateName + ", as http3 needs a certificate"
	case !secure && !c.broken(TLSPorts, HTTP2Ports):
		return "must be a port of " + TLSPorts + " or " + HTTP2Ports + " too, by way of which clients find http3"
	}
	return ""
}

// broken tells whether an annotation is there, and was refused for its value.
func (c *checker) broken(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		_, valid := c.values[key]
		return isSet(c.svc, key) && !valid
	})
}

// tls refuses ports that speak TLS without what it needs. Only ports that the
// Service has matter.
func (c *checker) tls() {
	refused := map[string]bool{}
	for _, port := range tcpPorts(c.svc) {
		protocol, key := c.spec.PortProtocol(port)
		if !speaksTLS(protocol) || c.spec.CertificateAt(port).Value() != "" || c.spec.TLSPassthrough && protocol != ProtocolHTTP3 || refused[key] {
			continue
		}
		refused[key] = true
		switch {
		case c.broken(append(c.certificateKeys(), TLSPassthrough)...): // told already
		case protocol == ProtocolHTTP3 && c.spec.TLSPassthrough:
			c.refuse(key, "must not be http3 with "+TLSPassthrough+", as http3 needs a certificate at the load balancer")
		case protocol == ProtocolHTTP3:
			c.refuse(key, "must be accompanied by "+CertificateID+" or "+CertificateName+", as http3 needs a certificate")
		default:
			c.refuse(key, "must be accompanied by "+CertificateID+", "+CertificateName+" or "+TLSPassthrough+", as "+protocol+" needs one of them")
		}
	}
	if refused[Protocol] {
		c.spec.Protocol = ProtocolTCP
	}
	if refused[UseAppProtocol] {
		c.spec.AppProtocols = nil
	}
	if refused[TLSPorts] {
		c.spec.TLSPorts = nil
	}
	if refused[HTTP2Ports] {
		c.spec.HTTP2Ports = nil
	}
}

// certificateKeys are those of the Service's annotations that name certificates.
func (c *checker) certificateKeys() []string {
	keys := slices.Clone(certificateBases)
	for _, base := range certificateBases {
		keys = append(keys, portKeys(c.svc.Annotations, base)...)
	}
	return keys
}

// backendProtocol refuses TLS of the load balancer's where the client's is handed
// on.
func (c *checker) backendProtocol() {
	if !c.spec.TLSPassthrough {
		return
	}
	for _, key := range append([]string{BackendProtocol}, portKeys(c.svc.Annotations, BackendProtocol)...) {
		// A default for many Services has no effect where it can't have one.
		if value := c.values[key]; value != "" && value != ProtocolHTTP && c.inherited[key] == "" {
			c.refuse(key, "must be absent with "+TLSPassthrough+", which hands the client's TLS to the backends")
		}
	}
	c.spec.BackendProtocol, c.spec.PortBackendProtocols = ProtocolHTTP, nil
}

// http3Alone refuses HTTP/3 at every port: no client would find it.
func (c *checker) http3Alone() {
	protocols := protocolsOf(c.svc, *c.spec)
	if slices.Contains(protocols, ProtocolHTTP3) && !slices.Contains(protocols, ProtocolHTTPS) && !slices.Contains(protocols, ProtocolHTTP2) {
		c.refuse(Protocol, "must leave a port to https or http2, by way of which clients find http3: name it in "+TLSPorts+" or "+HTTP2Ports)
		c.spec.Protocol = ProtocolTCP
	}
}

func (c *checker) stickySessions() {
	if c.spec.StickySessions.Type != StickyCookies {
		return
	}
	var missing []string
	for _, key := range []string{StickySessionsCookieName, StickySessionsCookieTTL} {
		if !isSet(c.svc, key) {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		c.refuse(StickySessionsType, "must be none or absent without "+strings.Join(missing, " and "))
	}
	if c.spec.StickySessions.CookieName == "" || c.spec.StickySessions.CookieTTLSeconds == 0 {
		c.spec.StickySessions.Type = StickyNone
	}
}

func (c *checker) healthCheck() {
	h := &c.spec.HealthCheck
	if h.Path != "" && h.Protocol == ProtocolTCP {
		c.refuse(HealthCheckPath, "must be absent with the tcp of "+HealthCheckProtocol+", which asks for no path")
		h.Path = ""
	}
	if h.Port != 0 && !slices.Contains(tcpPorts(c.svc), h.Port) {
		c.refuse(HealthCheckPort, "must be a TCP port of the Service: "+describePorts(c.svc))
		h.Port = 0
	}
}

// listPorts lists ports for people.
func listPorts(ports []int) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ports)), ", "), "[]")
}

// describePorts says for people what ports the Service has.
func describePorts(svc *v1.Service) string {
	texts := make([]string, len(svc.Spec.Ports))
	for i, port := range svc.Spec.Ports {
		texts[i] = fmt.Sprintf("%d/%s", port.Port, cmp.Or(port.Protocol, v1.ProtocolTCP))
	}
	return "it has " + cmp.Or(strings.Join(texts, ", "), "none")
}
