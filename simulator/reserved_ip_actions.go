package simulator

import (
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/netip"
	"strconv"
	"time"
)

func postReservedIPAction(c *call) (reply, error) {
	r, err := c.reservedIP()
	if err != nil {
		return reply{}, err
	}
	var req struct {
		Type string `json:"type"`
		// DropletID is a number that some clients send as a string.
		DropletID json.Number `json:"droplet_id"`
	}
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	if r.pendingAction != nil {
		return reply{}, unprocessable("The reserved IP already has a pending event.")
	}
	switch req.Type {
	case "assign":
		id, err := strconv.Atoi(req.DropletID.String())
		if err != nil {
			return reply{}, badRequest()
		}
		d, err := c.freeDroplet(id, r.v6())
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
			ResourceID: new(addressNumber(r.ip)), ResourceType: r.resourceType(), Region: r.region, RegionSlug: r.region.Slug,
		},
		reserved: r, assignee: dropletID, completeAt: c.now.Add(c.s.settings.ActionDuration), reads: c.s.settings.ActivationReads,
	}
	c.team.actions.add(a.ID, a)
	r.pendingAction = a
	c.s.running = append(c.s.running, a)
	return a.Action
}

func (r *reservedIP) resourceType() string {
	if r.v6() {
		return "reserved_ipv6"
	}
	return "reserved_ip"
}

// addressNumber is the address as an integer, or its last 32 bits, which
// identifies it in actions.
func addressNumber(ip string) int {
	b := netip.MustParseAddr(ip).AsSlice()
	return int(binary.BigEndian.Uint32(b[len(b)-4:]))
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
	return jsonReply(http.StatusOK, map[string]any{"action": c.readAction(a)})
}
