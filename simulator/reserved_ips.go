package simulator

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// reservedPrefix is apart from the addresses of droplets and load balancers.
var reservedPrefix = netip.MustParsePrefix("198.19.128.0/17")

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

func addReservedIPRoutes(t *router) {
	t.add(http.MethodGet, "/v2/reserved_ips", func(c *call) (reply, error) {
		return list(c, "reserved_ips", slices.Collect(c.team.reservedIPs.newest()), c.showReservedIP)
	})
	t.add(http.MethodPost, "/v2/reserved_ips", createReservedIP)
	t.add(http.MethodGet, "/v2/reserved_ips/{ip}", getReservedIP)
	t.add(http.MethodDelete, "/v2/reserved_ips/{ip}", deleteReservedIP)
	t.add(http.MethodPost, "/v2/reserved_ips/{ip}/actions", postReservedIPAction)
	t.add(http.MethodGet, "/v2/reserved_ips/{ip}/actions", listReservedIPActions)
	t.add(http.MethodGet, "/v2/reserved_ips/{ip}/actions/{action}", getReservedIPAction)
}

func (c *call) reservedIP() (*reservedIP, error) {
	return c.team.reservedIPs.find(c.params["ip"])
}

// createReservedIP makes an address for a region, or for a droplet, to which it
// is assigned.
func createReservedIP(c *call) (reply, error) {
	var req struct {
		DropletID int    `json:"droplet_id"`
		Region    string `json:"region"`
		ProjectID string `json:"project_id"`
	}
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	region, ok := c.s.catalog.regions.get(req.Region)
	if req.DropletID != 0 {
		d, err := c.freeDroplet(req.DropletID)
		if err != nil {
			return reply{}, err
		}
		region, ok = d.Region, true
	}
	if !ok {
		return reply{}, unprocessable("either a droplet_id or an available region is required")
	}
	if _, known := c.team.projects.get(req.ProjectID); req.ProjectID != "" && !known {
		return reply{}, unprocessable("project %s could not be found", req.ProjectID)
	}
	r := &reservedIP{
		ip: c.s.addresses.take(reservedPrefix), region: region, project: req.ProjectID, createdAt: c.now.Truncate(time.Second),
	}
	c.team.reservedIPs.add(r.ip, r)
	answer := map[string]any{"reserved_ip": c.showReservedIP(r), "links": map[string]any{}}
	if req.DropletID != 0 {
		a := c.startReservedIP(r, "assign_ip", req.DropletID)
		answer["links"] = map[string]any{
			"droplets": []actionLink{{req.DropletID, "droplets", fmt.Sprintf("%s/v2/droplets/%d", c.base, req.DropletID)}},
			"actions":  []actionLink{{a.ID, "assign_ip", fmt.Sprintf("%s/v2/actions/%d", c.base, a.ID)}},
		}
	}
	return jsonReply(http.StatusAccepted, answer)
}

// freeDroplet finds a droplet that has no reserved address.
func (c *call) freeDroplet(id int) (*droplet, error) {
	d, ok := c.team.droplets.get(id)
	if !ok {
		return nil, unprocessable("droplet %d could not be found", id)
	}
	for r := range c.team.reservedIPs.all() {
		if r.dropletID == id {
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
	return jsonReply(http.StatusOK, map[string]any{"reserved_ip": c.showReservedIP(r)})
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

func postReservedIPAction(c *call) (reply, error) {
	r, err := c.reservedIP()
	if err != nil {
		return reply{}, err
	}
	var req struct {
		Type      string `json:"type"`
		DropletID int    `json:"droplet_id"`
	}
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	if r.pendingAction != nil {
		return reply{}, unprocessable("The reserved IP already has a pending event.")
	}
	switch req.Type {
	case "assign":
		d, err := c.freeDroplet(req.DropletID)
		if err != nil {
			return reply{}, err
		}
		if d.Region.Slug != r.region.Slug {
			return reply{}, unprocessable("the droplet is not in the region of the reserved IP")
		}
		return jsonReply(http.StatusCreated, map[string]any{"action": c.startReservedIP(r, "assign_ip", d.ID)})
	case "unassign":
		if r.dropletID == 0 {
			return reply{}, unprocessable("The reserved IP is not assigned.")
		}
		return jsonReply(http.StatusCreated, map[string]any{"action": c.startReservedIP(r, "unassign_ip", 0)})
	}
	return reply{}, unprocessable("type %q is invalid, must be one of assign, unassign", req.Type)
}

// startReservedIP begins to assign an address to a droplet, or to none.
func (c *call) startReservedIP(r *reservedIP, kind string, dropletID int) Action {
	c.s.lastActionID++
	a := &action{
		Action: Action{
			ID: c.s.lastActionID, Status: "in-progress", Type: kind, StartedAt: c.now.Truncate(time.Second),
			ResourceID: addressNumber(r.ip), ResourceType: "reserved_ip", Region: r.region, RegionSlug: r.region.Slug,
		},
		reserved: r, assignee: dropletID, completeAt: c.now.Add(c.s.settings.ActionDuration),
	}
	c.team.actions.add(a.ID, a)
	r.pendingAction = a
	c.s.running = append(c.s.running, a)
	return a.Action
}

// addressNumber is the address as an integer, which identifies it in actions.
func addressNumber(ip string) int {
	b := netip.MustParseAddr(ip).As4()
	return int(b[0])<<24 | int(b[1])<<16 | int(b[2])<<8 | int(b[3])
}

func listReservedIPActions(c *call) (reply, error) {
	r, err := c.reservedIP()
	if err != nil {
		return reply{}, err
	}
	return listActionsOf(c, func(a *action) bool { return a.reserved == r })
}

func getReservedIPAction(c *call) (reply, error) {
	r, err := c.reservedIP()
	if err != nil {
		return reply{}, err
	}
	id, err := strconv.Atoi(c.params["action"])
	if err != nil {
		return reply{}, notFound()
	}
	a, ok := c.team.actions.get(id)
	if !ok || a.reserved != r {
		return reply{}, notFound()
	}
	return jsonReply(http.StatusOK, map[string]any{"action": a.show(c.now)})
}
