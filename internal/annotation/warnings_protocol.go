package annotation

import (
	"fmt"
	"slices"
	"strconv"
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

func (w *warner) certificate(d Definition) string {
	if d.port == "" && w.spec.Certificate().Value() == "" {
		return ""
	}
	hasOwn := func(port int) bool { _, ok := w.spec.PortCertificates[port]; return ok }
	if text := w.withoutTLS(d, hasOwn); text != "" {
		return text + ": name ports in " + TLSPorts + " or " + HTTP2Ports
	}
	return ""
}

// withoutTLS tells where the load balancer ends no TLS of which the annotation
// could speak: at its port, or at any port without an annotation of its own.
func (w *warner) withoutTLS(d Definition, hasOwn func(port int) bool) string {
	if d.port != "" {
		if number, _ := tcpPortOf(w.svc, d.port); w.endsTLSAt(number) {
			return ""
		}
		return "has no effect, as the load balancer ends no TLS there (" + w.describeProtocols() + ")"
	}
	if !w.endsTLS() {
		return "has no effect, as the load balancer ends TLS at no port (" + w.describeProtocols() + ")"
	}
	if !slices.ContainsFunc(tcpPorts(w.svc), func(port int) bool { return w.endsTLSAt(port) && !hasOwn(port) }) {
		return "has no effect, as each port where the load balancer ends TLS has its own (" + w.describeProtocols() + ")"
	}
	return ""
}

func (w *warner) backendProtocol(d Definition) string {
	if d.isDefault(w.svc.Annotations[d.Key]) && d.port == "" {
		return ""
	}
	return w.withoutTLS(d, func(port int) bool { return w.spec.PortBackendProtocols[port] != "" })
}

// appProtocol tells of ports that say nothing that is known here.
func (w *warner) appProtocol(Definition) string {
	if b, err := strconv.ParseBool(w.svc.Annotations[UseAppProtocol]); err != nil || !b {
		return ""
	}
	var unknown []string
	for _, port := range w.svc.Spec.Ports {
		if port.AppProtocol == nil {
			continue
		}
		if _, known := knownAppProtocols[strings.ToLower(*port.AppProtocol)]; !known {
			unknown = append(unknown, fmt.Sprintf("%q of port %d", shorten(*port.AppProtocol), port.Port))
		}
	}
	switch {
	case len(unknown) > 0:
		return "passes over the appProtocol " + strings.Join(unknown, ", ") + ", as it is none of " + strings.Join(listAppProtocols(), ", ")
	case len(w.spec.AppProtocols) == 0 && len(appProtocols(w.svc)) == 0:
		return "has no effect, as no TCP port of the Service has an appProtocol"
	}
	return ""
}

func (w *warner) ciphers(Definition) string {
	if w.endsTLS() {
		return ""
	}
	return "has no effect, as the load balancer ends TLS at no port: " + w.describeProtocols()
}

func (w *warner) certificateName(d Definition) string {
	winner := w.spec.Certificate()
	if d.port != "" {
		number, _ := tcpPortOf(w.svc, d.port)
		winner = w.spec.PortCertificates[number]
	}
	if winner.ID != "" {
		return "has no effect beside " + winner.Key + ", which wins"
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

// endsTLSAt tells whether the load balancer decrypts what arrives at a TCP port.
func (w *warner) endsTLSAt(port int) bool {
	protocol, _ := w.spec.PortProtocol(port)
	return !w.spec.TLSPassthrough && speaksTLS(protocol)
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
