package simulator

import (
	"net/http"
	"time"
)

// VPC is a private network as the API shows it.
type VPC struct {
	ID          string    `json:"id"`
	URN         string    `json:"urn"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Region      string    `json:"region"` // a slug
	IPRange     string    `json:"ip_range"`
	CreatedAt   time.Time `json:"created_at"`
	Default     bool      `json:"default"`
}

// defaultVPCID is the id that the default VPC of a region has or will have.
func (t *team) defaultVPCID(region string) string {
	for v := range t.vpcs.all() {
		if v.Default && v.Region == region {
			return v.ID
		}
	}
	return t.stableID("vpc/" + region)
}

// vpcFor returns the VPC of this id, or the region's default one for "". It is
// made if it does not exist.
func (s *Simulator) vpcFor(t *team, id, region string, now time.Time) *VPC {
	standard := id == ""
	name := id
	if standard {
		id, name = t.defaultVPCID(region), "default-"+region
	}
	if v, ok := t.vpcs.get(id); ok {
		return v
	}
	return s.makeVPC(t, VPC{ID: id, Name: name, Region: region, Default: standard, CreatedAt: now})
}

func (s *Simulator) makeVPC(t *team, v VPC) *VPC {
	v.URN = "do:vpc:" + v.ID
	for v.IPRange == "" {
		if free := s.addresses.vpcRange(); t.overlapping(free) == nil {
			v.IPRange = free.String()
		}
	}
	t.vpcs.add(v.ID, &v)
	return &v
}

// AddVPC adds a VPC that is not its region's default. An empty team is that of
// the first token.
func (s *Simulator) AddVPC(teamName, name, region string) VPC {
	now := s.lock()
	defer s.mu.Unlock()
	return *s.makeVPC(s.team(teamName), VPC{ID: s.ids.next(), Name: name, Region: region, CreatedAt: now})
}

func addVPCRoutes(t *router) {
	t.add(http.MethodGet, "/v2/vpcs", func(c *call) (reply, error) {
		return list(c, "vpcs", c.team.vpcs.items, same[*VPC])
	})
	t.add(http.MethodPost, "/v2/vpcs", createVPC)
	t.add(http.MethodGet, "/v2/vpcs/{id}", getVPC)
	t.add(http.MethodPut, "/v2/vpcs/{id}", updateVPC)
	t.add(http.MethodPatch, "/v2/vpcs/{id}", updateVPC)
	t.add(http.MethodDelete, "/v2/vpcs/{id}", deleteVPC)
	t.add(http.MethodGet, "/v2/vpcs/{id}/members", listVPCMembers)
	addSubnetRoutes(t)
}

func (c *call) vpc() (*VPC, error) {
	return c.team.vpcs.find(c.params["id"])
}

func getVPC(c *call) (reply, error) {
	v, err := c.vpc()
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, map[string]any{"vpc": v})
}
