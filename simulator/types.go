package simulator

import "time"

// Region is a data centre as the API shows it.
type Region struct {
	Name      string   `json:"name"`
	Slug      string   `json:"slug"`
	Features  []string `json:"features"`
	Available bool     `json:"available"`
	Sizes     []string `json:"sizes"`
}

// Amount is a quantity with its unit, as in a disk's or a memory's size.
type Amount struct {
	Amount int    `json:"amount"`
	Unit   string `json:"unit"`
}

// DiskInfo is one disk of a droplet or size.
type DiskInfo struct {
	Type string `json:"type"` // local, boot or scratch
	Size Amount `json:"size"`
}

// GPUInfo tells the graphics processors of a size or droplet.
type GPUInfo struct {
	Count int    `json:"count"`
	Model string `json:"model"`
	VRAM  Amount `json:"vram"`
}

// Size is a droplet size. Memory is in MiB, Disk in GiB, Transfer in TB, prices
// are in US dollars.
type Size struct {
	Slug         string     `json:"slug"`
	Memory       int        `json:"memory"`
	VCPUs        int        `json:"vcpus"`
	Disk         int        `json:"disk"`
	Transfer     float64    `json:"transfer"`
	PriceMonthly float64    `json:"price_monthly"`
	PriceHourly  float64    `json:"price_hourly"`
	Regions      []string   `json:"regions"`
	Available    bool       `json:"available"`
	Description  string     `json:"description"`
	DiskInfo     []DiskInfo `json:"disk_info,omitempty"`
	GPUInfo      *GPUInfo   `json:"gpu_info,omitempty"`
}

// Image is what a droplet was made from. SizeGigabytes and MinDiskSize are in GB.
type Image struct {
	ID            int       `json:"id"`
	Name          string    `json:"name"`
	Distribution  string    `json:"distribution"`
	Slug          *string   `json:"slug"`
	Public        bool      `json:"public"`
	Regions       []string  `json:"regions"`
	CreatedAt     time.Time `json:"created_at"`
	Type          string    `json:"type"`
	MinDiskSize   int       `json:"min_disk_size"`
	SizeGigabytes float64   `json:"size_gigabytes"`
	Description   string    `json:"description"`
	Tags          []string  `json:"tags"`
	Status        string    `json:"status"`
}

// NetworkV4 is one IPv4 address of a droplet; Type is "public" or "private".
type NetworkV4 struct {
	IPAddress string `json:"ip_address"`
	Netmask   string `json:"netmask"`
	Gateway   string `json:"gateway"`
	Type      string `json:"type"`
}

// NetworkV6 is one IPv6 address of a droplet; Netmask is the prefix length.
type NetworkV6 struct {
	IPAddress string `json:"ip_address"`
	Netmask   int    `json:"netmask"`
	Gateway   string `json:"gateway"`
	Type      string `json:"type"`
}

// Networks holds a droplet's addresses, in no promised order.
type Networks struct {
	V4 []NetworkV4 `json:"v4"`
	V6 []NetworkV6 `json:"v6"`
}

// Kernel is always absent on today's droplets.
type Kernel struct {
	ID      int    `json:"id"`
	Name    string `json:"name"`
	Version string `json:"version"`
}

// BackupWindow is when the next backup will be made.
type BackupWindow struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

// Droplet is a droplet as the API shows it. Memory is in MiB, Disk in GiB,
// CreatedAt has second precision in UTC.
type Droplet struct {
	ID               int           `json:"id"`
	Name             string        `json:"name"`
	Memory           int           `json:"memory"`
	VCPUs            int           `json:"vcpus"`
	Disk             int           `json:"disk"`
	DiskInfo         []DiskInfo    `json:"disk_info,omitempty"`
	Locked           bool          `json:"locked"`
	Status           string        `json:"status"` // new, active, off or archive
	Kernel           *Kernel       `json:"kernel"`
	CreatedAt        time.Time     `json:"created_at"`
	Features         []string      `json:"features"`
	BackupIDs        []int         `json:"backup_ids"`
	NextBackupWindow *BackupWindow `json:"next_backup_window"`
	SnapshotIDs      []int         `json:"snapshot_ids"`
	Image            *Image        `json:"image"`
	VolumeIDs        []string      `json:"volume_ids"`
	Size             *Size         `json:"size"`
	SizeSlug         string        `json:"size_slug"`
	Networks         Networks      `json:"networks"`
	Region           *Region       `json:"region"`
	Tags             []string      `json:"tags"`
	VPCUUID          string        `json:"vpc_uuid"`
	GPUInfo          *GPUInfo      `json:"gpu_info,omitempty"`
}

// ForwardingRule maps a port of a load balancer to a port of its droplets.
type ForwardingRule struct {
	EntryProtocol  string `json:"entry_protocol"`
	EntryPort      int    `json:"entry_port"`
	TargetProtocol string `json:"target_protocol"`
	TargetPort     int    `json:"target_port"`
	CertificateID  string `json:"certificate_id"`
	TLSPassthrough bool   `json:"tls_passthrough"`
}

// HealthCheck is how a load balancer probes its droplets. ProxyProtocol nil
// follows the load balancer's EnableProxyProtocol.
type HealthCheck struct {
	Protocol               string `json:"protocol"`
	Port                   int    `json:"port"`
	Path                   string `json:"path"`
	CheckIntervalSeconds   int    `json:"check_interval_seconds"`
	ResponseTimeoutSeconds int    `json:"response_timeout_seconds"`
	HealthyThreshold       int    `json:"healthy_threshold"`
	UnhealthyThreshold     int    `json:"unhealthy_threshold"`
	ProxyProtocol          *bool  `json:"proxy_protocol,omitempty"`
}

// StickySessions is the session affinity of a load balancer; Type is "none" or
// "cookies".
type StickySessions struct {
	Type             string `json:"type"`
	CookieName       string `json:"cookie_name,omitempty"`
	CookieTTLSeconds int    `json:"cookie_ttl_seconds,omitempty"`
}

// LoadBalancerFirewall lists sources as "ip:192.0.2.1" or "cidr:192.0.2.0/24".
type LoadBalancerFirewall struct {
	Deny  []string `json:"deny"`
	Allow []string `json:"allow"`
}

// Domain is a name served by a GLOBAL load balancer.
type Domain struct {
	Name                      string   `json:"name"`
	IsManaged                 bool     `json:"is_managed"`
	CertificateID             string   `json:"certificate_id,omitempty"`
	Status                    string   `json:"status,omitempty"`
	VerificationErrorReasons  []string `json:"verification_error_reasons,omitempty"`
	SSLValidationErrorReasons []string `json:"ssl_validation_error_reasons,omitempty"`
}

// CDN tells whether a GLOBAL load balancer caches.
type CDN struct {
	IsEnabled bool `json:"is_enabled"`
}

// GLBSettings are the settings that only a GLOBAL load balancer has.
// FailoverThreshold is in percent.
type GLBSettings struct {
	TargetProtocol    string         `json:"target_protocol"`
	TargetPort        int            `json:"target_port"`
	CDN               *CDN           `json:"cdn,omitempty"`
	RegionPriorities  map[string]int `json:"region_priorities,omitempty"`
	FailoverThreshold int            `json:"failover_threshold,omitempty"`
}

// LoadBalancer is a load balancer as the API shows it. IP is empty until the
// load balancer is active. With Tag set, DropletIDs are those of the droplets
// that carry it.
type LoadBalancer struct {
	ID                           string               `json:"id,omitempty"`
	Name                         string               `json:"name"`
	IP                           string               `json:"ip"`
	IPv6                         string               `json:"ipv6,omitempty"`
	Size                         string               `json:"size,omitempty"`
	SizeUnit                     int                  `json:"size_unit,omitempty"`
	Type                         string               `json:"type"`
	Algorithm                    string               `json:"algorithm"`
	Status                       string               `json:"status,omitempty"` // new, active or errored
	CreatedAt                    time.Time            `json:"created_at,omitzero"`
	ForwardingRules              []ForwardingRule     `json:"forwarding_rules,omitempty"`
	HealthCheck                  HealthCheck          `json:"health_check"`
	StickySessions               StickySessions       `json:"sticky_sessions"`
	Region                       *Region              `json:"region,omitempty"`
	Tag                          string               `json:"tag"`
	Tags                         []string             `json:"tags,omitempty"`
	DropletIDs                   []int                `json:"droplet_ids"`
	RedirectHTTPToHTTPS          bool                 `json:"redirect_http_to_https"`
	EnableProxyProtocol          bool                 `json:"enable_proxy_protocol"`
	EnableBackendKeepalive       bool                 `json:"enable_backend_keepalive"`
	VPCUUID                      string               `json:"vpc_uuid,omitempty"`
	SubnetUUID                   string               `json:"subnet_uuid,omitempty"`
	DisableLetsEncryptDNSRecords bool                 `json:"disable_lets_encrypt_dns_records"`
	ProjectID                    string               `json:"project_id"`
	HTTPIdleTimeoutSeconds       int                  `json:"http_idle_timeout_seconds"`
	Firewall                     LoadBalancerFirewall `json:"firewall"`
	Domains                      []Domain             `json:"domains,omitempty"`
	GLBSettings                  *GLBSettings         `json:"glb_settings,omitempty"`
	TargetLoadBalancerIDs        []string             `json:"target_load_balancer_ids,omitempty"`
	Network                      string               `json:"network"`
	NetworkStack                 string               `json:"network_stack"`
	TLSCipherPolicy              string               `json:"tls_cipher_policy"`
}
