package loadbalancer

import (
	"fmt"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// DefaultHealthCheck is a cluster's own default, for clusters where kube-proxy's
// port 10256 does not answer: those without kube-proxy, or which bind it to the
// loopback address. It holds for load balancers that exist as well: that is what
// it is set for.
type DefaultHealthCheck struct {
	// Protocol is tcp, http or https; empty: kube-proxy is asked.
	Protocol string
	// Port is one of the nodes'. Zero, with tcp alone: the node port of the
	// Service's first TCP port.
	Port int
	// Path is for http and https.
	Path string
}

// ParseDefaultHealthCheck reads a cluster's default: "" for kube-proxy, "tcp" for
// the first node port of each Service, "tcp:<port>", or "<http or
// https>:<port>[<path>]" such as "http:9879/healthz".
func ParseDefaultHealthCheck(text string) (DefaultHealthCheck, error) {
	if text == "" || text == annotation.ProtocolTCP {
		return DefaultHealthCheck{Protocol: text}, nil
	}
	protocol, rest, _ := strings.Cut(text, ":")
	number, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		number, path = rest[:i], rest[i:]
	}
	port, err := strconv.Atoi(number)
	isHTTP := protocol == annotation.ProtocolHTTP || protocol == annotation.ProtocolHTTPS
	if err != nil || port < 1 || port > 65535 || !isHTTP && (protocol != annotation.ProtocolTCP || path != "") {
		return DefaultHealthCheck{}, fmt.Errorf("health check %q: must be tcp, tcp:<port>, http:<port>/<path> or https:<port>/<path>, with a port from 1 to 65535", text)
	}
	if isHTTP && path == "" {
		path = rootPath
	}
	return DefaultHealthCheck{Protocol: protocol, Port: port, Path: path}, nil
}

// apply replaces the question to kube-proxy. A Service without a TCP node port
// has nothing that could be asked instead.
func (d DefaultHealthCheck) apply(h HealthCheck, svc *v1.Service) HealthCheck {
	if d.Protocol == "" {
		return h
	}
	if d.Port != 0 {
		h.Protocol, h.Port, h.Path = d.Protocol, d.Port, d.Path
		return h
	}
	if port := tcpPort(svc, 0); port != nil && port.NodePort != 0 {
		// It is a backend that answers, so probes speak as clients do.
		h.Protocol, h.Port, h.Path, h.ProxyProtocol = annotation.ProtocolTCP, int(port.NodePort), "", nil
	}
	return h
}
