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

// Protocols of forwarding rules and health checks.
const (
	ProtocolTCP   = "tcp"
	ProtocolUDP   = "udp"
	ProtocolHTTP  = "http"
	ProtocolHTTPS = "https"
)

// Network stacks.
const (
	StackIPv4 = "IPV4"
	StackDual = "DUALSTACK"
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
// normal form: rules and droplets sorted, defaults filled in.
type Settings struct {
	Name         string
	Type         string
	Network      string
	NetworkStack string
	Region       string
	// VPC is a UUID. Empty in a desired state: whatever the region's default
	// is.
	VPC             string
	SizeUnit        int
	ForwardingRules []ForwardingRule
	HealthCheck     HealthCheck
	DropletIDs      []int
}

// Desired is what a Service's load balancer must be.
type Desired struct {
	Settings
	// Tags are put on the load balancer when it is created.
	Tags []string
}

// Cluster is what all Services of a cluster share.
type Cluster struct {
	// ID marks the cluster's load balancers; may be empty.
	ID string
	// Region is the slug in which load balancers are made.
	Region string
	// VPC is the UUID of the VPC in which they are made; may be empty.
	VPC string
}
