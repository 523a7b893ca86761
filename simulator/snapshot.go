package simulator

import (
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"time"
)

// snapshotVersion is raised when older snapshots cannot be read any more.
const snapshotVersion = 1

// snapshot is everything that outlives a simulator. Tokens, the request log and
// what is used of the rate limits do not.
type snapshot struct {
	Version       int                   `json:"version"`
	Time          time.Time             `json:"time"`
	Settings      SettingsPatch         `json:"settings"`
	Faults        []Fault               `json:"faults"`
	LastFault     int                   `json:"last_fault"`
	LastDropletID int                   `json:"last_droplet_id"`
	LastActionID  int                   `json:"last_action_id"`
	LastKeyID     int                   `json:"last_key_id"`
	IDs           []byte                `json:"ids"`
	RequestIDs    []byte                `json:"request_ids"`
	Dice          []byte                `json:"dice"`
	NextAddresses map[string]netip.Addr `json:"next_addresses"`
	Networks      int                   `json:"networks"`
	Teams         []teamSnapshot        `json:"teams"`
}

type teamSnapshot struct {
	Name          string                 `json:"name"`
	Projects      []Project              `json:"projects"`
	Tags          []tagSnapshot          `json:"tags"`
	VPCs          []VPC                  `json:"vpcs"`
	Certificates  []certificateSnapshot  `json:"certificates"`
	Droplets      []dropletSnapshot      `json:"droplets"`
	LoadBalancers []loadBalancerSnapshot `json:"load_balancers"`
	Firewalls     []firewallSnapshot     `json:"firewalls"`
	ReservedIPs   []reservedIPSnapshot   `json:"reserved_ips"`
	Actions       []actionSnapshot       `json:"actions"`
	BYOIP         map[string]string      `json:"byoip"`
	Keys          []SSHKey               `json:"ssh_keys"`
	Volumes       []volumeSnapshot       `json:"volumes"`
	Snapshots     []VolumeSnapshot       `json:"snapshots"`
	Subnets       []VPCSubnet            `json:"vpc_subnets"`
}

type tagSnapshot struct {
	Name         string `json:"name"`
	LastDroplet  string `json:"last_droplet,omitempty"`
	Last         string `json:"last,omitempty"`
	LastVolume   string `json:"last_volume,omitempty"`
	LastSnapshot string `json:"last_snapshot,omitempty"`
}

type certificateSnapshot struct {
	Certificate Certificate `json:"certificate"`
	VerifiedAt  time.Time   `json:"verified_at,omitzero"`
	HeldUntil   time.Time   `json:"held_until,omitzero"`
	Reads       int         `json:"reads,omitempty"`
}

// dropletSnapshot names region and image by their slugs; Droplet has the size's.
type dropletSnapshot struct {
	Droplet  Droplet       `json:"droplet"`
	Region   string        `json:"region"`
	Image    string        `json:"image"`
	ActiveAt time.Time     `json:"active_at,omitzero"`
	PublicAt time.Time     `json:"public_at,omitzero"`
	Pending  bool          `json:"pending,omitempty"`
	Hostname string        `json:"hostname"`
	UserData string        `json:"user_data,omitempty"`
	Keys     []string      `json:"keys,omitempty"`
	Backup   *BackupPolicy `json:"backup,omitempty"`
	GPU      bool          `json:"gpu,omitempty"`
	Project  string        `json:"project,omitempty"`
	Reads    int           `json:"reads,omitempty"`
}

type loadBalancerSnapshot struct {
	LoadBalancer LoadBalancer `json:"load_balancer"`
	Region       string       `json:"region,omitempty"`
	ActiveAt     time.Time    `json:"active_at,omitzero"`
	BusyUntil    time.Time    `json:"busy_until,omitzero"`
	ResizedAt    time.Time    `json:"resized_at,omitzero"`
	Forced       string       `json:"forced,omitempty"`
	Fails        bool         `json:"fails,omitempty"`
	Reads        int          `json:"reads,omitempty"`
}

type firewallSnapshot struct {
	Firewall  Firewall  `json:"firewall"`
	AppliedAt time.Time `json:"applied_at,omitzero"`
	Forced    string    `json:"forced,omitempty"`
	Reads     int       `json:"reads,omitempty"`
}

type reservedIPSnapshot struct {
	IP        string    `json:"ip"`
	Region    string    `json:"region"`
	Project   string    `json:"project,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	DropletID int       `json:"droplet_id,omitempty"`
}

// volumeSnapshot is the state of a volume; a snapshot of one is a VolumeSnapshot.
type volumeSnapshot struct {
	Volume  Volume `json:"volume"`
	Region  string `json:"region"`
	Project string `json:"project,omitempty"`
}

// actionSnapshot names the region by its slug, which Action has.
type actionSnapshot struct {
	Action     Action        `json:"action"`
	CompleteAt time.Time     `json:"complete_at"`
	DropletID  int           `json:"droplet_id,omitempty"`
	Request    actionRequest `json:"request,omitzero"`
	ReservedIP string        `json:"reserved_ip,omitempty"`
	Assignee   int           `json:"assignee,omitempty"`
	Volume     string        `json:"volume,omitempty"`
	Gigabytes  int           `json:"gigabytes,omitempty"`
	Running    bool          `json:"running,omitempty"`
	Reads      int           `json:"reads,omitempty"`
}

// Save writes everything that the simulator holds as JSON, for Restore. Tokens
// and the request log are left out.
func (s *Simulator) Save(w io.Writer) error {
	saved, err := s.save()
	if err != nil {
		return fmt.Errorf("save snapshot: %w", err)
	}
	if _, err := w.Write(encode(saved)); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return nil
}

// Restore replaces everything that the simulator holds, settings and faults
// included, by what Save wrote. Times in it are absolute: what was on its way
// then is done by now. Lists that lag know no past but what is restored. On an
// error nothing is changed.
func (s *Simulator) Restore(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("read snapshot: %w", err)
	}
	var saved snapshot
	if err := json.Unmarshal(data, &saved); err != nil {
		return fmt.Errorf("read snapshot: %w", err)
	}
	if err := saved.validate(); err != nil {
		return fmt.Errorf("read snapshot: %w", err)
	}
	s.lock()
	defer s.mu.Unlock()
	if err := s.restore(&saved); err != nil {
		return fmt.Errorf("restore snapshot: %w", err)
	}
	return nil
}

func (s *Simulator) save() (*snapshot, error) {
	now := s.look()
	defer s.mu.Unlock()
	return s.saveLocked(now)
}

// saveLocked shares slices with the simulator, which never changes them in
// place.
func (s *Simulator) saveLocked(now time.Time) (*snapshot, error) {
	saved := &snapshot{
		Version: snapshotVersion, Time: now, Settings: s.settings.asPatch(),
		Faults: []Fault{}, LastFault: s.faults.last,
		LastDropletID: s.lastDropletID, LastActionID: s.lastActionID, LastKeyID: s.lastKeyID,
		NextAddresses: map[string]netip.Addr{}, Networks: s.addresses.networks,
		Teams: []teamSnapshot{},
	}
	for prefix, next := range s.addresses.next {
		saved.NextAddresses[prefix] = next
	}
	for _, f := range s.faults.faults {
		saved.Faults = append(saved.Faults, *f)
	}
	for _, source := range []struct {
		state *[]byte
		from  interface{ MarshalBinary() ([]byte, error) }
	}{{&saved.IDs, s.ids.random}, {&saved.RequestIDs, s.requestIDs.random}, {&saved.Dice, s.faults.source}} {
		state, err := source.from.MarshalBinary()
		if err != nil {
			return nil, fmt.Errorf("state of the seed: %w", err)
		}
		*source.state = state
	}
	running := map[*action]bool{}
	for _, a := range s.running {
		running[a] = true
	}
	for _, name := range s.teamOrder {
		saved.Teams = append(saved.Teams, s.teams[name].save(running))
	}
	return saved, nil
}

func (t *team) save(running map[*action]bool) teamSnapshot {
	saved := teamSnapshot{Name: t.name, BYOIP: map[string]string{}}
	for address, region := range t.byoip {
		saved.BYOIP[address] = region
	}
	for p := range t.projects.all() {
		saved.Projects = append(saved.Projects, *p)
	}
	for found := range t.tags.all() {
		saved.Tags = append(saved.Tags, tagSnapshot{found.name, found.lastDroplet, found.last, found.lastVolume, found.lastSnapshot})
	}
	for v := range t.vpcs.all() {
		saved.VPCs = append(saved.VPCs, *v)
	}
	for cert := range t.certificates.all() {
		saved.Certificates = append(saved.Certificates, certificateSnapshot{cert.Certificate, cert.verifiedAt, cert.heldUntil, cert.reads})
	}
	for f := range t.firewalls.all() {
		saved.Firewalls = append(saved.Firewalls, firewallSnapshot{f.Firewall, f.appliedAt, f.forced, f.reads})
	}
	for r := range t.reservedIPs.all() {
		saved.ReservedIPs = append(saved.ReservedIPs, reservedIPSnapshot{r.ip, r.region.Slug, r.project, r.createdAt, r.dropletID})
	}
	for found := range t.subnets.all() {
		saved.Subnets = append(saved.Subnets, *found)
	}
	for k := range t.keys.all() {
		saved.Keys = append(saved.Keys, *k)
	}
	for v := range t.volumes.all() {
		kept := volumeSnapshot{v.Volume, v.Region.Slug, v.project}
		kept.Volume.Region = nil
		saved.Volumes = append(saved.Volumes, kept)
	}
	for found := range t.snapshots.all() {
		saved.Snapshots = append(saved.Snapshots, *found)
	}
	for d := range t.droplets.all() {
		saved.Droplets = append(saved.Droplets, d.save())
	}
	for lb := range t.loadBalancers.all() {
		saved.LoadBalancers = append(saved.LoadBalancers, lb.save())
	}
	for a := range t.actions.all() {
		saved.Actions = append(saved.Actions, a.save(running[a]))
	}
	return saved
}

func (d *droplet) save() dropletSnapshot {
	saved := dropletSnapshot{
		Droplet: d.Droplet, Region: d.Region.Slug, Image: *d.Image.Slug,
		ActiveAt: d.activeAt, PublicAt: d.publicAt, Pending: d.pending, Hostname: d.hostname, UserData: d.userData, Keys: d.keys, Backup: d.backup, GPU: d.gpu, Project: d.project, Reads: d.reads,
	}
	saved.Droplet.Region, saved.Droplet.Image, saved.Droplet.Size = nil, nil, nil
	return saved
}

func (lb *loadBalancer) save() loadBalancerSnapshot {
	saved := loadBalancerSnapshot{
		LoadBalancer: lb.LoadBalancer, ActiveAt: lb.activeAt, BusyUntil: lb.busyUntil, ResizedAt: lb.resizedAt,
		Forced: lb.forced, Fails: lb.fails, Reads: lb.reads,
	}
	if lb.Region != nil {
		saved.Region, saved.LoadBalancer.Region = lb.Region.Slug, nil
	}
	return saved
}

func (a *action) save(running bool) actionSnapshot {
	saved := actionSnapshot{Action: a.Action, CompleteAt: a.completeAt, Request: a.request, Assignee: a.assignee, Running: running, Reads: a.reads}
	saved.Action.Region = nil
	if a.droplet != nil {
		saved.DropletID = a.droplet.ID
	}
	if a.reserved != nil {
		saved.ReservedIP = a.reserved.ip
	}
	if a.volume != nil {
		saved.Volume, saved.Gigabytes = a.volume.ID, a.gigabytes
	}
	return saved
}
