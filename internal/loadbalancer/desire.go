package loadbalancer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

const (
	// kubeProxyHealthPort is where kube-proxy answers for its node.
	kubeProxyHealthPort = 10256
	kubeProxyHealthPath = "/healthz"
	// maxForwardingRules is how many rules DigitalOcean takes.
	maxForwardingRules = 40
)

// reservedPorts are entry ports that DigitalOcean keeps for itself.
var reservedPorts = []int{50053, 50054, 50055}

// defaultHealthCheck is what annotations can override.
var defaultHealthCheck = HealthCheck{
	Protocol:               ProtocolHTTP,
	CheckIntervalSeconds:   3,
	ResponseTimeoutSeconds: 5,
	HealthyThreshold:       5,
	UnhealthyThreshold:     3,
}

// Desire computes the load balancer that a Service asks for, and everything in
// the Service that DigitalOcean can't do.
func Desire(svc *v1.Service, spec annotation.Spec, backends Backends, cluster Cluster) (Desired, []annotation.Problem) {
	rules, problems := forwardingRules(svc, spec)
	return Desired{
		Settings: Settings{
			Name:            nameOf(svc, spec),
			Type:            spec.Type,
			Network:         spec.Network,
			NetworkStack:    networkStack(spec, backends),
			Region:          cluster.Region,
			VPC:             cluster.VPC,
			SizeUnit:        spec.SizeUnit,
			ForwardingRules: rules,
			HealthCheck:     healthCheck(svc),
			DropletIDs:      backends.DropletIDs,
		},
		Tags: append(ClusterTags(cluster), ServiceTag(svc)),
	}, problems
}

// maxDefaultName is what some clouds bound names to; the framework's default
// names, which the public manager uses as well, are cut to it.
const maxDefaultName = 32

// DefaultName is the name of a Service's load balancer that has no custom one.
// It carries the Service's UID, so no other Service's load balancer has it.
func DefaultName(svc *v1.Service) string {
	name := "a" + strings.ReplaceAll(string(svc.UID), "-", "")
	return name[:min(len(name), maxDefaultName)]
}

func nameOf(svc *v1.Service, spec annotation.Spec) string {
	if spec.Name != "" {
		return spec.Name
	}
	return DefaultName(svc)
}

// ServiceTag marks the load balancer of one Service from its creation on, so
// that it is found again when the manager dies before it has noted the id.
func ServiceTag(svc *v1.Service) string { return "k8s-svc:" + string(svc.UID) }

// ClusterTags mark everything that belongs to the cluster.
func ClusterTags(cluster Cluster) []string {
	if cluster.ID == "" {
		return nil
	}
	return []string{"k8s:" + cluster.ID}
}

func networkStack(spec annotation.Spec, backends Backends) string {
	switch {
	case spec.Network == annotation.NetworkInternal:
		return StackIPv4
	case spec.Type == annotation.TypeRegional, backends.DualStack:
		return StackDual
	default:
		return StackIPv4
	}
}

func forwardingRules(svc *v1.Service, spec annotation.Spec) ([]ForwardingRule, []annotation.Problem) {
	var rules []ForwardingRule
	var problems []annotation.Problem
	refuse := func(i int, field, value, allowed string) {
		problems = append(problems, annotation.Problem{
			Field: fmt.Sprintf("spec.ports[%d].%s", i, field), Value: value, Allowed: allowed,
		})
	}
	for i, port := range svc.Spec.Ports {
		protocol, ok := transports[port.Protocol]
		if !ok {
			refuse(i, "protocol", string(port.Protocol), "must be TCP or UDP, which is what DigitalOcean's load balancers forward")
			continue
		}
		if slices.Contains(reservedPorts, int(port.Port)) {
			refuse(i, "port", fmt.Sprint(port.Port), "must not be 50053, 50054 or 50055, which DigitalOcean keeps for itself")
		}
		// A network load balancer doesn't rewrite packets: they reach the node
		// with the Service's own port.
		target := int(port.Port)
		if spec.Type == annotation.TypeRegional {
			target = int(port.NodePort)
		}
		if target == 0 {
			refuse(i, "nodePort", "0", "must be allocated, as a REGIONAL load balancer sends to node ports: set spec.allocateLoadBalancerNodePorts to true, or use the type REGIONAL_NETWORK")
		}
		rules = append(rules, ForwardingRule{
			EntryProtocol: protocol, EntryPort: int(port.Port),
			TargetProtocol: protocol, TargetPort: target,
		})
	}
	if n := len(rules); n > maxForwardingRules {
		problems = append(problems, annotation.Problem{
			Field: "spec.ports", Value: fmt.Sprintf("%d ports", n), Allowed: fmt.Sprintf("must be at most %d", maxForwardingRules),
		})
	}
	slices.SortFunc(rules, compareRules)
	return rules, problems
}

var transports = map[v1.Protocol]string{
	"":             ProtocolTCP, // the API server's default
	v1.ProtocolTCP: ProtocolTCP,
	v1.ProtocolUDP: ProtocolUDP,
}

func compareRules(a, b ForwardingRule) int {
	return cmp.Or(
		cmp.Compare(a.EntryPort, b.EntryPort),
		strings.Compare(a.EntryProtocol, b.EntryProtocol),
		cmp.Compare(a.TargetPort, b.TargetPort),
		strings.Compare(a.TargetProtocol, b.TargetProtocol),
		strings.Compare(a.CertificateID, b.CertificateID),
	)
}

// healthCheck asks kube-proxy: for the traffic policy Local at the Service's
// own health port, which answers only where the Service has an endpoint; else
// at kube-proxy's port for the whole node, which also fails while a node is
// drained.
func healthCheck(svc *v1.Service) HealthCheck {
	h := defaultHealthCheck
	h.Port, h.Path = kubeProxyHealthPort, kubeProxyHealthPath
	if svc.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal {
		h.Port = int(svc.Spec.HealthCheckNodePort)
	}
	// kube-proxy doesn't speak the PROXY protocol, whatever the load balancer
	// speaks to the backends themselves.
	h.ProxyProtocol = new(bool)
	return h
}
