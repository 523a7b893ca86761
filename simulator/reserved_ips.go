package simulator

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// These are apart from the addresses of droplets and load balancers.
var (
	reservedPrefix  = netip.MustParsePrefix("198.19.128.0/17")
	reservedPrefix6 = netip.MustParsePrefix("2001:db8:3::/64")
)

// ReservedIPv6 is a reserved IPv6 address as the API shows it.
type ReservedIPv6 struct {
	IP         string    `json:"ip"`
	RegionSlug string    `json:"region_slug"`
	ReservedAt time.Time `json:"reserved_at"`
	Droplet    *Droplet  `json:"droplet"`
}

// ReservedIP is a reserved IPv4 address as the API shows it.
type ReservedIP struct {
	IP        string   `json:"ip"`
	Region    *Region  `json:"region"`
	Droplet   *Droplet `json:"droplet"`
	Locked    bool     `json:"locked"`
	ProjectID string   `json:"project_id"`
}

type reservedIP struct {
	ip        string
	region    *Region
	project   string
	createdAt time.Time
	// dropletID is 0 when the address is assigned to none.
	dropletID int
	// pendingAction is the action in progress, if any.
	pendingAction *action
}

// addressKind is one of the families of calls for reserved addresses.
type addressKind struct {
	// path is the first segment; one and many are the roots of answers.
	path, one, many string
	v6              bool
}

// addressKinds has the old name of the calls for IPv4 too.
var addressKinds = []addressKind{
	{"reserved_ips", "reserved_ip", "reserved_ips", false},
	{"floating_ips", "floating_ip", "floating_ips", false},
	{"reserved_ipv6", "reserved_ipv6", "reserved_ipv6s", true},
}

func (c *call) addressKind() addressKind {
	segment, _, _ := strings.Cut(strings.TrimPrefix(c.path, "/v2/"), "/")
	i := slices.IndexFunc(addressKinds, func(k addressKind) bool { return k.path == segment })
	return addressKinds[i]
}

// v6 tells the family of a reserved address.
func (r *reservedIP) v6() bool { return strings.Contains(r.ip, ":") }

func (c *call) showReservedIP(r *reservedIP) ReservedIP {
	v := ReservedIP{
		IP: r.ip, Region: r.region, Locked: r.pendingAction != nil,
		ProjectID: cmp.Or(r.project, c.team.defaultProjectID()),
	}
	if d, ok := c.team.droplets.get(r.dropletID); ok {
		v.Droplet = new(c.showDroplet(d))
	}
	return v
}

// showAddress is a reserved address in the form of its family.
func (c *call) showAddress(r *reservedIP) any {
	v := c.showReservedIP(r)
	if r.v6() {
		return ReservedIPv6{IP: r.ip, RegionSlug: r.region.Slug, ReservedAt: r.createdAt, Droplet: v.Droplet}
	}
	return v
}

// readAddress is showAddress for what counts as a read.
func (c *call) readAddress(r *reservedIP) any {
	v := c.showAddress(r)
	if r.pendingAction != nil {
		c.countRead(&r.pendingAction.reads)
	}
	return v
}

func addReservedIPRoutes(t *router) {
	for _, kind := range addressKinds {
		path := "/v2/" + kind.path
		t.add(http.MethodGet, path, listReservedIPs)
		t.add(http.MethodPost, path, createReservedIP)
		t.add(http.MethodGet, path+"/{ip}", getReservedIP)
		t.add(http.MethodDelete, path+"/{ip}", deleteReservedIP)
		t.add(http.MethodPost, path+"/{ip}/actions", postReservedIPAction)
		if !kind.v6 {
			t.add(http.MethodGet, path+"/{ip}/actions", listReservedIPActions)
			t.add(http.MethodGet, path+"/{ip}/actions/{action}", getReservedIPAction)
		}
	}
}

func (c *call) reservedIP() (*reservedIP, error) {
	r, err := c.team.reservedIPs.find(c.params["ip"])
	if err == nil && r.v6() != c.addressKind().v6 {
		return nil, notFound()
	}
	return r, err
}

func listReservedIPs(c *call) (reply, error) {
	kind, found := c.addressKind(), []*reservedIP{}
	for r := range c.team.reservedIPs.newest() {
		if r.v6() == kind.v6 {
			found = append(found, r)
		}
	}
	return list(c, kind.many, found, c.readAddress)
}

// reservedIPRequest is the body of a POST; addresses of IPv6 are only for
// regions, which they call by another name.
type reservedIPRequest struct {
	DropletID  int    `json:"droplet_id"`
	Region     string `json:"region"`
	RegionSlug string `json:"region_slug"`
	ProjectID  string `json:"project_id"`
}

// place finds where the address is for.
func (req *reservedIPRequest) place(c *call) (*Region, error) {
	if c.addressKind().v6 {
		req.DropletID, req.Region = 0, req.RegionSlug
	}
	if req.DropletID != 0 {
		d, err := c.freeDroplet(req.DropletID, false)
		if err != nil {
			return nil, err
		}
		return d.Region, nil
	}
	region, ok := c.s.catalog.regions.get(req.Region)
	if !ok {
		return nil, unprocessable("either a droplet_id or an available region is required")
	}
	return region, nil
}

// createReservedIP makes an address for a region, or for a droplet, to which it
// is assigned.
func createReservedIP(c *call) (reply, error) {
	var req reservedIPRequest
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	region, err := req.place(c)
	if err := firstError(err, c.limitReservedIPs()); err != nil {
		return reply{}, err
	}
	if _, known := c.team.projects.get(req.ProjectID); req.ProjectID != "" && !known {
		return reply{}, unprocessable("project %s could not be found", req.ProjectID)
	}
	kind, prefix := c.addressKind(), reservedPrefix
	if kind.v6 {
		prefix = reservedPrefix6
	}
	r := &reservedIP{
		ip: c.s.addresses.take(prefix), region: region, project: req.ProjectID, createdAt: c.now.Truncate(time.Second),
	}
	c.team.reservedIPs.add(r.ip, r)
	answer := map[string]any{kind.one: c.showAddress(r)}
	if kind.v6 {
		return jsonReply(http.StatusCreated, answer)
	}
	answer["links"] = map[string]any{}
	if req.DropletID != 0 {
		a := c.startReservedIP(r, "assign_ip", req.DropletID)
		answer["links"] = map[string]any{
			"droplets": []actionLink{{req.DropletID, "droplets", fmt.Sprintf("%s/v2/droplets/%d", c.base, req.DropletID)}},
			"actions":  []actionLink{{a.ID, "assign_ip", fmt.Sprintf("%s/v2/actions/%d", c.base, a.ID)}},
		}
	}
	return jsonReply(http.StatusAccepted, answer)
}

// freeDroplet finds a droplet that has no reserved address of the family.
func (c *call) freeDroplet(id int, v6 bool) (*droplet, error) {
	d, ok := c.team.droplets.get(id)
	if !ok {
		return nil, unprocessable("droplet %d could not be found", id)
	}
	if v6 && len(d.Networks.V6) == 0 {
		return nil, unprocessable("the droplet has no IPv6 enabled")
	}
	for r := range c.team.reservedIPs.all() {
		if r.dropletID == id && r.v6() == v6 {
			return nil, unprocessable("Droplet already has a reserved IP.")
		}
	}
	return d, nil
}

func getReservedIP(c *call) (reply, error) {
	r, err := c.reservedIP()
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, map[string]any{c.addressKind().one: c.readAddress(r)})
}

func deleteReservedIP(c *call) (reply, error) {
	r, err := c.reservedIP()
	if err != nil {
		return reply{}, err
	}
	c.team.reservedIPs.remove(r.ip)
	c.s.running = slices.DeleteFunc(c.s.running, func(a *action) bool { return a.reserved == r })
	c.s.addresses.release([]string{r.ip})
	return noContent()
}
