package annotation

import "slices"

// Spec is what a Service's annotations ask for, with the defaults filled in. A
// zero value stands for an annotation that is absent and has no default.
type Spec struct {
	// LoadBalancerID is the id of the load balancer that exists already.
	LoadBalancerID string
	// Disowned is true when the manager must leave the load balancer alone.
	Disowned bool
	// Manage is ManageAll or ManageBackends.
	Manage string
	// RetainOnDelete is true when the load balancer outlives the Service.
	RetainOnDelete bool
	// RetainUnsure is true when it does so only because the Service's class, which
	// might say so, isn't there.
	RetainUnsure bool
	// DryRun is true when nothing is to be written.
	DryRun bool
	// Drift is DriftRevert or DriftReport.
	Drift string
	// Ignored are those of DriftFields that are left to others, sorted.
	Ignored []string
	// Name is the custom name.
	Name string
	// Type is TypeRegional or TypeRegionalNetwork.
	Type string
	// Network is NetworkExternal or NetworkInternal.
	Network string
	// NetworkStack is StackIPv4 or StackDual; empty: whatever fits the type, the
	// network and the Nodes.
	NetworkStack string

	// Protocol is that of every TCP port without one of its own.
	Protocol string
	// HTTPPorts, TLSPorts and HTTP2Ports are the Service ports of a protocol,
	// sorted and without duplicates.
	HTTPPorts, TLSPorts, HTTP2Ports []int
	// HTTP3Port is the Service port with HTTP/3 beside it; 0: none.
	HTTP3Port int
	// TLSPassthrough hands TLS to the backends.
	TLSPassthrough bool
	// CertificateID and CertificateName name the certificate of TLS rules; the
	// id wins.
	CertificateID, CertificateName string

	// PortCertificates are those of single TCP ports, by number, in place of the
	// one for all. Every port that the Service has may be in them.
	PortCertificates map[int]Certificate
	// BackendProtocol is what backends speak where the load balancer ends TLS;
	// PortBackendProtocols are those of single TCP ports, by number.
	BackendProtocol      string
	PortBackendProtocols map[int]string
	// AppProtocols are what TCP ports say that they speak, by number, where that
	// is to count.
	AppProtocols map[int]string

	// TLSCipherPolicy is CiphersDefault or CiphersStrong; empty: whatever the
	// load balancer has.
	TLSCipherPolicy string

	// NodeSelector is a label selector that Nodes must match to be backends;
	// empty: all do.
	NodeSelector string
	// AllowEmptyBackends is true where a selector that selects no Node empties
	// the load balancer.
	AllowEmptyBackends bool

	HealthCheck    HealthCheck
	StickySessions StickySessions

	// SizeUnit is the number of the load balancer's nodes, also when a slug
	// says it.
	SizeUnit int
	// SizeSlug is the deprecated name of the size, if the user chose one.
	SizeSlug string

	RedirectHTTPToHTTPS          bool
	EnableProxyProtocol          bool
	EnableBackendKeepalive       bool
	DisableLetsEncryptDNSRecords bool
	HTTPIdleTimeoutSeconds       int

	// AllowRules and DenyRules are sources as the API writes them, in normal
	// form (see [NormalizeSource]), sorted and without duplicates.
	// spec.loadBalancerSourceRanges is in AllowRules, in place of the
	// annotation.
	AllowRules, DenyRules []string

	// AllowClusterNodes adds the Nodes' addresses to AllowRules where there are
	// any.
	AllowClusterNodes bool

	// IPMode is IPModeVIP or IPModeProxy; empty: what fits the load balancer.
	IPMode string
	// Hostname is what the Service's status shows, in lower case.
	Hostname string
	// IP is the address to make the load balancer with.
	IP string
	// ProjectID is the project to make the load balancer in.
	ProjectID string
	// SubnetUUID is the VPC subnet to make the load balancer in.
	SubnetUUID string

	// Inherited are the annotations that are in effect without being the
	// Service's own, by key, with whose they are for people. Nil: none.
	Inherited map[string]string
}

// Attribute returns the problems with whose value each is about, where it isn't
// the Service's own: who edits the Service looks for it there in vain.
func (s Spec) Attribute(problems []Problem) []Problem {
	attributed := slices.Clone(problems)
	for i := range attributed {
		attributed[i].Allowed += origin(s.Inherited[attributed[i].Field])
	}
	return attributed
}

// origin ends a refusal of a value that is whose.
func origin(whose string) string {
	if whose == "" {
		return ""
	}
	return " (the value is of " + whose + ")"
}

// HealthCheck is how backends are probed. Times are in seconds.
type HealthCheck struct {
	// Override tells whether Port, Path and Protocol have an effect.
	Override bool
	// Port is a Service port; 0: the first TCP port.
	Port int
	Path string
	// Protocol is tcp, http or https; empty: http with a path, else tcp.
	Protocol string

	CheckIntervalSeconds   int
	ResponseTimeoutSeconds int
	UnhealthyThreshold     int
	HealthyThreshold       int
}

// StickySessions send a client to the same backend again.
type StickySessions struct {
	// Type is StickyNone or StickyCookies.
	Type       string
	CookieName string
	// CookieTTLSeconds is in seconds.
	CookieTTLSeconds int
}
