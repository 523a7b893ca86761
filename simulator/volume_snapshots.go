package simulator

import (
	"net/http"
	"slices"
	"time"
)

// VolumeSnapshot is a snapshot of a volume as the API shows it. The simulator
// has no snapshots of droplets.
type VolumeSnapshot struct {
	ID            string    `json:"id"`
	Name          string    `json:"name"`
	CreatedAt     time.Time `json:"created_at"`
	Regions       []string  `json:"regions"`
	MinDiskSize   int       `json:"min_disk_size"`
	SizeGigabytes float64   `json:"size_gigabytes"`
	ResourceID    string    `json:"resource_id"`
	ResourceType  string    `json:"resource_type"`
	Tags          []string  `json:"tags"`
}

func (c *call) listSnapshotsOf(matches func(*VolumeSnapshot) bool) (reply, error) {
	found := []*VolumeSnapshot{}
	for s := range c.team.snapshots.newest() {
		if matches(s) {
			found = append(found, s)
		}
	}
	return list(c, "snapshots", found, same[*VolumeSnapshot])
}

func listSnapshots(c *call) (reply, error) {
	kind := c.query.Get("resource_type")
	if kind != "" {
		if err := oneOf("resource_type", kind, "droplet", "volume"); err != nil {
			return reply{}, err
		}
	}
	return c.listSnapshotsOf(func(s *VolumeSnapshot) bool { return kind == "" || s.ResourceType == kind })
}

func listVolumeSnapshots(c *call) (reply, error) {
	v, err := c.volume()
	if err != nil {
		return reply{}, err
	}
	return c.listSnapshotsOf(func(s *VolumeSnapshot) bool { return s.ResourceID == v.ID })
}

func createVolumeSnapshot(c *call) (reply, error) {
	v, err := c.volume()
	if err != nil {
		return reply{}, err
	}
	var req struct {
		Name string   `json:"name"`
		Tags []string `json:"tags"`
	}
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	if req.Name == "" {
		return reply{}, unprocessable("name is required")
	}
	for s := range c.team.snapshots.all() {
		if s.Name == req.Name {
			return reply{}, conflict("a snapshot with this name already exists")
		}
	}
	if err := validateTags(req.Tags); err != nil {
		return reply{}, err
	}
	s := &VolumeSnapshot{
		ID: c.s.ids.next(), Name: req.Name, CreatedAt: c.now.Truncate(time.Second), Regions: []string{v.Region.Slug},
		MinDiskSize: v.SizeGigabytes, ResourceID: v.ID, ResourceType: "volume", Tags: []string{},
	}
	c.team.snapshots.add(s.ID, s)
	for _, name := range req.Tags {
		c.team.tag(tagTarget{snapshot: s}, c.team.ensureTag(name))
	}
	return jsonReply(http.StatusCreated, map[string]any{"snapshot": s})
}

func getSnapshot(c *call) (reply, error) {
	s, err := c.team.snapshots.find(c.params["snapshot"])
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, map[string]any{"snapshot": s})
}

func deleteSnapshot(c *call) (reply, error) {
	s, err := c.team.snapshots.find(c.params["snapshot"])
	if err != nil {
		return reply{}, err
	}
	c.team.snapshots.remove(s.ID)
	return noContent()
}

// clone copies what a caller may want to change.
func (s VolumeSnapshot) clone() VolumeSnapshot {
	s.Regions, s.Tags = slices.Clone(s.Regions), slices.Clone(s.Tags)
	return s
}

func (v Volume) clone() Volume {
	v.DropletIDs, v.Tags = slices.Clone(v.DropletIDs), slices.Clone(v.Tags)
	return v
}
