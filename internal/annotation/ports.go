package annotation

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// portHTTPS speaks TLS without being asked where there is what TLS needs.
const portHTTPS = 443

// PortProtocol is what a load balancer of the type REGIONAL speaks at a TCP
// port, and the key of the annotation that says so (it may be absent: for 443,
// which a certificate or passthrough makes https, and for the default).
func (s Spec) PortProtocol(port int) (protocol, key string) {
	wantsTLS := s.TLSPassthrough || s.certificate() != ""
	switch {
	case slices.Contains(s.HTTP2Ports, port):
		return ProtocolHTTP2, HTTP2Ports
	case slices.Contains(s.TLSPorts, port):
		return ProtocolHTTPS, TLSPorts
	case port == portHTTPS && len(s.TLSPorts) == 0 && wantsTLS:
		return ProtocolHTTPS, TLSPorts
	case slices.Contains(s.HTTPPorts, port):
		return ProtocolHTTP, HTTPPorts
	default:
		return cmp.Or(s.Protocol, ProtocolTCP), Protocol
	}
}

// certificate is the id or else the name of that of TLS rules; empty: none.
func (s Spec) certificate() string { return cmp.Or(s.CertificateID, s.CertificateName) }

func speaksTLS(protocol string) bool {
	return protocol == ProtocolHTTPS || protocol == ProtocolHTTP2 || protocol == ProtocolHTTP3
}

// tcpPorts are the numbers of the Service's TCP ports, in its order.
func tcpPorts(svc *v1.Service) []int {
	var ports []int
	for _, port := range svc.Spec.Ports {
		if cmp.Or(port.Protocol, v1.ProtocolTCP) == v1.ProtocolTCP {
			ports = append(ports, int(port.Port))
		}
	}
	return ports
}

// protocolsOf is what a REGIONAL load balancer speaks at the Service's TCP
// ports, in their order.
func protocolsOf(svc *v1.Service, spec Spec) []string {
	var protocols []string
	for _, port := range tcpPorts(svc) {
		protocol, _ := spec.PortProtocol(port)
		protocols = append(protocols, protocol)
	}
	return protocols
}
