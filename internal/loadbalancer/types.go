// Package loadbalancer decides what a Service's load balancer must look like
// and what has to change for that. It is pure: annotations and droplets in,
// desired state and changes out. It calls no API; package reconciler does.
//
//	Service --annotation.Parse--> Spec
//	Spec + Backends + Cluster --Desire--> Desired
//	Desired + Actual --Diff--> []Change
package loadbalancer

import (
	"fmt"
	"strings"
)

// ForwardingRule sends what arrives at an entry port to a port of the
// backends. It is comparable, and a load balancer's rules are a set.
type ForwardingRule struct {
	EntryProtocol  string
	EntryPort      int
	TargetProtocol string
	TargetPort     int
	CertificateID  string
	TLSPassthrough bool
}

// String is the rule as people write it.
func (r ForwardingRule) String() string {
	var extra []string
	if r.CertificateID != "" {
		extra = append(extra, "certificate "+r.CertificateID)
	}
	if r.TLSPassthrough {
		extra = append(extra, "passthrough")
	}
	s := fmt.Sprintf("%s:%d->%s:%d", r.EntryProtocol, r.EntryPort, r.TargetProtocol, r.TargetPort)
	if len(extra) > 0 {
		s += " (" + strings.Join(extra, ", ") + ")"
	}
	return s
}

// HealthCheck is how the load balancer probes its backends. Times are in
// seconds.
type HealthCheck struct {
	Protocol               string
	Port                   int
	Path                   string
	CheckIntervalSeconds   int
	ResponseTimeoutSeconds int
	HealthyThreshold       int
	UnhealthyThreshold     int
	// ProxyProtocol nil follows the load balancer's own setting.
	ProxyProtocol *bool
}

// String is the health check as people write it.
func (h HealthCheck) String() string {
	s := fmt.Sprintf("%s:%d%s every %ds, timeout %ds, healthy after %d, unhealthy after %d",
		h.Protocol, h.Port, h.Path, h.CheckIntervalSeconds, h.ResponseTimeoutSeconds, h.HealthyThreshold, h.UnhealthyThreshold)
	if h.ProxyProtocol != nil {
		s += fmt.Sprintf(", PROXY protocol %t", *h.ProxyProtocol)
	}
	return s
}

// Settings are the parts of a load balancer that the manager decides, in
// normal form: sets sorted and without duplicates, defaults filled in.
type Settings struct {
	Name         string
	Type         string
	Network      string
	NetworkStack string
	// StackAutomatic is true in a desired state where nobody asked for the
	// network stack: a load balancer that exists may then have any. It
	// follows the Nodes until the load balancer exists, and nothing is gained
	// by saying so each time a Node joins.
	StackAutomatic bool
	Region         string
	// VPC is a UUID. Empty in a desired state: whatever the region's default
	// is.
	VPC string
	// SubnetUUID and IP are set at creation only. Empty in a desired state:
	// whatever DigitalOcean chooses.
	SubnetUUID string
	IP         string
	SizeUnit   int
	// SizeSlug is sent in place of SizeUnit if it isn't empty; it is no
	// difference by itself.
	SizeSlug        string
	ForwardingRules []ForwardingRule
	HealthCheck     HealthCheck
	StickySessions  StickySessions

	RedirectHTTPToHTTPS          bool
	EnableProxyProtocol          bool
	EnableBackendKeepalive       bool
	DisableLetsEncryptDNSRecords bool
	HTTPIdleTimeoutSeconds       int

	// TLSCipherPolicy is annotation.CiphersDefault or CiphersStrong. Empty in a
	// desired state: whatever it is.
	TLSCipherPolicy string

	// AllowRules and DenyRules are in the normal form of
	// annotation.NormalizeSource.
	AllowRules, DenyRules []string

	// DropletIDs are the backends. With Tag set in a desired state they are
	// those that carry the tag.
	DropletIDs []int
	// Tag selects the backends in place of their ids.
	Tag string
}

// StickySessions send a client to the same backend again.
type StickySessions struct {
	Type             string
	CookieName       string
	CookieTTLSeconds int
}

// String is the setting as people write it.
func (s StickySessions) String() string {
	if s.CookieName == "" {
		return s.Type
	}
	return fmt.Sprintf("%s (%s for %ds)", s.Type, s.CookieName, s.CookieTTLSeconds)
}

// Desired is what a Service's load balancer must be.
type Desired struct {
	Settings
	// ProjectID is the project in which the load balancer is created; empty: the
	// account's default. One that exists may be in any.
	ProjectID string
	// Tags are put on the load balancer when it is created.
	Tags []string
}

// Cluster is what all Services of a cluster share.
type Cluster struct {
	// ID marks the cluster's load balancers; may be empty.
	ID string
	// Region is the slug in which load balancers are made.
	Region string
	// VPC is the UUID of the VPC in which they are made; may be empty: then a
	// load balancer that is taken over may be in any.
	VPC string
	// HealthCheck is for Services of the traffic policy Cluster that don't
	// override it. The zero value asks kube-proxy.
	HealthCheck DefaultHealthCheck
	// Names gives load balancers names whose Services give them none.
	Names NameTemplate
}
