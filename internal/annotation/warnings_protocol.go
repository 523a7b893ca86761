package annotation

import (
	"fmt"
	"slices"
	"strings"
)

// portHTTP is where clients speak HTTP without TLS.
const portHTTP = 80

// protocol warns of TLS at the port of plain HTTP, as it comes of a protocol for
// every port.
func (w *warner) protocol(Definition) string {
	protocol, key := w.spec.PortProtocol(portHTTP)
	if key != Protocol || !speaksTLS(protocol) || !slices.Contains(tcpPorts(w.svc), portHTTP) {
		return ""
	}
	list := HTTP2Ports
	if protocol == ProtocolHTTPS {
		list = TLSPorts
	}
	return fmt.Sprintf("makes port 80 speak %s, that is TLS, as well; for plain HTTP there set this to http, and name the ports with TLS in %s (443, say)", protocol, list)
}

func (w *warner) httpPorts(Definition) string {
	if text := w.missingPorts(w.spec.HTTPPorts); text != "" {
		return text
	}
	if protocol, key := w.spec.PortProtocol(portHTTPS); slices.Contains(w.spec.HTTPPorts, portHTTPS) && key == TLSPorts {
		return "has 443, which speaks " + protocol + " by default with a certificate or passthrough; another port in " + TLSPorts + " leaves it to http"
	}
	return ""
}

func (w *warner) tlsPorts(Definition) string   { return w.missingPorts(w.spec.TLSPorts) }
func (w *warner) http2Ports(Definition) string { return w.missingPorts(w.spec.HTTP2Ports) }

// missingPorts tells of entries of a list that are no TCP ports of the Service.
func (w *warner) missingPorts(ports []int) string {
	var missing []int
	for _, port := range ports {
		if !slices.Contains(tcpPorts(w.svc), port) {
			missing = append(missing, port)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return fmt.Sprintf("names %s, which is no TCP port of the Service (%s): the load balancer listens at the Service's ports, so add it there",
		listPorts(missing), describePorts(w.svc))
}

func (w *warner) certificate(Definition) string {
	if w.spec.certificate() == "" || w.endsTLS() {
		return ""
	}
	return "has no effect, as the load balancer ends TLS at no port (" + w.describeProtocols() + "): name ports in " + TLSPorts + " or " + HTTP2Ports
}

func (w *warner) ciphers(Definition) string {
	if w.endsTLS() {
		return ""
	}
	return "has no effect, as the load balancer ends TLS at no port: " + w.describeProtocols()
}

func (w *warner) certificateName(d Definition) string {
	if w.spec.CertificateID != "" {
		return "has no effect beside " + CertificateID + ", which wins"
	}
	return w.certificate(d)
}

func (w *warner) passthrough(Definition) string {
	if !w.spec.TLSPassthrough || slices.ContainsFunc(protocolsOf(w.svc, w.spec), speaksTLS) {
		return ""
	}
	return "has no effect, as no port speaks TLS (" + w.describeProtocols() + "): name ports in " + TLSPorts + " or " + HTTP2Ports
}

// endsTLS tells whether the load balancer decrypts what arrives at some port.
func (w *warner) endsTLS() bool {
	return !w.spec.TLSPassthrough && slices.ContainsFunc(protocolsOf(w.svc, w.spec), speaksTLS)
}

// readsHTTP tells whether the load balancer sees HTTP at some port.
func (w *warner) readsHTTP() bool {
	return w.endsTLS() || slices.Contains(protocolsOf(w.svc, w.spec), ProtocolHTTP)
}

// describeProtocols lists the Service's TCP ports with what is spoken there.
func (w *warner) describeProtocols() string {
	ports := tcpPorts(w.svc)
	texts := make([]string, len(ports))
	for i, protocol := range protocolsOf(w.svc, w.spec) {
		texts[i] = fmt.Sprintf("%d is %s", ports[i], protocol)
	}
	if len(texts) == 0 {
		return "the Service has no TCP port"
	}
	return strings.Join(texts, ", ")
}
