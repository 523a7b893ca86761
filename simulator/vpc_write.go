package simulator

import (
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"time"
)

var (
	vpcName = regexp.MustCompile(`^[a-zA-Z0-9\-.]{1,255}$`)
	// privatePrefixes are the networks of RFC 1918.
	privatePrefixes = []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	}
	// takenPrefixes are kept for services of the provider.
	takenPrefixes = []netip.Prefix{
		netip.MustParsePrefix("10.229.0.0/16"), netip.MustParsePrefix("10.244.0.0/16"),
		netip.MustParsePrefix("10.245.0.0/16"), netip.MustParsePrefix("10.246.0.0/24"),
	}
)

// VPCMember is something in a VPC as the API shows it.
type VPCMember struct {
	URN       string    `json:"urn"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
}

// vpcRequest is the body of POST, PUT and PATCH; nil was not sent.
type vpcRequest struct {
	Name        *string `json:"name"`
	Description *string `json:"description"`
	Region      string  `json:"region"`
	IPRange     string  `json:"ip_range"`
	Default     *bool   `json:"default"`
}

// overlapping returns a VPC of the team whose range overlaps, or nil.
func (t *team) overlapping(with netip.Prefix) *VPC {
	for v := range t.vpcs.all() {
		if have, err := netip.ParsePrefix(v.IPRange); err == nil && have.Overlaps(with) {
			return v
		}
	}
	return nil
}

func createVPC(c *call) (reply, error) {
	var req vpcRequest
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	v := VPC{Region: req.Region, CreatedAt: c.now}
	set(&v.Name, req.Name)
	set(&v.Description, req.Description)
	if _, ok := c.s.catalog.regions.get(v.Region); !ok {
		return reply{}, unprocessable("region %q is invalid", v.Region)
	}
	if err := firstError(c.validateVPC(&v, nil), c.vpcRange(&v, req.IPRange)); err != nil {
		return reply{}, err
	}
	v.ID = c.s.ids.next()
	// The first network of a region is its default.
	_, exists := c.team.vpcs.get(c.team.defaultVPCID(v.Region))
	v.Default = !exists
	return jsonReply(http.StatusCreated, map[string]any{"vpc": c.s.makeVPC(c.team, v)})
}

func (c *call) validateVPC(v, old *VPC) error {
	switch {
	case !vpcName.MatchString(v.Name):
		return unprocessable("name is invalid: letters, digits, dots and dashes are allowed, 1 to 255")
	case len(v.Description) > 255:
		return unprocessable("description must have at most 255 characters")
	}
	for other := range c.team.vpcs.all() {
		if other.Name == v.Name && other != old {
			return unprocessable("name is not unique")
		}
	}
	return nil
}

// vpcRange checks the range that was asked for, if any.
func (c *call) vpcRange(v *VPC, text string) error {
	if text == "" {
		return nil
	}
	prefix, err := netip.ParsePrefix(text)
	within := func(outer netip.Prefix) bool { return outer.Overlaps(prefix) && outer.Bits() <= prefix.Bits() }
	switch {
	case err != nil || prefix != prefix.Masked() || prefix.Bits() < 16 || prefix.Bits() > 28 || !slices.ContainsFunc(privatePrefixes, within):
		return unprocessable("ip_range must be a private IPv4 network of /16 to /28")
	case slices.ContainsFunc(takenPrefixes, prefix.Overlaps):
		return unprocessable("ip_range %s is reserved", prefix)
	}
	if other := c.team.overlapping(prefix); other != nil {
		return unprocessable("ip_range %s overlaps with that of %s", prefix, other.Name)
	}
	v.IPRange = prefix.String()
	return nil
}

// updateVPC serves PUT, which needs the name, and PATCH.
func updateVPC(c *call) (reply, error) {
	v, err := c.vpc()
	if err != nil {
		return reply{}, err
	}
	var req vpcRequest
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	if c.method == http.MethodPut && req.Name == nil {
		return reply{}, unprocessable("name is required")
	}
	changed := *v
	set(&changed.Name, req.Name)
	set(&changed.Description, req.Description)
	set(&changed.Default, req.Default)
	if v.Default && !changed.Default {
		return reply{}, unprocessable("default cannot be unset; make another VPC the default")
	}
	if err := c.validateVPC(&changed, v); err != nil {
		return reply{}, err
	}
	if changed.Default {
		for other := range c.team.vpcs.all() {
			other.Default = other.Default && other.Region != v.Region
		}
	}
	*v = changed
	return jsonReply(http.StatusOK, map[string]any{"vpc": v})
}

func deleteVPC(c *call) (reply, error) {
	v, err := c.vpc()
	switch {
	case err != nil:
		return reply{}, err
	case v.Default:
		return reply{}, forbidden("Can not delete default VPCs")
	case len(c.vpcMembers(v, "")) > 0:
		return reply{}, conflict("Can not delete VPC with members")
	}
	for _, s := range c.team.subnetsOf(v.ID) {
		c.team.subnets.remove(s.ID)
	}
	c.team.vpcs.remove(v.ID)
	return noContent()
}

// vpcMembers lists what is in a VPC, of one kind or, for "", of all.
func (c *call) vpcMembers(v *VPC, kind string) []VPCMember {
	members := []VPCMember{}
	for d := range c.team.droplets.all() {
		if d.VPCUUID == v.ID && (kind == "" || kind == "droplet") {
			members = append(members, VPCMember{fmt.Sprintf("do:droplet:%d", d.ID), d.Name, d.CreatedAt})
		}
	}
	for lb := range c.team.loadBalancers.all() {
		if lb.VPCUUID == v.ID && (kind == "" || kind == "loadbalancer" || kind == "load_balancer") {
			members = append(members, VPCMember{"do:loadbalancer:" + lb.ID, lb.Name, lb.CreatedAt})
		}
	}
	return members
}

func listVPCMembers(c *call) (reply, error) {
	v, err := c.vpc()
	if err != nil {
		return reply{}, err
	}
	return list(c, "members", c.vpcMembers(v, c.query.Get("resource_type")), same[VPCMember])
}
