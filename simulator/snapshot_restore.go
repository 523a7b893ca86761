package simulator

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// validate refuses a snapshot that a simulator could not work with.
func (saved *snapshot) validate() error {
	if saved.Version != snapshotVersion {
		return fmt.Errorf("version %d is not %d", saved.Version, snapshotVersion)
	}
	if err := saved.Settings.validate(); err != nil {
		return err
	}
	for i := range saved.Faults {
		if err := saved.Faults[i].validate(); err != nil {
			return err
		}
	}
	for _, t := range saved.Teams {
		if err := t.validate(); err != nil {
			return fmt.Errorf("team %s: %w", t.Name, err)
		}
	}
	return nil
}

func (saved *teamSnapshot) validate() error {
	if !slices.ContainsFunc(saved.Projects, func(p Project) bool { return p.IsDefault }) {
		return fmt.Errorf("no project is the default")
	}
	networks := map[string]bool{}
	for _, v := range saved.VPCs {
		if _, err := netip.ParsePrefix(v.IPRange); err != nil {
			return fmt.Errorf("VPC %s: %w", v.ID, err)
		}
		networks[v.ID] = true
	}
	for _, d := range saved.Droplets {
		if !networks[d.Droplet.VPCUUID] {
			return fmt.Errorf("droplet %d is in the unknown VPC %q", d.Droplet.ID, d.Droplet.VPCUUID)
		}
	}
	for _, r := range saved.ReservedIPs {
		if a, err := netip.ParseAddr(r.IP); err != nil || a.Zone() != "" {
			return fmt.Errorf("reserved IP %q is no address", r.IP)
		}
	}
	return nil
}

// restore replaces the state. The generators come first, for only they can fail.
func (s *Simulator) restore(saved *snapshot) error {
	ids, requestIDs, faults := newIDSource(0, ""), newIDSource(0, ""), newFaultSet(0)
	for _, source := range []struct {
		state []byte
		into  interface{ UnmarshalBinary([]byte) error }
	}{{saved.IDs, ids.random}, {saved.RequestIDs, requestIDs.random}, {saved.Dice, faults.source}} {
		if err := source.into.UnmarshalBinary(source.state); err != nil {
			return fmt.Errorf("state of the seed: %w", err)
		}
	}
	for _, f := range saved.Faults {
		faults.faults = append(faults.faults, &f)
	}
	faults.last = saved.LastFault
	s.ids, s.requestIDs, s.faults = ids, requestIDs, faults
	s.lastDropletID, s.lastActionID = saved.LastDropletID, saved.LastActionID
	s.lastKeyID = max(saved.LastKeyID, firstKeyID)
	s.settings = defaultSettings()
	s.settings.patch(saved.Settings)
	s.addresses = newAddressBook()
	s.addresses.networks = saved.Networks
	for prefix, next := range saved.NextAddresses {
		s.addresses.next[prefix] = next
	}
	s.teams, s.teamOrder, s.running = map[string]*team{}, nil, nil
	for _, t := range saved.Teams {
		s.restoreTeam(t)
	}
	s.history = history{}
	s.lagChanged()
	return nil
}

func (s *Simulator) restoreTeam(saved teamSnapshot) {
	t := newTeam(saved.Name)
	s.teams[t.name] = t
	s.teamOrder = append(s.teamOrder, t.name)
	for address, region := range saved.BYOIP {
		t.byoip[address] = region
		s.addresses.reserve(address)
	}
	for _, p := range saved.Projects {
		t.projects.add(p.ID, &p)
	}
	for _, v := range saved.Tags {
		t.tags.add(strings.ToLower(v.Name), &tag{
			name: v.Name, lastDroplet: v.LastDroplet, last: v.Last, lastVolume: v.LastVolume, lastSnapshot: v.LastSnapshot,
		})
	}
	for _, v := range saved.VPCs {
		t.vpcs.add(v.ID, &v)
	}
	for _, v := range saved.Certificates {
		t.certificates.add(v.Certificate.ID, &certificate{v.Certificate, v.VerifiedAt, v.Reads, v.HeldUntil})
	}
	for _, v := range saved.Firewalls {
		t.firewalls.add(v.Firewall.ID, &firewall{v.Firewall, v.AppliedAt, v.Reads, v.Forced})
	}
	for _, v := range saved.ReservedIPs {
		s.addresses.reserve(v.IP)
		t.reservedIPs.add(v.IP, &reservedIP{
			ip: v.IP, region: s.catalog.regionFor(v.Region), project: v.Project, createdAt: v.CreatedAt, dropletID: v.DropletID,
		})
	}
	for _, v := range saved.Subnets {
		t.subnets.add(v.ID, &v)
	}
	for _, k := range saved.Keys {
		t.keys.add(k.ID, &k)
	}
	for _, v := range saved.Volumes {
		restored := &volume{Volume: v.Volume, project: v.Project}
		restored.Region = s.catalog.regionFor(v.Region)
		t.volumes.add(restored.ID, restored)
	}
	for _, v := range saved.Snapshots {
		t.snapshots.add(v.ID, &v)
	}
	for _, v := range saved.Droplets {
		s.restoreDroplet(t, v)
	}
	for _, v := range saved.LoadBalancers {
		s.restoreLoadBalancer(t, v)
	}
	for _, v := range saved.Actions {
		s.restoreAction(t, v)
	}
}

func (s *Simulator) restoreDroplet(t *team, saved dropletSnapshot) {
	d := &droplet{
		Droplet: saved.Droplet, activeAt: saved.ActiveAt, publicAt: saved.PublicAt, pending: saved.Pending,
		hostname: saved.Hostname, userData: saved.UserData, keys: saved.Keys, backup: saved.Backup, gpu: saved.GPU, project: saved.Project, reads: saved.Reads,
	}
	d.Region, d.Image = s.catalog.regionFor(saved.Region), s.catalog.imageFor(saved.Image)
	d.Size = s.catalog.sizeFor(d.SizeSlug)
	s.addresses.reserve(d.addresses()...)
	t.droplets.add(d.ID, d)
}

func (s *Simulator) restoreLoadBalancer(t *team, saved loadBalancerSnapshot) {
	lb := &loadBalancer{
		LoadBalancer: saved.LoadBalancer, activeAt: saved.ActiveAt, busyUntil: saved.BusyUntil, resizedAt: saved.ResizedAt,
		forced: saved.Forced, fails: saved.Fails, reads: saved.Reads,
	}
	if saved.Region != "" {
		lb.Region = s.catalog.regionFor(saved.Region)
	}
	s.addresses.reserve(lb.IP, lb.IPv6)
	t.loadBalancers.add(lb.ID, lb)
}

// restoreAction also binds the action to what it works on; what is gone
// meanwhile is worked on no more.
func (s *Simulator) restoreAction(t *team, saved actionSnapshot) {
	a := &action{Action: saved.Action, completeAt: saved.CompleteAt, request: saved.Request, assignee: saved.Assignee, reads: saved.Reads}
	a.Region = s.catalog.regionFor(a.RegionSlug)
	a.droplet, _ = t.droplets.get(saved.DropletID)
	a.reserved, _ = t.reservedIPs.get(saved.ReservedIP)
	a.volume, _ = t.volumes.get(saved.Volume)
	a.gigabytes = saved.Gigabytes
	t.actions.add(a.ID, a)
	switch {
	case !saved.Running:
		return
	case a.droplet != nil:
		a.droplet.pendingAction = a
	case a.reserved != nil:
		a.reserved.pendingAction = a
	case a.volume != nil:
		a.volume.pendingAction = a
	default:
		return
	}
	s.running = append(s.running, a)
}

// undo brings back the state before a change that has failed half-way.
func (s *Simulator) undo(now time.Time, change func() error) error {
	before, err := s.saveLocked(now)
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		if undone := s.restore(before); undone != nil {
			return undone
		}
		return err
	}
	return nil
}
