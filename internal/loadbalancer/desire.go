package loadbalancer

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// Inputs are what a load balancer depends on beside its Service.
type Inputs struct {
	Backends Backends
	Cluster  Cluster
	// CertificateID is that of TLS rules, as the caller resolved it; empty:
	// none.
	CertificateID string
	// PortCertificateIDs are those of the ports that have their own, by number.
	PortCertificateIDs map[int]string
}

// Assuming returns the inputs with every certificate that the specification names
// and that isn't resolved taken for one that exists, of which what names it is
// the id: for those who can't look it up.
func (in Inputs) Assuming(spec annotation.Spec) Inputs {
	in.CertificateID = cmp.Or(in.CertificateID, spec.Certificate().Value())
	ports := map[int]string{}
	for port, named := range spec.PortCertificates {
		ports[port] = cmp.Or(in.PortCertificateIDs[port], named.Value())
	}
	in.PortCertificateIDs = ports
	return in
}

// Desire computes the load balancer that a Service asks for, and everything in
// the Service that DigitalOcean can't do. With a problem the result is not to be
// used: it lacks what the problem is about.
func Desire(svc *v1.Service, spec annotation.Spec, in Inputs) (Desired, []annotation.Problem) {
	defaults := defaultsOf(svc)
	s := Settings{
		Name:                         cmp.Or(spec.Name, in.Cluster.Names.Name(svc), DefaultName(svc)),
		Type:                         spec.Type,
		Network:                      cmp.Or(spec.Network, annotation.NetworkExternal),
		Region:                       in.Cluster.Region,
		VPC:                          in.Cluster.VPC,
		SubnetUUID:                   spec.SubnetUUID,
		IP:                           spec.IP,
		SizeUnit:                     max(spec.SizeUnit, 1),
		SizeSlug:                     spec.SizeSlug,
		StickySessions:               StickySessions{Type: annotation.StickyNone},
		DisableLetsEncryptDNSRecords: spec.DisableLetsEncryptDNSRecords,
		HTTPIdleTimeoutSeconds:       cmp.Or(spec.HTTPIdleTimeoutSeconds, defaults.HTTPIdleTimeoutSeconds),
		AllowRules:                   spec.AllowRules,
		DenyRules:                    spec.DenyRules,
		DropletIDs:                   in.Backends.DropletIDs,
	}
	if spec.Type == annotation.TypeRegional {
		// A network load balancer passes packets on unread, and has none of these.
		s.StickySessions = stickySessions(spec.StickySessions)
		s.RedirectHTTPToHTTPS = spec.RedirectHTTPToHTTPS
		s.EnableProxyProtocol = spec.EnableProxyProtocol
		s.TLSCipherPolicy = spec.TLSCipherPolicy
		s.EnableBackendKeepalive = spec.EnableBackendKeepalive
	}
	if spec.AllowClusterNodes && len(spec.AllowRules) > 0 {
		s.AllowRules = slices.Concat(spec.AllowRules, in.Backends.Sources)
	}
	var problems, more []annotation.Problem
	s.ForwardingRules, problems = forwardingRules(svc, spec, in)
	s.HealthCheck, more = healthCheck(svc, spec, defaults, in.Cluster.HealthCheck)
	problems = append(problems, more...)
	s.NetworkStack, more = networkStack(spec, in.Backends)
	s.StackAutomatic = spec.NetworkStack == ""
	problems = append(problems, more...)
	problems = append(problems, checkSettings(s)...)
	return Desired{Settings: s.Normalized(), ProjectID: spec.ProjectID, Tags: append(ClusterTags(in.Cluster), ServiceTag(svc))}, spec.Attribute(problems)
}

// checkSettings finds settings that don't go together.
func checkSettings(s Settings) []annotation.Problem {
	var problems []annotation.Problem
	if s.IP != "" && s.Network == annotation.NetworkInternal {
		problems = append(problems, annotation.Problem{Field: annotation.IP, Value: s.IP, Allowed: "must be absent with the network INTERNAL, which has an address of the VPC"})
	}
	if s.SubnetUUID != "" && s.VPC == "" {
		problems = append(problems, annotation.Problem{Field: annotation.SubnetUUID, Value: s.SubnetUUID, Allowed: "must be absent unless the manager knows its VPC: set DO_CLUSTER_VPC_ID"})
	}
	return problems
}

// stickySessions drops what has no effect.
func stickySessions(s annotation.StickySessions) StickySessions {
	if s.Type != annotation.StickyCookies {
		return StickySessions{Type: annotation.StickyNone}
	}
	return StickySessions{Type: s.Type, CookieName: s.CookieName, CookieTTLSeconds: s.CookieTTLSeconds}
}

// Normalized returns the settings with every set sorted and without duplicates.
func (s Settings) Normalized() Settings {
	s.ForwardingRules = slices.Compact(slices.SortedFunc(slices.Values(s.ForwardingRules), compareRules))
	s.AllowRules, s.DenyRules = set(s.AllowRules), set(s.DenyRules)
	s.DropletIDs = set(s.DropletIDs)
	return s
}

// set returns the values sorted and without duplicates; nil for none. It may be
// the same slice.
func set[T cmp.Ordered](values []T) []T {
	if len(values) == 0 {
		return nil
	}
	if !slices.IsSorted(values) {
		values = slices.Clone(values)
		slices.Sort(values)
	}
	for i := range values[1:] {
		if values[i] == values[i+1] {
			return slices.Compact(slices.Clone(values))
		}
	}
	return values
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

// ServiceTag marks the load balancer of one Service from its creation on, so
// that it is found again when the manager dies before it has noted the id.
func ServiceTag(svc *v1.Service) string { return serviceTagPrefix + string(svc.UID) }

const serviceTagPrefix = "k8s-svc:"

// IsServiceTag tells whether the tag is the mark of some Service.
func IsServiceTag(tag string) bool { return strings.HasPrefix(tag, serviceTagPrefix) }

// ClusterTagPrefix begins the tag of everything that belongs to a cluster; its
// id follows.
const ClusterTagPrefix = "k8s:"

// ClusterTags mark everything that belongs to the cluster.
func ClusterTags(cluster Cluster) []string {
	if cluster.ID == "" {
		return nil
	}
	return []string{ClusterTagPrefix + cluster.ID}
}
