package simulator

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

const (
	statusNew     = "new"
	statusActive  = "active"
	statusOff     = "off"
	statusErrored = "errored"
)

// droplet is a droplet in the state that it has, or will have once it is ready.
type droplet struct {
	Droplet
	// activeAt is when a droplet made through the API becomes active.
	activeAt time.Time
	// publicAt is when its public addresses appear, if that is later.
	publicAt time.Time
	// reads is how often it has to be read before it is active.
	reads int
	// pending droplets stay new until somebody ends that.
	pending bool
	// hostname is the name at creation, which a rename does not change inside.
	hostname string
	userData string
	// keys are the public keys that were put into it.
	keys []string
	// backup is nil for a droplet without backups.
	backup *BackupPolicy
	gpu    bool
	// project is empty for the default one.
	project string
	// pendingAction is the action in progress, if any.
	pendingAction *action
}

// ready tells whether the droplet has left the status new.
func (d *droplet) ready(now time.Time) bool {
	return !d.pending && d.reads == 0 && !now.Before(d.activeAt)
}

// arrive ends what keeps a droplet new or without addresses.
func (d *droplet) arrive() {
	d.pending, d.activeAt, d.publicAt, d.reads = false, time.Time{}, time.Time{}, 0
}

// show is the droplet as it is read at now. The result shares its slices with
// the droplet, which replaces slices and never changes them in place.
func (d *droplet) show(now time.Time) Droplet {
	v := d.Droplet
	if !d.ready(now) {
		return unready(v)
	}
	v.Locked = d.pendingAction != nil
	if now.Before(d.publicAt) {
		v.Networks = v.Networks.private()
	}
	v.NextBackupWindow = d.backup.next(now)
	return v
}

// unready is how a droplet looks before it is active, and always in the answer
// to its creation.
func unready(v Droplet) Droplet {
	v.Status, v.Locked = statusNew, true
	v.Networks = Networks{V4: []NetworkV4{}, V6: []NetworkV6{}}
	return v
}

// private leaves out the public addresses.
func (n Networks) private() Networks {
	public := func(a NetworkV4) bool { return a.Type == "public" }
	return Networks{V4: slices.DeleteFunc(slices.Clone(n.V4), public), V6: []NetworkV6{}}
}

// clone copies what a caller may want to change; the catalogue's objects (size,
// region, image) stay shared.
func (d Droplet) clone() Droplet {
	d.Tags = slices.Clone(d.Tags)
	d.Features = slices.Clone(d.Features)
	d.Networks.V4 = slices.Clone(d.Networks.V4)
	d.Networks.V6 = slices.Clone(d.Networks.V6)
	return d
}

func (d *droplet) addresses() []string {
	found := []string{}
	for _, n := range d.Networks.V4 {
		found = append(found, n.IPAddress)
	}
	for _, n := range d.Networks.V6 {
		found = append(found, n.IPAddress)
	}
	return found
}

// DropletSpec describes a droplet to add. Every member may be left out.
type DropletSpec struct {
	// Name defaults to "droplet-" and the id.
	Name string `json:"name,omitempty"`
	// Region, Size and Image are slugs, by default nyc3, s-2vcpu-4gb and
	// ubuntu-24-04-x64. Unknown ones are made up.
	Region string `json:"region,omitempty"`
	Size   string `json:"size,omitempty"`
	Image  string `json:"image,omitempty"`
	// VPC is the id of the droplet's network, made if it is not known. Default:
	// the default network of the region.
	VPC string `json:"vpc,omitempty"`
	// Team defaults to the team of the first token.
	Team string `json:"team,omitempty"`
	// Tags that do not exist are made.
	Tags []string `json:"tags,omitempty"`
	// Backups, Monitoring and NoAgent turn the features of these names on and
	// off.
	Backups    bool `json:"backups,omitempty"`
	Monitoring bool `json:"monitoring,omitempty"`
	NoAgent    bool `json:"no_agent,omitempty"`
	// IPv6 gives the droplet a public IPv6 address.
	IPv6 bool `json:"ipv6,omitempty"`
	// NoPublicIPv4 leaves the droplet without a public IPv4 address.
	NoPublicIPv4 bool `json:"no_public_ipv4,omitempty"`
	// Addresses default to free ones: private ones of the VPC, public ones of
	// ranges reserved for documentation.
	PrivateIPv4 string `json:"private_ipv4,omitempty"`
	PublicIPv4  string `json:"public_ipv4,omitempty"`
	PublicIPv6  string `json:"public_ipv6,omitempty"`
	// GPU makes it a GPU droplet, by default of size gpu-h100x1-80gb.
	GPU bool `json:"gpu,omitempty"`
	// Pending keeps the droplet in status new and without addresses until it is
	// started or patched.
	Pending bool `json:"pending,omitempty"`
	// CreatedAt defaults to now.
	CreatedAt time.Time `json:"created_at,omitzero"`
}

// AddDroplet adds a droplet that is active at once, unless it is Pending.
func (s *Simulator) AddDroplet(spec DropletSpec) Droplet {
	now := s.lock()
	defer s.mu.Unlock()
	return s.addDroplet(s.team(spec.Team), spec, now).show(now).clone()
}

func (s *Simulator) addDroplet(t *team, spec DropletSpec, now time.Time) *droplet {
	s.lastDropletID++
	id := s.lastDropletID
	if spec.GPU {
		spec.Size = cmp.Or(spec.Size, defaultGPUSize)
	}
	size := s.catalog.sizeFor(cmp.Or(spec.Size, defaultSize))
	region := s.catalog.regionFor(cmp.Or(spec.Region, defaultRegion))
	if spec.CreatedAt.IsZero() {
		spec.CreatedAt = now
	}
	d := &droplet{
		Droplet: Droplet{
			ID: id, Name: cmp.Or(spec.Name, fmt.Sprintf("droplet-%d", id)), Status: statusActive,
			CreatedAt: spec.CreatedAt.UTC().Truncate(time.Second),
			BackupIDs: []int{}, SnapshotIDs: []int{}, VolumeIDs: []string{},
			Image: s.catalog.imageFor(cmp.Or(spec.Image, defaultImage)), Region: region,
			VPCUUID: s.vpcFor(t, spec.VPC, region.Slug, now).ID,
			Tags:    []string{},
		},
		pending: spec.Pending,
		gpu:     spec.GPU || size.GPUInfo != nil,
	}
	d.hostname = d.Name
	d.resize(size, true)
	d.Networks = s.networksFor(t, d, spec)
	d.Features = spec.features(len(d.Networks.V6) > 0)
	if spec.Backups {
		d.backup = &BackupPolicy{Plan: backupDaily}
	}
	t.droplets.add(id, d)
	for _, name := range spec.Tags {
		t.tagDroplet(d, t.ensureTag(name))
	}
	t.tagged = nil
	return d
}

func (spec DropletSpec) features(ipv6 bool) []string {
	found := []string{}
	for _, f := range []struct {
		name string
		on   bool
	}{
		{"backups", spec.Backups}, {"monitoring", spec.Monitoring}, {"droplet_agent", !spec.NoAgent},
		{"private_networking", true}, {featureIPv6, ipv6},
	} {
		if f.on {
			found = append(found, f.name)
		}
	}
	return found
}

// setFeature turns a feature on or off, in a new slice.
func (d *droplet) setFeature(name string, on bool) {
	d.Features = without(d.Features, name)
	if on {
		d.Features = append(d.Features, name)
	}
}

// resize gives the droplet another size; disks grow only on request.
func (d *droplet) resize(size *Size, disk bool) {
	d.Size, d.SizeSlug = size, size.Slug
	d.Memory, d.VCPUs, d.GPUInfo = size.Memory, size.VCPUs, size.GPUInfo
	if disk {
		d.Disk, d.DiskInfo = size.Disk, size.DiskInfo
	}
}

func (s *Simulator) networksFor(t *team, d *droplet, spec DropletSpec) Networks {
	s.addresses.reserve(spec.PrivateIPv4, spec.PublicIPv4, spec.PublicIPv6)
	private := spec.PrivateIPv4
	if private == "" {
		private = s.addresses.take(s.vpcPrefix(t, d.VPCUUID))
	}
	n := Networks{V4: []NetworkV4{privateV4(private)}, V6: []NetworkV6{}}
	if public := spec.PublicIPv4; !spec.NoPublicIPv4 {
		if public == "" {
			public = s.addresses.take(dropletPrefixes...)
		}
		n.V4 = append(n.V4, publicV4(public))
	}
	if public6 := spec.PublicIPv6; spec.IPv6 || public6 != "" {
		if public6 == "" {
			public6 = s.addresses.take(dropletPrefix6)
		}
		n.V6 = append(n.V6, publicV6(public6))
	}
	return n
}

// vpcPrefix is the address range of a team's VPC.
func (s *Simulator) vpcPrefix(t *team, id string) netip.Prefix {
	v, _ := t.vpcs.get(id)
	return netip.MustParsePrefix(v.IPRange)
}

// Droplet returns a droplet of any team.
func (s *Simulator) Droplet(id int) (Droplet, bool) {
	now := s.lock()
	defer s.mu.Unlock()
	_, d, err := s.teamOfDroplet(id)
	if err != nil {
		return Droplet{}, false
	}
	return d.show(now).clone(), true
}

// Droplets returns the droplets of all teams, oldest first within a team.
func (s *Simulator) Droplets() []Droplet {
	now := s.lock()
	defer s.mu.Unlock()
	found := []Droplet{}
	for _, name := range s.teamOrder {
		for d := range s.teams[name].droplets.all() {
			found = append(found, d.show(now).clone())
		}
	}
	return found
}

// StopDroplet turns a droplet off, as if its power failed. The error wraps
// ErrNotFound.
func (s *Simulator) StopDroplet(id int) error {
	return s.changeDroplet(id, func(_ *team, d *droplet) error {
		d.Status = statusOff
		return nil
	})
}

// StartDroplet turns a droplet on; a pending one becomes active. The error wraps
// ErrNotFound.
func (s *Simulator) StartDroplet(id int) error {
	return s.changeDroplet(id, func(_ *team, d *droplet) error {
		d.Status = statusActive
		d.arrive()
		return nil
	})
}

// DeleteDroplet removes a droplet at once. The error wraps ErrNotFound.
func (s *Simulator) DeleteDroplet(id int) error {
	return s.changeDroplet(id, func(t *team, d *droplet) error {
		s.removeDroplet(t, d)
		return nil
	})
}

func (s *Simulator) changeDroplet(id int, change func(*team, *droplet) error) error {
	s.lock()
	defer s.mu.Unlock()
	t, d, err := s.teamOfDroplet(id)
	if err != nil {
		return err
	}
	return change(t, d)
}
