package simulator

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
)

const textPendingVolume = "The volume already has a pending event."

// volumeActionRequest is the body of POST /v2/volumes/{id}/actions.
type volumeActionRequest struct {
	Type          string `json:"type"`
	DropletID     int    `json:"droplet_id"`
	SizeGigabytes int    `json:"size_gigabytes"`
	Region        string `json:"region"`
}

func postVolumeAction(c *call) (reply, error) {
	v, err := c.volume()
	if err != nil {
		return reply{}, err
	}
	var req volumeActionRequest
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	if err := c.planVolume(v, req); err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusAccepted, map[string]any{"action": c.startVolume(v, req)})
}

func (c *call) planVolume(v *volume, req volumeActionRequest) error {
	switch {
	case v.pendingAction != nil:
		return unprocessable(textPendingVolume)
	case req.Region != "" && req.Region != v.Region.Slug:
		return unprocessable("the volume is not in region %s", req.Region)
	}
	switch req.Type {
	case "attach":
		return c.planAttachment(v, req.DropletID)
	case "detach":
		if v.attachedTo() == 0 || v.attachedTo() != req.DropletID {
			return unprocessable("Attachment not found")
		}
		return nil
	case "resize":
		if req.SizeGigabytes <= v.SizeGigabytes {
			return unprocessable("size_gigabytes must be greater than the current size, %d", v.SizeGigabytes)
		}
		return within("size_gigabytes", req.SizeGigabytes, 1, maxVolumeGigabytes)
	}
	return oneOf("type", req.Type, "attach", "detach", "resize")
}

// planAttachment checks that a volume can be put on a droplet.
func (c *call) planAttachment(v *volume, dropletID int) error {
	d, ok := c.team.droplets.get(dropletID)
	switch {
	case !ok:
		return notFound()
	case v.attachedTo() != 0:
		return unprocessable("This volume is already attached")
	case d.Region.Slug != v.Region.Slug:
		return unprocessable("the droplet is not in the region of the volume")
	case d.pendingAction != nil:
		return unprocessable(textPendingEvent)
	case len(d.VolumeIDs) >= maxVolumesOfDroplet:
		return unprocessable("cannot attach more volumes to the Droplet")
	}
	return nil
}

func (c *call) startVolume(v *volume, req volumeActionRequest) Action {
	c.s.lastActionID++
	a := &action{
		Action: Action{
			ID: c.s.lastActionID, Status: "in-progress", Type: req.Type + "_volume", StartedAt: c.now.Truncate(time.Second),
			ResourceType: "volume", Region: v.Region, RegionSlug: v.Region.Slug,
		},
		volume: v, assignee: v.attachedTo(), gigabytes: v.SizeGigabytes,
		completeAt: c.now.Add(c.s.settings.ActionDuration), reads: c.s.settings.ActivationReads,
	}
	switch req.Type {
	case "attach":
		a.assignee = req.DropletID
	case "detach":
		a.assignee = 0
	case "resize":
		a.Type, a.gigabytes = "resize", req.SizeGigabytes
	}
	c.team.actions.add(a.ID, a)
	v.pendingAction = a
	c.s.running = append(c.s.running, a)
	return a.Action
}

// completeVolume does what a volume's action was begun for.
func (s *Simulator) completeVolume(a *action) {
	v := a.volume
	v.pendingAction, v.SizeGigabytes = nil, a.gigabytes
	if _, d, err := s.teamOfDroplet(v.attachedTo()); err == nil && d.ID != a.assignee {
		detach(d, v)
	}
	if _, d, err := s.teamOfDroplet(a.assignee); err == nil {
		attach(d, v)
	}
}

func attach(d *droplet, v *volume) {
	v.DropletIDs = []int{d.ID}
	d.VolumeIDs = append(without(d.VolumeIDs, v.ID), v.ID)
}

func detach(d *droplet, v *volume) {
	v.DropletIDs = []int{}
	d.VolumeIDs = without(d.VolumeIDs, v.ID)
}

// volumesFor finds the volumes that a new droplet is to have, named by id alone
// or in an object.
func (c *call) volumesFor(spec DropletSpec, droplets int, refs []json.RawMessage) ([]*volume, error) {
	found := []*volume{}
	for _, ref := range refs {
		var id string
		var object struct{ ID string }
		if json.Unmarshal(ref, &id) != nil && json.Unmarshal(ref, &object) != nil {
			return nil, badRequest()
		}
		id = orElse(id, object.ID)
		v, ok := c.team.volumes.get(id)
		switch {
		case !ok:
			return nil, unprocessable("volume %q could not be found", id)
		case v.attachedTo() != 0 || v.pendingAction != nil || droplets > 1:
			return nil, unprocessable("This volume is already attached")
		case v.Region.Slug != spec.Region:
			return nil, unprocessable("volume %q is not in region %s", id, spec.Region)
		case slices.Contains(found, v):
			return nil, unprocessable("volume %q is given twice", id)
		}
		found = append(found, v)
	}
	if len(found) > maxVolumesOfDroplet {
		return nil, unprocessable("cannot attach more volumes to the Droplet")
	}
	return found, nil
}

func listVolumeActions(c *call) (reply, error) {
	v, err := c.volume()
	if err != nil {
		return reply{}, err
	}
	return listActionsOf(c, func(a *action) bool { return a.volume == v })
}

func getVolumeAction(c *call) (reply, error) {
	v, err := c.volume()
	if err != nil {
		return reply{}, err
	}
	id, err := strconv.Atoi(c.params["action"])
	if err != nil {
		return reply{}, notFound()
	}
	a, ok := c.team.actions.get(id)
	if !ok || a.volume != v {
		return reply{}, notFound()
	}
	return jsonReply(http.StatusOK, map[string]any{"action": c.readAction(a)})
}
