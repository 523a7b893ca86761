package loadbalancer

import (
	"cmp"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

const (
	// kubeProxyHealthPort is where kube-proxy answers for its node.
	kubeProxyHealthPort = 10256
	kubeProxyHealthPath = "/healthz"
	// rootPath is what DigitalOcean asks for when it is told no path.
	rootPath = "/"
)

// healthCheck asks kube-proxy, unless the user overrides that: for the traffic
// policy Local at the Service's own health port, which answers only where the
// Service has an endpoint; else at kube-proxy's port for the whole node, which
// also fails while a node is drained. A cluster without kube-proxy has another
// default in place of the latter.
func healthCheck(svc *v1.Service, spec annotation.Spec, defaults Defaults, cluster DefaultHealthCheck) (HealthCheck, []annotation.Problem) {
	h := defaults.HealthCheck
	h.CheckIntervalSeconds = cmp.Or(spec.HealthCheck.CheckIntervalSeconds, h.CheckIntervalSeconds)
	h.ResponseTimeoutSeconds = cmp.Or(spec.HealthCheck.ResponseTimeoutSeconds, h.ResponseTimeoutSeconds)
	h.HealthyThreshold = cmp.Or(spec.HealthCheck.HealthyThreshold, h.HealthyThreshold)
	h.UnhealthyThreshold = cmp.Or(spec.HealthCheck.UnhealthyThreshold, h.UnhealthyThreshold)
	if spec.HealthCheck.Override {
		return overriddenHealthCheck(h, svc, spec)
	}
	h.Protocol, h.Port, h.Path = annotation.ProtocolHTTP, kubeProxyHealthPort, kubeProxyHealthPath
	// kube-proxy doesn't speak the PROXY protocol, whatever the load balancer
	// speaks to the backends themselves.
	h.ProxyProtocol = new(false)
	if svc.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal {
		h.Port = int(svc.Spec.HealthCheckNodePort)
		if h.Port == 0 {
			return h, []annotation.Problem{{Field: "spec.healthCheckNodePort", Value: "0", Allowed: "must be allocated, as the traffic policy Local is checked there"}}
		}
		return h, nil
	}
	return cluster.apply(h, svc), nil
}

// overriddenHealthCheck probes the Service's own backends. Whether probes speak
// the PROXY protocol then follows the load balancer, as the backends do.
func overriddenHealthCheck(h HealthCheck, svc *v1.Service, spec annotation.Spec) (HealthCheck, []annotation.Problem) {
	h.Path, h.Protocol = spec.HealthCheck.Path, spec.HealthCheck.Protocol
	if h.Protocol == "" {
		h.Protocol = annotation.ProtocolTCP
		if h.Path != "" {
			h.Protocol = annotation.ProtocolHTTP
		}
	}
	if h.Protocol != annotation.ProtocolTCP && h.Path == "" {
		h.Path = rootPath
	}
	port := tcpPort(svc, spec.HealthCheck.Port)
	switch {
	case port == nil:
		return h, []annotation.Problem{{Field: annotation.OverrideHealthCheck, Value: svc.Annotations[annotation.OverrideHealthCheck], Allowed: "must be absent, as the Service has no TCP port to check"}}
	case port.NodePort == 0 && spec.Type != annotation.TypeRegional: // else the forwarding rule has the same problem
		return h, []annotation.Problem{{Field: annotation.OverrideHealthCheck, Value: svc.Annotations[annotation.OverrideHealthCheck], Allowed: "must be absent while the Service's node ports, at which backends are checked, are not allocated"}}
	}
	h.Port = int(port.NodePort)
	return h, nil
}

// tcpPort is the Service's TCP port of the number, or its first for 0.
func tcpPort(svc *v1.Service, number int) *v1.ServicePort {
	for i := range svc.Spec.Ports {
		port := &svc.Spec.Ports[i]
		if transports[port.Protocol] == annotation.ProtocolTCP && (number == 0 || number == int(port.Port)) {
			return port
		}
	}
	return nil
}
