package simulator

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"time"
)

const (
	maxVolumeGigabytes  = 16 << 10
	maxVolumesOfDroplet = 15
)

var volumeName = regexp.MustCompile(`^[a-z][a-z0-9\-]{0,63}$`)

// Volume is a block storage volume as the API shows it.
type Volume struct {
	ID              string    `json:"id"`
	Region          *Region   `json:"region"`
	DropletIDs      []int     `json:"droplet_ids"` // at most one
	Name            string    `json:"name"`
	SizeGigabytes   int       `json:"size_gigabytes"`
	Description     string    `json:"description"`
	CreatedAt       time.Time `json:"created_at"`
	FilesystemType  string    `json:"filesystem_type"`
	FilesystemLabel string    `json:"filesystem_label"`
	Tags            []string  `json:"tags"`
}

type volume struct {
	Volume
	// project is empty for the default one.
	project string
	// pendingAction is the action in progress, if any.
	pendingAction *action
}

func (v *volume) attachedTo() int {
	if len(v.DropletIDs) == 0 {
		return 0
	}
	return v.DropletIDs[0]
}

func (c *call) showVolume(v *volume) Volume {
	shown := v.Volume
	if !c.owner.may("tag:read") {
		shown.Tags = []string{}
	}
	return shown
}

func (c *call) readVolume(v *volume) Volume {
	shown := c.showVolume(v)
	if v.pendingAction != nil {
		c.countRead(&v.pendingAction.reads)
	}
	return shown
}

func addVolumeRoutes(t *router) {
	t.add(http.MethodGet, "/v2/volumes", listVolumes)
	t.add(http.MethodPost, "/v2/volumes", createVolume)
	t.add(http.MethodDelete, "/v2/volumes", deleteVolumeByName)
	t.add(http.MethodGet, "/v2/volumes/{volume}", getVolume)
	t.add(http.MethodDelete, "/v2/volumes/{volume}", deleteVolume)
	t.add(http.MethodPost, "/v2/volumes/{volume}/actions", postVolumeAction)
	t.add(http.MethodGet, "/v2/volumes/{volume}/actions", listVolumeActions)
	t.add(http.MethodGet, "/v2/volumes/{volume}/actions/{action}", getVolumeAction)
	t.add(http.MethodGet, "/v2/volumes/{volume}/snapshots", listVolumeSnapshots)
	t.add(http.MethodPost, "/v2/volumes/{volume}/snapshots", createVolumeSnapshot)
	t.add(http.MethodGet, "/v2/snapshots", listSnapshots)
	t.add(http.MethodGet, "/v2/snapshots/{snapshot}", getSnapshot)
	t.add(http.MethodDelete, "/v2/snapshots/{snapshot}", deleteSnapshot)
}

func (c *call) volume() (*volume, error) {
	return c.team.volumes.find(c.params["volume"])
}

// volumesNamed lists the volumes of a name and a region; "" is any.
func (c *call) volumesNamed(name, region string) []*volume {
	found := []*volume{}
	for v := range c.team.volumes.newest() {
		if (name == "" || v.Name == name) && (region == "" || v.Region.Slug == region) {
			found = append(found, v)
		}
	}
	return found
}

func listVolumes(c *call) (reply, error) {
	return list(c, "volumes", c.volumesNamed(c.query.Get("name"), c.query.Get("region")), c.readVolume)
}

func getVolume(c *call) (reply, error) {
	v, err := c.volume()
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, map[string]any{"volume": c.readVolume(v)})
}

// volumeRequest is the body of POST /v2/volumes.
type volumeRequest struct {
	Name            string   `json:"name"`
	Region          string   `json:"region"`
	Description     string   `json:"description"`
	SizeGigabytes   int      `json:"size_gigabytes"`
	SnapshotID      string   `json:"snapshot_id"`
	FilesystemType  string   `json:"filesystem_type"`
	FilesystemLabel string   `json:"filesystem_label"`
	Tags            []string `json:"tags"`
}

func createVolume(c *call) (reply, error) {
	var req volumeRequest
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	if err := firstError(c.fromSnapshot(&req), c.validateVolume(&req)); err != nil {
		return reply{}, err
	}
	region, _ := c.s.catalog.regions.get(req.Region)
	v := &volume{Volume: Volume{
		ID: c.s.ids.next(), Region: region, DropletIDs: []int{}, Name: req.Name, SizeGigabytes: req.SizeGigabytes,
		Description: req.Description, CreatedAt: c.now.Truncate(time.Second),
		FilesystemType: req.FilesystemType, FilesystemLabel: req.FilesystemLabel, Tags: []string{},
	}}
	c.team.volumes.add(v.ID, v)
	for _, name := range req.Tags {
		c.team.tag(tagTarget{volume: v}, c.team.ensureTag(name))
	}
	return jsonReply(http.StatusCreated, map[string]any{"volume": c.showVolume(v)})
}

// fromSnapshot fills in what a volume takes over from its snapshot.
func (c *call) fromSnapshot(req *volumeRequest) error {
	if req.SnapshotID == "" {
		return nil
	}
	s, ok := c.team.snapshots.get(req.SnapshotID)
	if !ok {
		return unprocessable("snapshot %s could not be found", req.SnapshotID)
	}
	if req.Region == "" {
		req.Region = s.Regions[0]
	}
	if !slices.Contains(s.Regions, req.Region) {
		return unprocessable("snapshot %s is not in region %s", s.ID, req.Region)
	}
	if req.SizeGigabytes == 0 {
		req.SizeGigabytes = s.MinDiskSize
	}
	if req.SizeGigabytes < s.MinDiskSize {
		return unprocessable("size_gigabytes must be at least that of the snapshot, %d", s.MinDiskSize)
	}
	return nil
}

func (c *call) validateVolume(req *volumeRequest) error {
	region, ok := c.s.catalog.regions.get(req.Region)
	switch {
	case !ok || !slices.Contains(region.Features, "storage"):
		return unprocessable("region %q is invalid", req.Region)
	case !volumeName.MatchString(req.Name):
		return unprocessable("name is invalid: lower-case letters, digits and dashes are allowed, 1 to 64, beginning with a letter")
	case exceeded(c.s.settings.Limits.Volumes, c.team.volumes.len(), 1):
		return forbidden("failed to create volume: volume/snapshot capacity limit exceeded")
	case len(c.volumesNamed(req.Name, req.Region)) > 0:
		return conflict("a volume with this name already exists in this region")
	}
	return firstError(
		validateTags(req.Tags),
		within("size_gigabytes", req.SizeGigabytes, 1, maxVolumeGigabytes),
		oneOf("filesystem_type", orElse(req.FilesystemType, "ext4"), "ext4", "xfs"),
	)
}

func deleteVolume(c *call) (reply, error) {
	v, err := c.volume()
	if err != nil {
		return reply{}, err
	}
	return c.removeVolume(v)
}

// deleteVolumeByName needs both the name and the region.
func deleteVolumeByName(c *call) (reply, error) {
	name, region := c.query.Get("name"), c.query.Get("region")
	if name == "" || region == "" {
		return reply{}, parameterMissing("name and region")
	}
	found := c.volumesNamed(name, region)
	if len(found) == 0 {
		return reply{}, notFound()
	}
	return c.removeVolume(found[0])
}

func (c *call) removeVolume(v *volume) (reply, error) {
	switch {
	case v.pendingAction != nil:
		return reply{}, unprocessable(textPendingVolume)
	case v.attachedTo() != 0:
		return reply{}, conflict(fmt.Sprintf("the volume is attached to droplet %d", v.attachedTo()))
	}
	c.team.volumes.remove(v.ID)
	return noContent()
}
