package reconciler

import (
	"slices"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// settingsOf reads the parts that the manager decides from the API's object,
// in normal form. It survives any field that the API leaves out.
func settingsOf(lb *godo.LoadBalancer) loadbalancer.Settings {
	s := loadbalancer.Settings{
		Name:         lb.Name,
		Type:         orDefault(lb.Type, annotation.TypeRegional),
		Network:      orDefault(lb.Network, annotation.NetworkExternal),
		NetworkStack: orDefault(lb.NetworkStack, loadbalancer.StackIPv4),
		VPC:          lb.VPCUUID,
		SizeUnit:     max(int(lb.SizeUnit), 1),
		DropletIDs:   slices.Compact(slices.Sorted(slices.Values(lb.DropletIDs))),
	}
	if lb.Region != nil {
		s.Region = lb.Region.Slug
	}
	if h := lb.HealthCheck; h != nil {
		s.HealthCheck = loadbalancer.HealthCheck{
			Protocol: h.Protocol, Port: h.Port, Path: h.Path,
			CheckIntervalSeconds: h.CheckIntervalSeconds, ResponseTimeoutSeconds: h.ResponseTimeoutSeconds,
			HealthyThreshold: h.HealthyThreshold, UnhealthyThreshold: h.UnhealthyThreshold,
			ProxyProtocol: h.ProxyProtocol,
		}
	}
	for _, r := range lb.ForwardingRules {
		s.ForwardingRules = append(s.ForwardingRules, loadbalancer.ForwardingRule{
			EntryProtocol: r.EntryProtocol, EntryPort: r.EntryPort,
			TargetProtocol: r.TargetProtocol, TargetPort: r.TargetPort,
			CertificateID: r.CertificateID, TLSPassthrough: r.TlsPassthrough,
		})
	}
	return s
}

// createRequest asks for a new load balancer.
func createRequest(d loadbalancer.Desired) *godo.LoadBalancerRequest {
	r := &godo.LoadBalancerRequest{
		Type: d.Type, Network: d.Network, NetworkStack: d.NetworkStack,
		Region: d.Region, VPCUUID: d.VPC, Tags: d.Tags,
	}
	apply(r, d.Settings)
	return r
}

// updateRequest replaces what the manager decides and carries over everything
// else from what was read: a PUT resets what it doesn't hold.
func updateRequest(actual *godo.LoadBalancer, d loadbalancer.Desired) *godo.LoadBalancerRequest {
	r := actual.AsRequest()
	// The API takes only one of slug and unit, and of tag and droplets.
	r.SizeSlug, r.Tag = "", ""
	apply(r, d.Settings)
	return r
}

// apply sets what can be changed on a load balancer that exists.
func apply(r *godo.LoadBalancerRequest, s loadbalancer.Settings) {
	r.Name = s.Name
	r.SizeUnit = uint32(s.SizeUnit)
	r.DropletIDs = s.DropletIDs
	r.HealthCheck = &godo.HealthCheck{
		Protocol: s.HealthCheck.Protocol, Port: s.HealthCheck.Port, Path: s.HealthCheck.Path,
		CheckIntervalSeconds: s.HealthCheck.CheckIntervalSeconds, ResponseTimeoutSeconds: s.HealthCheck.ResponseTimeoutSeconds,
		HealthyThreshold: s.HealthCheck.HealthyThreshold, UnhealthyThreshold: s.HealthCheck.UnhealthyThreshold,
		ProxyProtocol: s.HealthCheck.ProxyProtocol,
	}
	r.ForwardingRules = nil
	for _, rule := range s.ForwardingRules {
		r.ForwardingRules = append(r.ForwardingRules, godo.ForwardingRule{
			EntryProtocol: rule.EntryProtocol, EntryPort: rule.EntryPort,
			TargetProtocol: rule.TargetProtocol, TargetPort: rule.TargetPort,
			CertificateID: rule.CertificateID, TlsPassthrough: rule.TLSPassthrough,
		})
	}
}

func orDefault(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}
