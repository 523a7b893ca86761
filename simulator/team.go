package simulator

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// team owns everything that its tokens see.
type team struct {
	name          string
	droplets      *collection[int, droplet]
	loadBalancers *collection[string, loadBalancer]
	tags          *collection[string, tag]
	vpcs          *collection[string, VPC]
	certificates  *collection[string, certificate]
	actions       *collection[int, action]
	projects      *collection[string, Project]
	reservedIPs   *collection[string, reservedIP]
	firewalls     *collection[string, firewall]
	keys          *collection[int, SSHKey]
	subnets       *collection[string, VPCSubnet]
	volumes       *collection[string, volume]
	snapshots     *collection[string, VolumeSnapshot]
	// byoip maps addresses that a load balancer may be created with to their
	// region.
	byoip map[string]string
	// tagged indexes droplets by tag; nil when it has to be made anew.
	tagged map[string][]*droplet
}

func newTeam(name string) *team {
	return &team{
		name:          name,
		droplets:      newCollection[int, droplet](),
		loadBalancers: newCollection[string, loadBalancer](),
		tags:          newCollection[string, tag](),
		vpcs:          newCollection[string, VPC](),
		certificates:  newCollection[string, certificate](),
		actions:       newCollection[int, action](),
		projects:      newCollection[string, Project](),
		reservedIPs:   newCollection[string, reservedIP](),
		firewalls:     newCollection[string, firewall](),
		keys:          newCollection[int, SSHKey](),
		subnets:       newCollection[string, VPCSubnet](),
		volumes:       newCollection[string, volume](),
		snapshots:     newCollection[string, VolumeSnapshot](),
		byoip:         map[string]string{},
	}
}

// team returns the team of this name, made on first use; "" is the home team.
func (s *Simulator) team(name string) *team {
	if name == "" {
		name = s.homeTeam
	}
	t, ok := s.teams[name]
	if !ok {
		t = newTeam(name)
		t.addDefaultProject(s.now())
		s.teams[name] = t
		s.teamOrder = append(s.teamOrder, name)
	}
	return t
}

// stableID names what belongs to a team by nature (its own id, its default
// project and VPCs). It depends on names only, so that it outlives a restart.
func (t *team) stableID(kind string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "team:%s/%s", t.name, kind)).String()
}

// teamOfDroplet finds the team that owns a droplet, whoever asks.
func (s *Simulator) teamOfDroplet(id int) (*team, *droplet, error) {
	for _, name := range s.teamOrder {
		if d, ok := s.teams[name].droplets.get(id); ok {
			return s.teams[name], d, nil
		}
	}
	return nil, nil, fmt.Errorf("droplet %d: %w", id, ErrNotFound)
}

func (s *Simulator) teamOfLoadBalancer(id string) (*team, *loadBalancer, error) {
	for _, name := range s.teamOrder {
		if lb, ok := s.teams[name].loadBalancers.get(id); ok {
			return s.teams[name], lb, nil
		}
	}
	return nil, nil, fmt.Errorf("load balancer %s: %w", id, ErrNotFound)
}

// removeDroplet takes a droplet away, also from the load balancers that list it.
func (s *Simulator) removeDroplet(t *team, d *droplet) {
	t.droplets.remove(d.ID)
	t.tagged = nil
	s.addresses.release(d.addresses())
	for lb := range t.loadBalancers.all() {
		lb.DropletIDs = withoutID(lb.DropletIDs, d.ID)
	}
	for f := range t.firewalls.all() {
		f.forgetDroplet(d.ID)
	}
	for r := range t.reservedIPs.all() {
		if r.dropletID == d.ID {
			r.dropletID = 0
		}
		if r.pendingAction != nil && r.pendingAction.assignee == d.ID {
			r.pendingAction.assignee = 0
		}
	}
	for v := range t.volumes.all() {
		if v.attachedTo() == d.ID {
			detach(d, v)
		}
		if v.pendingAction != nil && v.pendingAction.assignee == d.ID {
			v.pendingAction.assignee = 0
		}
	}
	s.running = slices.DeleteFunc(s.running, func(a *action) bool { return a.droplet == d })
}

// withoutID returns the ids but one; the same slice if it is not among them, a
// new one otherwise, for slices here are shared with answers.
func withoutID(ids []int, id int) []int {
	if !slices.Contains(ids, id) {
		return ids
	}
	return slices.DeleteFunc(slices.Clone(ids), func(other int) bool { return other == id })
}
