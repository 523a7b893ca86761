package simulator

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	maxSizeUnit     = 200
	maxNetworkRules = 40
)

var loadBalancerName = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9.\-]*[a-zA-Z0-9.])?$`)

// lbCheck is what the rules for a load balancer look at. The first rule that is
// broken is the one that the answer names.
type lbCheck struct {
	call *call
	req  *loadBalancerRequest
	// lb is the load balancer as it would become.
	lb *LoadBalancer
	// old is what is updated; nil on creation.
	old *loadBalancer
}

func (c *call) validateLoadBalancer(req *loadBalancerRequest, config *LoadBalancer, old *loadBalancer) error {
	check := &lbCheck{call: c, req: req, lb: config, old: old}
	for _, rule := range []func() error{
		check.name, check.enums, check.place, check.vpc, check.address, check.size, check.rules,
		check.networkType, check.health, check.sticky, check.web, check.firewall, check.members,
		check.global, check.project, check.tags, check.uniqueName, check.resize,
	} {
		if err := rule(); err != nil {
			return err
		}
	}
	return nil
}

// oneOf refuses a value outside an enumeration.
func oneOf(field, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return unprocessable("%s %q is invalid, must be one of %s", field, value, strings.Join(allowed, ", "))
}

func within(field string, value, low, high int) error {
	if value < low || value > high {
		return unprocessable("%s must be between %d and %d", field, low, high)
	}
	return nil
}

// firstError returns the first error that is one.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *lbCheck) name() error {
	switch {
	case k.lb.Name == "":
		return unprocessable("name is required")
	case len(k.lb.Name) > 255 || !loadBalancerName.MatchString(k.lb.Name):
		return unprocessable("name is invalid: letters, digits, dots and dashes are allowed, at most 255, " +
			"beginning with a letter or digit and not ending with a dash")
	}
	return nil
}

func (k *lbCheck) uniqueName() error {
	for lb := range k.call.team.loadBalancers.all() {
		if lb.Name == k.lb.Name && lb != k.old {
			return unprocessable("name is not unique")
		}
	}
	return nil
}

func (k *lbCheck) enums() error {
	return firstError(
		oneOf("type", k.lb.Type, typeRegional, typeRegionalNetwork, typeGlobal),
		oneOf("network", k.lb.Network, networkExternal, networkInternal),
		oneOf("network_stack", k.lb.NetworkStack, stackIPv4, stackDual),
		oneOf("tls_cipher_policy", k.lb.TLSCipherPolicy, tlsPolicyDefault, tlsPolicyStrong),
		oneOf("algorithm", orElse(k.req.Algorithm, "round_robin"), "round_robin", "least_connections"),
		oneOf("sticky_sessions type", k.lb.StickySessions.Type, stickyNone, stickyCookies),
		oneOf("size", orElse(k.req.Size, "lb-small"), "lb-small", "lb-medium", "lb-large"),
	)
}

func (k *lbCheck) place() error {
	switch {
	case k.lb.Type == typeGlobal && k.req.Region != "":
		return unprocessable("region is not allowed for a GLOBAL load balancer")
	case k.lb.Type == typeGlobal && k.lb.Network == networkInternal:
		return unprocessable("a GLOBAL load balancer cannot be INTERNAL")
	case k.lb.Type != typeGlobal && k.req.Region == "":
		return unprocessable("region is required")
	case k.lb.Type != typeGlobal && k.lb.Region == nil:
		return unprocessable("region %q is invalid", k.req.Region)
	case k.lb.NetworkStack == stackDual && k.lb.Network == networkInternal:
		return unprocessable("network_stack DUALSTACK is not available for an INTERNAL load balancer")
	}
	return nil
}

func (k *lbCheck) vpc() error {
	if k.req.SubnetUUID != "" && k.req.VPCUUID == "" {
		return unprocessable("subnet_uuid requires vpc_uuid")
	}
	if k.req.VPCUUID == "" || k.old != nil {
		return nil
	}
	if s, ok := k.call.team.subnets.get(k.req.SubnetUUID); k.req.SubnetUUID != "" && (!ok || s.VPCID != k.req.VPCUUID) {
		return unprocessable("subnet_uuid %s is not a subnet of the VPC", k.req.SubnetUUID)
	}
	v, ok := k.call.team.vpcs.get(k.req.VPCUUID)
	if !ok || k.lb.Region == nil || v.Region != k.lb.Region.Slug {
		return unprocessable("vpc_uuid %s is not a VPC of the load balancer's region", k.req.VPCUUID)
	}
	if k.lb.Network == networkInternal && !k.call.s.addresses.has(netip.MustParsePrefix(v.IPRange), 1) {
		return unprocessable("vpc_uuid %s has no free address left", k.req.VPCUUID)
	}
	return nil
}

// address checks the address brought along at creation.
func (k *lbCheck) address() error {
	if k.req.IP == "" {
		return nil
	}
	region, ok := k.call.team.byoip[k.req.IP]
	taken := slices.ContainsFunc(k.call.team.loadBalancers.items, func(lb *loadBalancer) bool { return lb.IP == k.req.IP })
	switch {
	case k.lb.Type == typeGlobal || k.lb.Network == networkInternal:
		return unprocessable("ip is only allowed for a regional load balancer with an external network")
	case !ok || region != k.req.Region:
		return unprocessable("ip %s is not an address of yours in region %s", k.req.IP, k.req.Region)
	case taken:
		return unprocessable("ip %s is already assigned", k.req.IP)
	}
	return nil
}

func (k *lbCheck) size() error {
	switch {
	case k.req.Size != "" && k.req.SizeUnit != 0:
		return unprocessable("only one of size and size_unit can be given")
	case k.lb.Type == typeGlobal && (k.req.Size != "" || k.req.SizeUnit != 0):
		return unprocessable("a GLOBAL load balancer cannot be scaled")
	case k.lb.Type == typeGlobal:
		return nil
	}
	return within("size_unit", k.lb.SizeUnit, 1, maxSizeUnit)
}

// resize refuses another size too soon after the last change.
func (k *lbCheck) resize() error {
	interval := k.call.s.settings.ResizeInterval
	if k.old == nil || k.old.resizedAt.IsZero() || k.lb.SizeUnit == k.old.SizeUnit ||
		!k.call.now.Before(k.old.resizedAt.Add(interval)) {
		return nil
	}
	every := interval.String()
	switch interval {
	case time.Minute:
		every = "minute"
	case time.Hour:
		every = "hour"
	}
	return unprocessable("Load Balancer can only be resized once every %s, last resized at: %s",
		every, k.old.resizedAt.Format(time.RFC3339))
}

func (k *lbCheck) health() error {
	h := k.lb.HealthCheck
	if h.Protocol != "http" && h.Protocol != "https" && h.Protocol != "tcp" {
		return unprocessable("health check only supports TCP and HTTP")
	}
	if h.Protocol == "tcp" && h.Path != "" {
		return unprocessable("health check path is not allowed with protocol tcp")
	}
	if h.Protocol != "tcp" && !strings.HasPrefix(h.Path, "/") {
		return unprocessable("health check path must begin with /")
	}
	return firstError(
		within("health check port", h.Port, 1, 65535),
		within("health check check_interval_seconds", h.CheckIntervalSeconds, 3, 300),
		within("health check response_timeout_seconds", h.ResponseTimeoutSeconds, 3, 300),
		within("health check unhealthy_threshold", h.UnhealthyThreshold, 2, 10),
		within("health check healthy_threshold", h.HealthyThreshold, 2, 10),
	)
}

func (k *lbCheck) sticky() error {
	s := k.lb.StickySessions
	switch {
	case s.Type == stickyNone:
		return nil
	case len(s.CookieName) < 2 || len(s.CookieName) > 40:
		return unprocessable("sticky_sessions cookie_name must have 2 to 40 characters")
	case s.CookieTTLSeconds < 1:
		return unprocessable("sticky_sessions cookie_ttl_seconds must be at least 1")
	}
	return nil
}

// web checks what concerns HTTP only.
func (k *lbCheck) web() error {
	if err := within("http_idle_timeout_seconds", k.lb.HTTPIdleTimeoutSeconds, 30, 600); err != nil {
		return err
	}
	if !k.lb.RedirectHTTPToHTTPS {
		return nil
	}
	var plain, secure bool
	for _, r := range k.lb.ForwardingRules {
		plain = plain || r.EntryProtocol == "http"
		secure = secure || r.EntryProtocol == "https" || r.EntryProtocol == "http2"
	}
	if k.lb.Type != typeGlobal && (!plain || !secure) {
		return unprocessable("redirect_http_to_https requires an http and an https or http2 forwarding rule")
	}
	return nil
}

func (k *lbCheck) firewall() error {
	for _, source := range slices.Concat(k.lb.Firewall.Allow, k.lb.Firewall.Deny) {
		kind, value, _ := strings.Cut(source, ":")
		var err error
		switch kind {
		case "ip":
			_, err = netip.ParseAddr(value)
		case "cidr":
			_, err = netip.ParsePrefix(value)
		default:
			err = fmt.Errorf("unknown kind %q", kind)
		}
		if err != nil {
			return unprocessable("firewall rule %q is invalid, must be ip:<address> or cidr:<range>", source)
		}
	}
	return nil
}

func (k *lbCheck) members() error {
	if k.lb.Tag != "" && len(k.lb.DropletIDs) > 0 {
		return unprocessable("only one of tag and droplet_ids can be given")
	}
	if k.lb.Tag != "" && !tagName.MatchString(k.lb.Tag) {
		return unprocessable("tag %q is invalid", k.lb.Tag)
	}
	return k.call.validateTargets(k.lb, k.lb.DropletIDs)
}

// validateTargets checks that a load balancer can reach the droplets.
func (c *call) validateTargets(lb *LoadBalancer, ids []int) error {
	for _, id := range ids {
		d, ok := c.team.droplets.get(id)
		if !ok {
			return unprocessable("droplet %d could not be found", id)
		}
		if lb.Type != typeGlobal && d.VPCUUID != lb.VPCUUID {
			return unprocessable("some of the specified target droplets don't belong to the same VPC as the Load Balancer")
		}
	}
	return nil
}

// validateImmutable refuses to change what a load balancer keeps for life.
func (req *loadBalancerRequest) validateImmutable(lb *loadBalancer) error {
	region := ""
	if lb.Region != nil {
		region = lb.Region.Slug
	}
	for _, field := range []struct{ name, sent, have string }{
		{"region", req.Region, region},
		{"type", req.Type, lb.Type},
		{"network", req.Network, lb.Network},
		{"network_stack", req.NetworkStack, lb.NetworkStack},
		{"vpc_uuid", req.VPCUUID, lb.VPCUUID},
		{"subnet_uuid", req.SubnetUUID, lb.SubnetUUID},
		{"ip", req.IP, lb.IP},
	} {
		if field.sent != "" && field.sent != field.have {
			return unprocessable("%s cannot be changed", field.name)
		}
	}
	return nil
}
