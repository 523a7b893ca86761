package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	maxDropletNames = 10
	maxUserData     = 64 << 10
)

var dropletName = regexp.MustCompile(`^[a-zA-Z0-9]?[a-z0-9A-Z.\-]*[a-z0-9A-Z]$`)

// dropletRequest is the body of POST /v2/droplets.
type dropletRequest struct {
	Name             string            `json:"name"`
	Names            []string          `json:"names"`
	Region           string            `json:"region"`
	Size             string            `json:"size"`
	Image            json.RawMessage   `json:"image"`
	IPv6             bool              `json:"ipv6"`
	Tags             []string          `json:"tags"`
	UserData         string            `json:"user_data"`
	VPCUUID          string            `json:"vpc_uuid"`
	PublicNetworking *bool             `json:"public_networking"`
	SSHKeys          []any             `json:"ssh_keys"`
	Volumes          []json.RawMessage `json:"volumes"`
	Backups          bool              `json:"backups"`
	BackupPolicy     *BackupPolicy     `json:"backup_policy"`
	Monitoring       bool              `json:"monitoring"`
	WithAgent        *bool             `json:"with_droplet_agent"`
}

// actionLink is a pointer to an action in an answer.
type actionLink struct {
	ID   int    `json:"id"`
	Rel  string `json:"rel"`
	Href string `json:"href"`
}

func createDroplets(c *call) (reply, error) {
	var req dropletRequest
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	spec, err := req.spec(c)
	if err != nil {
		return reply{}, err
	}
	names := req.Names
	if req.Name != "" {
		names = []string{req.Name}
	}
	keys, errKeys := c.publicKeys(req.SSHKeys)
	volumes, errVolumes := c.volumesFor(spec, len(names), req.Volumes)
	if err := firstError(errKeys, errVolumes, c.limitDroplets(len(names))); err != nil {
		return reply{}, err
	}
	shown, actions := []Droplet{}, []actionLink{}
	for _, name := range names {
		spec.Name = name
		d := c.s.addDroplet(c.team, spec, c.now)
		d.userData = req.UserData
		d.keys = keys
		for _, v := range volumes {
			attach(d, v)
		}
		if d.backup != nil && req.BackupPolicy != nil {
			d.backup = req.BackupPolicy.clone()
		}
		d.activeAt, d.reads = c.now.Add(c.s.settings.DropletActivation), c.s.settings.ActivationReads
		d.publicAt = d.activeAt.Add(c.s.settings.PublicAddressDelay)
		a := c.s.recordAction(c.team, d, "create", c.now, d.activeAt)
		shown = append(shown, unready(d.Droplet))
		actions = append(actions, actionLink{
			ID: a.ID, Rel: "create", Href: fmt.Sprintf("%s/v2/actions/%d", c.base, a.ID),
		})
	}
	answer := map[string]any{"links": map[string]any{"actions": actions}}
	if req.Name != "" {
		answer["droplet"] = shown[0]
	} else {
		answer["droplets"] = shown
	}
	return jsonReply(http.StatusAccepted, answer)
}

// spec checks the request and says what to make, but for the name.
func (req *dropletRequest) spec(c *call) (DropletSpec, error) {
	if err := req.validateNames(); err != nil {
		return DropletSpec{}, err
	}
	region, err := req.region(c)
	if err != nil {
		return DropletSpec{}, err
	}
	image, ok := c.s.catalog.image(imageRef(req.Image))
	if !ok {
		return DropletSpec{}, unprocessable("You specified an invalid image for Droplet creation.")
	}
	public := req.PublicNetworking == nil || *req.PublicNetworking
	spec := DropletSpec{
		Region: region, Size: req.Size, Image: *image.Slug, VPC: req.VPCUUID,
		Tags: req.Tags, IPv6: req.IPv6, NoPublicIPv4: !public,
		Backups: req.Backups, Monitoring: req.Monitoring, NoAgent: req.WithAgent != nil && !*req.WithAgent,
	}
	return spec, req.validateRest(c, region, public)
}

func (req *dropletRequest) validateNames() error {
	names := req.Names
	switch {
	case req.Name != "" && len(req.Names) > 0:
		return unprocessable("name and names cannot be used together")
	case req.Name != "":
		names = []string{req.Name}
	case len(names) == 0:
		return unprocessable("Name can't be blank")
	case len(names) > maxDropletNames:
		return unprocessable("names may have at most %d entries", maxDropletNames)
	}
	for _, name := range names {
		if len(name) > 255 || !dropletName.MatchString(name) {
			return unprocessable("Name Only valid hostname characters are allowed. (a-z, A-Z, 0-9, . and -)")
		}
	}
	return nil
}

// region finds the region with room for the size: the one asked for, the first
// that begins as asked, or any.
func (req *dropletRequest) region(c *call) (string, error) {
	size, ok := c.s.catalog.sizes.get(req.Size)
	if !ok {
		return "", unprocessable("You specified an invalid size for Droplet creation.")
	}
	known := false
	for region := range c.s.catalog.regions.all() {
		if !region.Available || !strings.HasPrefix(region.Slug, req.Region) {
			continue
		}
		known = true
		if slices.Contains(size.Regions, region.Slug) {
			return region.Slug, nil
		}
	}
	if known {
		return "", unprocessable("Size is not available in this region.")
	}
	return "", unprocessable("Region is not available")
}

// imageRef is the slug, or the id in decimal.
func imageRef(image json.RawMessage) string {
	if slug, err := strconv.Unquote(string(image)); err == nil {
		return slug
	}
	return string(image)
}

func (req *dropletRequest) validateRest(c *call, region string, public bool) error {
	if req.VPCUUID != "" {
		v, ok := c.team.vpcs.get(req.VPCUUID)
		if !ok || v.Region != region {
			return unprocessable("vpc_uuid %s is not a VPC of region %s", req.VPCUUID, region)
		}
		if !c.s.addresses.has(netip.MustParsePrefix(v.IPRange), max(1, len(req.Names))) {
			return unprocessable("vpc_uuid %s has no free address left", req.VPCUUID)
		}
	}
	switch {
	case req.IPv6 && !public:
		return unprocessable("ipv6 requires public_networking")
	case len(req.UserData) > maxUserData:
		return unprocessable("user_data must be at most 64 KiB")
	case req.BackupPolicy != nil && !req.Backups:
		return unprocessable("backup_policy requires backups")
	}
	return firstError(req.BackupPolicy.validate(), validateTags(req.Tags))
}
