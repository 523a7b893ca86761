package simulator

import (
	"net/http"
	"net/netip"
	"time"
)

// VPCSubnet is a part of a VPC as the API shows it.
type VPCSubnet struct {
	ID        string    `json:"id"`
	URN       string    `json:"urn"`
	VPCID     string    `json:"vpc_id"`
	Name      string    `json:"name"`
	IPRange   string    `json:"ip_range"`
	Region    string    `json:"region"`
	Type      string    `json:"type"`
	Default   bool      `json:"default"`
	CreatedAt time.Time `json:"created_at"`
}

func addSubnetRoutes(t *router) {
	t.add(http.MethodGet, "/v2/vpcs/{id}/subnets", listSubnets)
	t.add(http.MethodPost, "/v2/vpcs/{id}/subnets", createSubnet)
	t.add(http.MethodGet, "/v2/vpcs/{id}/subnets/{subnet}", getSubnet)
	t.add(http.MethodPatch, "/v2/vpcs/{id}/subnets/{subnet}", updateSubnet)
	t.add(http.MethodDelete, "/v2/vpcs/{id}/subnets/{subnet}", deleteSubnet)
}

// subnet finds the VPC and the subnet that the path names.
func (c *call) subnet() (*VPCSubnet, error) {
	v, err := c.vpc()
	if err != nil {
		return nil, err
	}
	s, err := c.team.subnets.find(c.params["subnet"])
	if err == nil && s.VPCID != v.ID {
		return nil, notFound()
	}
	return s, err
}

func (t *team) subnetsOf(vpc string) []*VPCSubnet {
	found := []*VPCSubnet{}
	for s := range t.subnets.all() {
		if s.VPCID == vpc {
			found = append(found, s)
		}
	}
	return found
}

func listSubnets(c *call) (reply, error) {
	v, err := c.vpc()
	if err != nil {
		return reply{}, err
	}
	return list(c, "vpc_subnets", c.team.subnetsOf(v.ID), same[*VPCSubnet])
}

type subnetRequest struct {
	Name    string `json:"name"`
	IPRange string `json:"ip_range"`
}

func createSubnet(c *call) (reply, error) {
	v, err := c.vpc()
	if err != nil {
		return reply{}, err
	}
	var req subnetRequest
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	outer := netip.MustParsePrefix(v.IPRange)
	if req.IPRange == "" {
		req.IPRange = c.team.freeSubnet(v.ID, outer)
	}
	if err := firstError(c.validateSubnetName(v.ID, req.Name, nil), c.validateSubnetRange(v.ID, outer, req.IPRange)); err != nil {
		return reply{}, err
	}
	s := &VPCSubnet{
		ID: c.s.ids.next(), VPCID: v.ID, Name: req.Name, IPRange: req.IPRange, Region: v.Region, Type: "REGULAR", CreatedAt: c.now,
	}
	s.URN = "do:vpcsubnet:" + s.ID
	c.team.subnets.add(s.ID, s)
	return jsonReply(http.StatusCreated, map[string]any{"vpc_subnet": s})
}

func (c *call) validateSubnetName(vpc, name string, old *VPCSubnet) error {
	if !vpcName.MatchString(name) {
		return unprocessable("name is invalid: letters, digits, dots and dashes are allowed, 1 to 255")
	}
	for _, other := range c.team.subnetsOf(vpc) {
		if other.Name == name && other != old {
			return unprocessable("name is not unique")
		}
	}
	return nil
}

func (c *call) validateSubnetRange(vpc string, outer netip.Prefix, text string) error {
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix != prefix.Masked() || prefix.Bits() > 28 || prefix.Bits() < outer.Bits() || !outer.Overlaps(prefix) {
		return unprocessable("ip_range must be a network within %s, up to /28", outer)
	}
	for _, other := range c.team.subnetsOf(vpc) {
		if netip.MustParsePrefix(other.IPRange).Overlaps(prefix) {
			return unprocessable("ip_range %s overlaps with that of %s", prefix, other.Name)
		}
	}
	return nil
}

// freeSubnet is the first free range of a sixteenth of the VPC, or "".
func (t *team) freeSubnet(vpc string, outer netip.Prefix) string {
	bits := min(outer.Bits()+4, 28)
	for a := outer.Addr(); outer.Contains(a); {
		candidate := netip.PrefixFrom(a, bits)
		free := true
		for _, s := range t.subnetsOf(vpc) {
			free = free && !netip.MustParsePrefix(s.IPRange).Overlaps(candidate)
		}
		if free {
			return candidate.String()
		}
		b := a.As4()
		next := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
		next += 1 << (32 - bits)
		a = netip.AddrFrom4([4]byte{byte(next >> 24), byte(next >> 16), byte(next >> 8), byte(next)})
	}
	return ""
}

func getSubnet(c *call) (reply, error) {
	s, err := c.subnet()
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, map[string]any{"vpc_subnet": s})
}

// updateSubnet renames it; nothing else of it can change.
func updateSubnet(c *call) (reply, error) {
	s, err := c.subnet()
	if err != nil {
		return reply{}, err
	}
	var req subnetRequest
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	if err := c.validateSubnetName(s.VPCID, req.Name, s); err != nil {
		return reply{}, err
	}
	s.Name = req.Name
	return jsonReply(http.StatusOK, map[string]any{"vpc_subnet": s})
}

func deleteSubnet(c *call) (reply, error) {
	s, err := c.subnet()
	if err != nil {
		return reply{}, err
	}
	for lb := range c.team.loadBalancers.all() {
		if lb.SubnetUUID == s.ID {
			return reply{}, conflict("Can not delete subnet with members")
		}
	}
	c.team.subnets.remove(s.ID)
	return noContent()
}
