package loadbalancer

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// Status is what the Service's status says of a load balancer with the settings
// and the addresses. ok is false when it has no address yet; the status is then
// that of the Service as it is, never a blank one.
//
// With a host name a REGIONAL load balancer shows the name alone, so that Nodes
// don't take its address for theirs. To a REGIONAL_NETWORK one packets arrive
// with its own address, and Nodes take them only when the status has it: there
// the name stands beside it.
//
// The mode is always set: the API server would set it otherwise, and the
// framework would then write the status anew at each sync.
//
// mode is VIP or Proxy, or empty for the one that fits the settings.
func Status(svc *v1.Service, s Settings, hostname, mode string, addresses []string) (status *v1.LoadBalancerStatus, ok bool) {
	status = &v1.LoadBalancerStatus{}
	for _, address := range addresses {
		if address != "" {
			status.Ingress = append(status.Ingress, v1.LoadBalancerIngress{IP: address, IPMode: new(cmp.Or(v1.LoadBalancerIPMode(mode), ipMode(s))), Hostname: hostname})
		}
	}
	if len(status.Ingress) == 0 {
		return svc.Status.LoadBalancer.DeepCopy(), false
	}
	if hostname != "" && s.Type != annotation.TypeRegionalNetwork {
		status.Ingress = []v1.LoadBalancerIngress{{Hostname: hostname}}
	}
	return status, true
}

// ipMode is VIP where Nodes may take packets for the load balancer's address
// themselves, as it passes them on unchanged. One that ends TLS, reads HTTP or
// adds the PROXY header must not be passed by: backends expect what it makes of
// the traffic. TLS that is passed through is TCP to them.
func ipMode(s Settings) v1.LoadBalancerIPMode {
	if s.Type == annotation.TypeRegionalNetwork {
		return v1.LoadBalancerIPModeVIP
	}
	if s.EnableProxyProtocol || slices.ContainsFunc(s.ForwardingRules, ForwardingRule.terminates) {
		return v1.LoadBalancerIPModeProxy
	}
	return v1.LoadBalancerIPModeVIP
}

// terminates tells whether the load balancer reads what it forwards.
func (r ForwardingRule) terminates() bool {
	return r.EntryProtocol != annotation.ProtocolTCP && r.EntryProtocol != annotation.ProtocolUDP && !r.TLSPassthrough
}
