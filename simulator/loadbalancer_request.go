package simulator

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	typeRegional        = "REGIONAL"
	typeRegionalNetwork = "REGIONAL_NETWORK"
	typeGlobal          = "GLOBAL"
	networkExternal     = "EXTERNAL"
	networkInternal     = "INTERNAL"
	stackIPv4           = "IPV4"
	stackDual           = "DUALSTACK"
	tlsPolicyDefault    = "DEFAULT"
	tlsPolicyStrong     = "STRONG"
	stickyNone          = "none"
	stickyCookies       = "cookies"
)

// loadBalancerRequest is the body of POST and PUT. The zero value of a member
// means that it was not sent, as it does for the API.
type loadBalancerRequest struct {
	Name                         string               `json:"name"`
	Algorithm                    string               `json:"algorithm"`
	Region                       string               `json:"region"`
	Size                         string               `json:"size"`
	SizeUnit                     int                  `json:"size_unit"`
	Type                         string               `json:"type"`
	ForwardingRules              []ForwardingRule     `json:"forwarding_rules"`
	HealthCheck                  HealthCheck          `json:"health_check"`
	StickySessions               StickySessions       `json:"sticky_sessions"`
	DropletIDs                   []int                `json:"droplet_ids"`
	Tag                          string               `json:"tag"`
	Tags                         []string             `json:"tags"`
	RedirectHTTPToHTTPS          bool                 `json:"redirect_http_to_https"`
	EnableProxyProtocol          bool                 `json:"enable_proxy_protocol"`
	EnableBackendKeepalive       bool                 `json:"enable_backend_keepalive"`
	VPCUUID                      string               `json:"vpc_uuid"`
	SubnetUUID                   string               `json:"subnet_uuid"`
	DisableLetsEncryptDNSRecords bool                 `json:"disable_lets_encrypt_dns_records"`
	ValidateOnly                 bool                 `json:"validate_only"`
	ProjectID                    string               `json:"project_id"`
	HTTPIdleTimeoutSeconds       int                  `json:"http_idle_timeout_seconds"`
	Firewall                     LoadBalancerFirewall `json:"firewall"`
	Domains                      []Domain             `json:"domains"`
	GLBSettings                  *GLBSettings         `json:"glb_settings"`
	TargetLoadBalancerIDs        []string             `json:"target_load_balancer_ids"`
	Network                      string               `json:"network"`
	NetworkStack                 string               `json:"network_stack"`
	TLSCipherPolicy              string               `json:"tls_cipher_policy"`
	IP                           string               `json:"ip"`
}

var sizeUnits = map[string]int{"lb-small": 1, "lb-medium": 3, "lb-large": 6}

// sizeName is the old name of a size, "" for sizes that never had one.
func sizeName(units int) string {
	for name, n := range sizeUnits {
		if n == units {
			return name
		}
	}
	return ""
}

// decodeLoadBalancer reads the request and folds the case of what the API
// compares without case.
func (c *call) decodeLoadBalancer() (*loadBalancerRequest, error) {
	var req loadBalancerRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	for _, field := range []*string{&req.Type, &req.Network, &req.NetworkStack, &req.TLSCipherPolicy} {
		*field = strings.ToUpper(*field)
	}
	for i := range req.ForwardingRules {
		req.ForwardingRules[i].normalise()
	}
	req.HealthCheck.Protocol = strings.ToLower(req.HealthCheck.Protocol)
	return &req, nil
}

func (r *ForwardingRule) normalise() {
	r.EntryProtocol = strings.ToLower(r.EntryProtocol)
	r.TargetProtocol = strings.ToLower(r.TargetProtocol)
}

// config is the load balancer that the request describes, with the default of
// whatever was not sent. It has no id, address or status.
func (req *loadBalancerRequest) config(c *call) LoadBalancer {
	lb := LoadBalancer{
		Name: req.Name, Algorithm: "round_robin",
		Type:                         cmp.Or(req.Type, typeRegional),
		Network:                      cmp.Or(req.Network, networkExternal),
		NetworkStack:                 cmp.Or(req.NetworkStack, stackIPv4),
		TLSCipherPolicy:              cmp.Or(req.TLSCipherPolicy, tlsPolicyDefault),
		ForwardingRules:              req.ForwardingRules,
		HealthCheck:                  req.HealthCheck.withDefaults(),
		StickySessions:               req.StickySessions.withDefaults(),
		DropletIDs:                   unique(req.DropletIDs),
		Tag:                          req.Tag,
		RedirectHTTPToHTTPS:          req.RedirectHTTPToHTTPS,
		EnableProxyProtocol:          req.EnableProxyProtocol,
		EnableBackendKeepalive:       req.EnableBackendKeepalive,
		DisableLetsEncryptDNSRecords: req.DisableLetsEncryptDNSRecords,
		ProjectID:                    cmp.Or(req.ProjectID, c.team.defaultProjectID()),
		HTTPIdleTimeoutSeconds:       cmp.Or(req.HTTPIdleTimeoutSeconds, 60),
		Firewall: LoadBalancerFirewall{
			Allow: append([]string{}, req.Firewall.Allow...),
			Deny:  append([]string{}, req.Firewall.Deny...),
		},
		Domains:               req.Domains,
		GLBSettings:           req.GLBSettings,
		TargetLoadBalancerIDs: req.TargetLoadBalancerIDs,
		SubnetUUID:            req.SubnetUUID,
	}
	if region, ok := c.s.catalog.regions.get(req.Region); ok {
		lb.Region = region
		lb.VPCUUID = cmp.Or(req.VPCUUID, c.team.defaultVPCID(region.Slug))
	}
	if lb.Type != typeGlobal {
		lb.SizeUnit = cmp.Or(req.SizeUnit, sizeUnits[req.Size], 1)
		lb.Size = sizeName(lb.SizeUnit)
	}
	for i := range lb.Domains {
		lb.Domains[i].Status = "pending"
	}
	return lb
}

func (h HealthCheck) withDefaults() HealthCheck {
	h.Protocol = cmp.Or(h.Protocol, "http")
	h.Port = cmp.Or(h.Port, 80)
	if h.Protocol != "tcp" {
		h.Path = cmp.Or(h.Path, "/")
	}
	h.CheckIntervalSeconds = cmp.Or(h.CheckIntervalSeconds, 10)
	h.ResponseTimeoutSeconds = cmp.Or(h.ResponseTimeoutSeconds, 5)
	h.HealthyThreshold = cmp.Or(h.HealthyThreshold, 5)
	h.UnhealthyThreshold = cmp.Or(h.UnhealthyThreshold, 3)
	return h
}

func (s StickySessions) withDefaults() StickySessions {
	if s.Type == "" || s.Type == stickyNone {
		return StickySessions{Type: stickyNone}
	}
	return s
}

func createLoadBalancer(c *call) (reply, error) {
	if nullBool(c.body) {
		// The service fails on a null where it expects a boolean.
		return reply{}, &apiError{
			status: http.StatusInternalServerError, id: "server_error", message: "Unexpected server-side error",
		}
	}
	req, err := c.decodeLoadBalancer()
	if err != nil {
		return reply{}, err
	}
	config := req.config(c)
	if err := c.validateLoadBalancer(req, &config, nil); err != nil {
		return reply{}, err
	}
	if req.ValidateOnly {
		config.DropletIDs = c.team.targets(&config)
		return jsonReply(http.StatusOK, map[string]any{"load_balancer": config})
	}
	if err := c.limitLoadBalancers(); err != nil {
		return reply{}, err
	}
	lb := c.commit(config, req)
	fresh := c.showLoadBalancer(lb)
	// The answer is always of a load balancer that has just begun.
	fresh.Status, fresh.IP, fresh.IPv6 = statusNew, "", ""
	return jsonReply(http.StatusAccepted, map[string]any{"load_balancer": fresh})
}

// commit makes the load balancer of a valid request.
func (c *call) commit(config LoadBalancer, req *loadBalancerRequest) *loadBalancer {
	s := c.s
	lb := &loadBalancer{LoadBalancer: config, activeAt: c.now.Add(s.settings.LoadBalancerActivation), reads: s.settings.ActivationReads}
	lb.ID = s.ids.next()
	lb.CreatedAt = c.now.Truncate(time.Second)
	lb.fails = c.fault != nil && c.fault.Errored
	switch {
	case lb.Network == networkInternal:
		vpc := s.vpcFor(c.team, req.VPCUUID, lb.Region.Slug, c.now)
		lb.IP = s.addresses.take(s.vpcPrefix(c.team, vpc.ID))
	case req.IP != "":
		lb.IP = req.IP
	default:
		lb.IP = s.addresses.take(balancerPrefixes...)
	}
	if lb.Region != nil {
		s.vpcFor(c.team, req.VPCUUID, lb.Region.Slug, c.now)
	}
	if lb.NetworkStack == stackDual {
		lb.IPv6 = s.addresses.take(balancerPrefix6)
	}
	c.team.loadBalancers.add(lb.ID, lb)
	for _, name := range req.Tags {
		c.team.tagLoadBalancer(lb, c.team.ensureTag(name))
	}
	return lb
}

// updateLoadBalancer replaces everything that can change.
func updateLoadBalancer(c *call) (reply, error) {
	lb, err := c.loadBalancer()
	if err != nil {
		return reply{}, err
	}
	req, err := c.decodeLoadBalancer()
	if err != nil {
		return reply{}, err
	}
	if !req.ValidateOnly && lb.busy(c.now) {
		return reply{}, forbidden(textBusy)
	}
	if err := req.validateImmutable(lb); err != nil {
		return reply{}, err
	}
	req.keep(lb)
	config := req.config(c)
	if err := c.validateLoadBalancer(req, &config, lb); err != nil {
		return reply{}, err
	}
	if req.ValidateOnly {
		config.DropletIDs = c.team.targets(&config)
		return jsonReply(http.StatusOK, map[string]any{"load_balancer": config})
	}
	c.replace(lb, config)
	return jsonReply(http.StatusOK, map[string]any{"load_balancer": c.showLoadBalancer(lb)})
}

// keep fills in what a PUT does not reset by leaving it out.
func (req *loadBalancerRequest) keep(lb *loadBalancer) {
	req.Type, req.Network, req.NetworkStack = lb.Type, lb.Network, lb.NetworkStack
	req.VPCUUID, req.SubnetUUID = lb.VPCUUID, lb.SubnetUUID
	req.ProjectID = cmp.Or(req.ProjectID, lb.ProjectID)
	req.IP = ""
}

func (c *call) replace(lb *loadBalancer, config LoadBalancer) {
	if config.SizeUnit != lb.SizeUnit {
		lb.resizedAt = c.now
	}
	c.s.holdCertificates(c.team, lb, c.now)
	config.ID, config.IP, config.IPv6 = lb.ID, lb.IP, lb.IPv6
	config.CreatedAt, config.Tags = lb.CreatedAt, lb.Tags
	lb.LoadBalancer = config
	c.touch(lb)
}

// touch makes a load balancer busy with what was just asked of it.
func (c *call) touch(lb *loadBalancer) {
	lb.busyUntil = c.now.Add(c.s.settings.BusyWindow)
}

var boolFields = []string{
	"redirect_http_to_https", "enable_proxy_protocol", "enable_backend_keepalive",
	"disable_lets_encrypt_dns_records",
}

// nullBool tells whether one of the boolean members is null.
func nullBool(body []byte) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return false
	}
	return slices.ContainsFunc(boolFields, func(name string) bool { return string(members[name]) == "null" })
}
