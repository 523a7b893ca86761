package annotation

// Prefixes of the keys.
const (
	prefixLoadBalancer = "service.beta.kubernetes.io/do-loadbalancer-"
	prefixIdentity     = "kubernetes.digitalocean.com/"
	prefixDisown       = "service.kubernetes.io/do-loadbalancer-"
)

// Keys of the annotations about which load balancer it is.
const (
	LoadBalancerID  = prefixIdentity + "load-balancer-id"
	DefaultsVersion = prefixIdentity + "load-balancer-defaults-version"
	StrongCiphers   = prefixIdentity + "load-balancer-strong-ciphers"
	Disown          = prefixDisown + "disown"
	Name            = prefixLoadBalancer + "name"
)

// Keys of the annotations about what the manager does by itself.
const (
	Drift          = prefixLoadBalancer + "drift"
	DryRun         = prefixLoadBalancer + "dry-run"
	Manage         = prefixLoadBalancer + "manage"
	RetainOnDelete = prefixLoadBalancer + "retain-on-delete"
	// Plan is where the plan of a dry run goes.
	Plan = prefixIdentity + "load-balancer-plan"
)

// Class chooses defaults that the manager's configuration has by that name.
const Class = prefixLoadBalancer + "class"

// Keys of the annotations about the load balancer's shape.
const (
	Type         = prefixLoadBalancer + "type"
	Network      = prefixLoadBalancer + "network"
	NetworkStack = prefixLoadBalancer + "network-stack"
	SizeUnit     = prefixLoadBalancer + "size-unit"
	SizeSlug     = prefixLoadBalancer + "size-slug"
	IP           = prefixLoadBalancer + "ip"
	SubnetUUID   = prefixLoadBalancer + "subnet-uuid"
	ProjectID    = prefixLoadBalancer + "project-id"
	IPMode       = prefixLoadBalancer + "ip-mode"
	Hostname     = prefixLoadBalancer + "hostname"
)

// Keys of the annotations about protocols and TLS.
const (
	Protocol        = prefixLoadBalancer + "protocol"
	HTTPPorts       = prefixLoadBalancer + "http-ports"
	TLSPorts        = prefixLoadBalancer + "tls-ports"
	HTTP2Ports      = prefixLoadBalancer + "http2-ports"
	HTTP3Port       = prefixLoadBalancer + "http3-port"
	TLSPassthrough  = prefixLoadBalancer + "tls-passthrough"
	CertificateID   = prefixLoadBalancer + "certificate-id"
	CertificateName = prefixLoadBalancer + "certificate-name"
	BackendProtocol = prefixLoadBalancer + "backend-protocol"
	UseAppProtocol  = prefixLoadBalancer + "use-app-protocol"
	TLSCipherPolicy = prefixLoadBalancer + "tls-cipher-policy"

	DisableLetsEncryptDNSRecords = prefixLoadBalancer + "disable-lets-encrypt-dns-records"
)

// Keys of the annotations about health checks.
const (
	OverrideHealthCheck = prefixLoadBalancer + "override-health-check"
	HealthCheckPort     = prefixLoadBalancer + "healthcheck-port"
	HealthCheckPath     = prefixLoadBalancer + "healthcheck-path"
	HealthCheckProtocol = prefixLoadBalancer + "healthcheck-protocol"

	HealthCheckIntervalSeconds        = prefixLoadBalancer + "healthcheck-check-interval-seconds"
	HealthCheckResponseTimeoutSeconds = prefixLoadBalancer + "healthcheck-response-timeout-seconds"
	HealthCheckUnhealthyThreshold     = prefixLoadBalancer + "healthcheck-unhealthy-threshold"
	HealthCheckHealthyThreshold       = prefixLoadBalancer + "healthcheck-healthy-threshold"
)

// Keys of the annotations about how traffic is passed on.
const (
	StickySessionsType       = prefixLoadBalancer + "sticky-sessions-type"
	StickySessionsCookieName = prefixLoadBalancer + "sticky-sessions-cookie-name"
	StickySessionsCookieTTL  = prefixLoadBalancer + "sticky-sessions-cookie-ttl"
	RedirectHTTPToHTTPS      = prefixLoadBalancer + "redirect-http-to-https"
	EnableProxyProtocol      = prefixLoadBalancer + "enable-proxy-protocol"
	EnableBackendKeepalive   = prefixLoadBalancer + "enable-backend-keepalive"
	HTTPIdleTimeoutSeconds   = prefixLoadBalancer + "http-idle-timeout-seconds"
	Algorithm                = prefixLoadBalancer + "algorithm"
)

// Keys of the annotations about which Nodes serve.
const (
	NodeSelector       = prefixLoadBalancer + "node-selector"
	AllowEmptyBackends = prefixLoadBalancer + "allow-empty-backends"
)

// Keys of the annotations about who may reach what.
const (
	AllowRules = prefixLoadBalancer + "allow-rules"
	// AllowClusterNodes adds to what may reach the load balancer.
	AllowClusterNodes = prefixLoadBalancer + "allow-cluster-nodes"
	DenyRules         = prefixLoadBalancer + "deny-rules"
	// FirewallManagedKey is read by [FirewallManaged].
	FirewallManagedKey = prefixIdentity + "firewall-managed"
)

// Load balancer types.
const (
	TypeRegional        = "REGIONAL"
	TypeRegionalNetwork = "REGIONAL_NETWORK"
)

// Networks of a load balancer.
const (
	NetworkExternal = "EXTERNAL"
	NetworkInternal = "INTERNAL"
)

// Network stacks of a load balancer.
const (
	StackIPv4 = "IPV4"
	StackDual = "DUALSTACK"
)

// Protocols of forwarding rules and health checks.
const (
	ProtocolTCP   = "tcp"
	ProtocolUDP   = "udp"
	ProtocolHTTP  = "http"
	ProtocolHTTPS = "https"
	ProtocolHTTP2 = "http2"
	ProtocolHTTP3 = "http3"
)

// Policies for the ciphers of TLS.
const (
	CiphersDefault = "DEFAULT"
	CiphersStrong  = "STRONG"
)

// What of a load balancer is the manager's.
const (
	ManageAll      = "all"
	ManageBackends = "backends"
)

// Modes of addresses in a Service's status.
const (
	IPModeVIP   = "VIP"
	IPModeProxy = "Proxy"
)

// Kinds of sticky sessions.
const (
	StickyNone    = "none"
	StickyCookies = "cookies"
)
