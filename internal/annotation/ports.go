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
// which a certificate or passthrough makes https, and for the default). A
// certificate of the port's own makes it https where only the default speaks.
func (s Spec) PortProtocol(port int) (protocol, key string) {
	own, hasOwn := s.PortCertificates[port]
	wantsTLS := s.TLSPassthrough || s.CertificateAt(port).Value() != ""
	isHTTP := slices.Contains(s.HTTPPorts, port)
	switch {
	case slices.Contains(s.HTTP2Ports, port):
		return ProtocolHTTP2, HTTP2Ports
	case slices.Contains(s.TLSPorts, port):
		return ProtocolHTTPS, TLSPorts
	case s.AppProtocols[port] != "" && !isHTTP:
		return s.AppProtocols[port], UseAppProtocol
	case port == portHTTPS && len(s.TLSPorts) == 0 && wantsTLS:
		return ProtocolHTTPS, TLSPorts
	case isHTTP:
		return ProtocolHTTP, HTTPPorts
	case hasOwn && !speaksTLS(s.Protocol):
		return ProtocolHTTPS, own.Key
	default:
		return cmp.Or(s.Protocol, ProtocolTCP), Protocol
	}
}

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
