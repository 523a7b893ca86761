package reconciler

import (
	"cmp"
	"strings"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// settingsOf reads the parts that the manager decides from the API's object,
// in normal form. It survives any field that the API leaves out, which stands
// for the field's default.
func settingsOf(lb *godo.LoadBalancer) loadbalancer.Settings {
	s := loadbalancer.Settings{
		Name:                   lb.Name,
		Type:                   typeOf(lb),
		Network:                cmp.Or(strings.ToUpper(lb.Network), annotation.NetworkExternal),
		NetworkStack:           cmp.Or(strings.ToUpper(lb.NetworkStack), annotation.StackIPv4),
		VPC:                    lb.VPCUUID,
		SubnetUUID:             lb.VPCSubnetUUID,
		IP:                     lb.IP,
		SizeUnit:               cmp.Or(int(lb.SizeUnit), annotation.UnitsOf(lb.SizeSlug), 1),
		StickySessions:         loadbalancer.StickySessions{Type: annotation.StickyNone},
		RedirectHTTPToHTTPS:    lb.RedirectHttpToHttps,
		EnableProxyProtocol:    lb.EnableProxyProtocol,
		EnableBackendKeepalive: lb.EnableBackendKeepalive,
		HTTPIdleTimeoutSeconds: loadbalancer.DefaultHTTPIdleTimeoutSeconds,
		TLSCipherPolicy:        cmp.Or(strings.ToUpper(lb.TLSCipherPolicy), annotation.CiphersDefault),
		DropletIDs:             lb.DropletIDs,
		Tag:                    lb.Tag,
	}
	if lb.SizeUnit == 0 {
		s.SizeSlug = lb.SizeSlug
	}
	if lb.Region != nil {
		s.Region = lb.Region.Slug
	}
	if lb.DisableLetsEncryptDNSRecords != nil {
		s.DisableLetsEncryptDNSRecords = *lb.DisableLetsEncryptDNSRecords
	}
	if seconds := lb.HTTPIdleTimeoutSeconds; seconds != nil && *seconds > 0 {
		s.HTTPIdleTimeoutSeconds = int(*seconds)
	}
	if lb.Firewall != nil {
		s.AllowRules, s.DenyRules = normalizeSources(lb.Firewall.Allow), normalizeSources(lb.Firewall.Deny)
	}
	readParts(&s, lb)
	return s.Normalized()
}

// typeOf is the load balancer's type.
func typeOf(lb *godo.LoadBalancer) string {
	return cmp.Or(strings.ToUpper(lb.Type), annotation.TypeRegional)
}

// readParts reads the members that are objects themselves.
func readParts(s *loadbalancer.Settings, lb *godo.LoadBalancer) {
	if h := lb.HealthCheck; h != nil {
		s.HealthCheck = loadbalancer.HealthCheck{
			Protocol: strings.ToLower(h.Protocol), Port: h.Port, Path: h.Path,
			CheckIntervalSeconds: h.CheckIntervalSeconds, ResponseTimeoutSeconds: h.ResponseTimeoutSeconds,
			HealthyThreshold: h.HealthyThreshold, UnhealthyThreshold: h.UnhealthyThreshold,
			ProxyProtocol: h.ProxyProtocol,
		}
	}
	if sticky := lb.StickySessions; sticky != nil && sticky.Type != "" && sticky.Type != annotation.StickyNone {
		s.StickySessions = loadbalancer.StickySessions{Type: sticky.Type, CookieName: sticky.CookieName, CookieTTLSeconds: sticky.CookieTtlSeconds}
	}
	for _, r := range lb.ForwardingRules {
		s.ForwardingRules = append(s.ForwardingRules, loadbalancer.ForwardingRule{
			EntryProtocol: strings.ToLower(r.EntryProtocol), EntryPort: r.EntryPort,
			TargetProtocol: strings.ToLower(r.TargetProtocol), TargetPort: r.TargetPort,
			CertificateID: r.CertificateID, TLSPassthrough: r.TlsPassthrough,
		})
	}
}

// normalizeSources writes sources as annotations do, so that the same one is no
// difference however the API spells it. What can't be read stays as it is.
func normalizeSources(sources []string) []string {
	normal := make([]string, len(sources))
	for i, source := range sources {
		normal[i] = source
		if n, err := annotation.NormalizeSource(source); err == nil {
			normal[i] = n
		}
	}
	return normal
}

// createRequest asks for a new load balancer.
func createRequest(d loadbalancer.Desired) *godo.LoadBalancerRequest {
	r := &godo.LoadBalancerRequest{
		Type: d.Type, Network: d.Network, NetworkStack: d.NetworkStack,
		Region: d.Region, VPCUUID: d.VPC, VPCSubnetUUID: d.SubnetUUID, IP: d.IP, Tags: d.Tags, ProjectID: d.ProjectID,
	}
	fill(r, d.Settings)
	return r
}

// updateRequest replaces what the manager decides and carries over everything
// else from what was read: a PUT resets what it doesn't hold.
func updateRequest(actual *godo.LoadBalancer, d loadbalancer.Desired) *godo.LoadBalancerRequest {
	r := actual.AsRequest()
	fill(r, d.Settings)
	return r
}

// fill sets everything that can be changed on a load balancer that exists. It
// replaces members rather than what they point to, which the request may share
// with the load balancer that was read.
func fill(r *godo.LoadBalancerRequest, s loadbalancer.Settings) {
	r.Name = s.Name
	// The API takes only one of slug and unit, and of tag and droplets.
	r.SizeSlug, r.SizeUnit = s.SizeSlug, 0
	if s.SizeSlug == "" {
		r.SizeUnit = uint32(s.SizeUnit)
	}
	r.Tag, r.DropletIDs = s.Tag, nil
	if s.Tag == "" {
		r.DropletIDs = s.DropletIDs
	}
	r.ForwardingRules = nil
	for _, rule := range s.ForwardingRules {
		r.ForwardingRules = append(r.ForwardingRules, godo.ForwardingRule{
			EntryProtocol: rule.EntryProtocol, EntryPort: rule.EntryPort,
			TargetProtocol: rule.TargetProtocol, TargetPort: rule.TargetPort,
			CertificateID: rule.CertificateID, TlsPassthrough: rule.TLSPassthrough,
		})
	}
	r.HealthCheck = &godo.HealthCheck{
		Protocol: s.HealthCheck.Protocol, Port: s.HealthCheck.Port, Path: s.HealthCheck.Path,
		CheckIntervalSeconds: s.HealthCheck.CheckIntervalSeconds, ResponseTimeoutSeconds: s.HealthCheck.ResponseTimeoutSeconds,
		HealthyThreshold: s.HealthCheck.HealthyThreshold, UnhealthyThreshold: s.HealthCheck.UnhealthyThreshold,
		ProxyProtocol: s.HealthCheck.ProxyProtocol,
	}
	r.StickySessions = &godo.StickySessions{
		Type: s.StickySessions.Type, CookieName: s.StickySessions.CookieName, CookieTtlSeconds: s.StickySessions.CookieTTLSeconds,
	}
	r.RedirectHttpToHttps = s.RedirectHTTPToHTTPS
	r.EnableProxyProtocol = s.EnableProxyProtocol
	r.EnableBackendKeepalive = s.EnableBackendKeepalive
	r.DisableLetsEncryptDNSRecords = new(s.DisableLetsEncryptDNSRecords)
	r.HTTPIdleTimeoutSeconds = new(uint64(s.HTTPIdleTimeoutSeconds))
	if s.TLSCipherPolicy != "" {
		r.TLSCipherPolicy = s.TLSCipherPolicy
	}
	r.Firewall = nil
	if len(s.AllowRules)+len(s.DenyRules) > 0 {
		r.Firewall = &godo.LBFirewall{Allow: s.AllowRules, Deny: s.DenyRules}
	}
}
