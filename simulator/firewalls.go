package simulator

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	firewallWaiting   = "waiting"
	firewallSucceeded = "succeeded"
)

// FirewallTarget is where traffic of a rule comes from or goes to. Load
// balancers are named by their ids.
type FirewallTarget struct {
	Addresses        []string `json:"addresses,omitempty"`
	DropletIDs       []int    `json:"droplet_ids,omitempty"`
	Tags             []string `json:"tags,omitempty"`
	LoadBalancerUIDs []string `json:"load_balancer_uids,omitempty"`
	KubernetesIDs    []string `json:"kubernetes_ids,omitempty"`
}

// InboundRule allows traffic to droplets. Ports is "0" for all, a port or a
// range like "8000-9000".
type InboundRule struct {
	Protocol string          `json:"protocol"` // tcp, udp or icmp
	Ports    string          `json:"ports"`
	Sources  *FirewallTarget `json:"sources"`
	Action   string          `json:"action,omitempty"` // allow or deny
}

// OutboundRule allows traffic from droplets; see InboundRule.
type OutboundRule struct {
	Protocol     string          `json:"protocol"`
	Ports        string          `json:"ports"`
	Destinations *FirewallTarget `json:"destinations"`
	Action       string          `json:"action,omitempty"`
}

// PendingChange is a droplet that a firewall is being put on or taken from.
type PendingChange struct {
	DropletID int    `json:"droplet_id"`
	Removing  bool   `json:"removing"`
	Status    string `json:"status"` // waiting, or failed
}

// Firewall is a cloud firewall as the API shows it. DropletIDs are those
// attached by hand, without those that carry one of Tags.
type Firewall struct {
	ID             string          `json:"id"`
	Name           string          `json:"name"`
	Status         string          `json:"status"` // waiting, succeeded or failed
	CreatedAt      time.Time       `json:"created_at"`
	PendingChanges []PendingChange `json:"pending_changes"`
	InboundRules   []InboundRule   `json:"inbound_rules"`
	OutboundRules  []OutboundRule  `json:"outbound_rules"`
	DropletIDs     []int           `json:"droplet_ids"`
	Tags           []string        `json:"tags"`
}

// firewall is a firewall in the state that it has when its changes are applied.
// Its PendingChanges are shown until appliedAt.
type firewall struct {
	Firewall
	appliedAt time.Time
	// reads is how often it has to be read before it is applied.
	reads int
	// forced is a status set by hand, until the next write.
	forced string
}

// show is the firewall as it is read at now.
func (f *firewall) show(now time.Time) Firewall {
	v := f.Firewall
	switch {
	case f.forced != "":
		v.Status = f.forced
	case (now.Before(f.appliedAt) || f.reads > 0) && len(f.PendingChanges) > 0:
		v.Status = firewallWaiting
	default:
		v.Status = firewallSucceeded
	}
	if v.Status == firewallSucceeded {
		v.PendingChanges = []PendingChange{}
	}
	return v
}

// fresh is how a write shows the firewall: nothing is applied yet.
func (f *firewall) fresh() Firewall {
	return f.show(f.appliedAt.Add(-1))
}

func (f Firewall) clone() Firewall {
	f.PendingChanges = slices.Clone(f.PendingChanges)
	f.DropletIDs, f.Tags = slices.Clone(f.DropletIDs), slices.Clone(f.Tags)
	f.InboundRules, f.OutboundRules = slices.Clone(f.InboundRules), slices.Clone(f.OutboundRules)
	for i := range f.InboundRules {
		f.InboundRules[i].Sources = f.InboundRules[i].Sources.clone()
	}
	for i := range f.OutboundRules {
		f.OutboundRules[i].Destinations = f.OutboundRules[i].Destinations.clone()
	}
	return f
}

func (t *FirewallTarget) clone() *FirewallTarget {
	if t == nil {
		return nil
	}
	return &FirewallTarget{
		Addresses: slices.Clone(t.Addresses), DropletIDs: slices.Clone(t.DropletIDs), Tags: slices.Clone(t.Tags),
		LoadBalancerUIDs: slices.Clone(t.LoadBalancerUIDs), KubernetesIDs: slices.Clone(t.KubernetesIDs),
	}
}

// covers tells whether a firewall reaches a droplet, by hand or by tag.
func (f *Firewall) covers(d *droplet) bool {
	return slices.Contains(f.DropletIDs, d.ID) || slices.ContainsFunc(f.Tags, func(name string) bool {
		return slices.ContainsFunc(d.Tags, func(n string) bool { return strings.EqualFold(n, name) })
	})
}

// coveredBy lists the droplets that a firewall reaches.
func (t *team) coveredBy(f *Firewall) map[int]bool {
	ids := map[int]bool{}
	for _, id := range f.DropletIDs {
		ids[id] = true
	}
	for _, name := range f.Tags {
		for _, d := range t.dropletsTagged(name) {
			ids[d.ID] = true
		}
	}
	return ids
}

// forgetDroplet takes a droplet that is gone out of a firewall.
func (f *firewall) forgetDroplet(id int) {
	f.DropletIDs = withoutID(f.DropletIDs, id)
	f.PendingChanges = slices.DeleteFunc(slices.Clone(f.PendingChanges), func(p PendingChange) bool { return p.DropletID == id })
}

func addFirewallRoutes(t *router) {
	t.add(http.MethodGet, "/v2/firewalls", lagging(listFirewalls))
	t.add(http.MethodPost, "/v2/firewalls", createFirewall)
	t.add(http.MethodGet, "/v2/firewalls/{id}", getFirewall)
	t.add(http.MethodPut, "/v2/firewalls/{id}", updateFirewall)
	t.add(http.MethodDelete, "/v2/firewalls/{id}", deleteFirewall)
	t.add(http.MethodPost, "/v2/firewalls/{id}/droplets", changeFirewall((*firewallChange).addDroplets))
	t.add(http.MethodDelete, "/v2/firewalls/{id}/droplets", changeFirewall((*firewallChange).removeDroplets))
	t.add(http.MethodPost, "/v2/firewalls/{id}/tags", changeFirewall((*firewallChange).addTags))
	t.add(http.MethodDelete, "/v2/firewalls/{id}/tags", changeFirewall((*firewallChange).removeTags))
	t.add(http.MethodPost, "/v2/firewalls/{id}/rules", changeFirewall((*firewallChange).addRules))
	t.add(http.MethodDelete, "/v2/firewalls/{id}/rules", changeFirewall((*firewallChange).removeRules))
	t.add(http.MethodGet, "/v2/droplets/{id}/firewalls", listDropletFirewalls)
}

// firewall finds the firewall that the path names among the team's.
func (c *call) firewall() (*firewall, error) {
	return c.team.firewalls.find(c.params["id"])
}

func (c *call) readFirewall(f *firewall) Firewall {
	v := f.show(c.now)
	c.countRead(&f.reads)
	return v
}

func listFirewalls(c *call) (reply, error) {
	return list(c, "firewalls", slices.Collect(c.team.firewalls.newest()), c.readFirewall)
}

func getFirewall(c *call) (reply, error) {
	f, err := c.firewall()
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, map[string]any{"firewall": c.readFirewall(f)})
}

func deleteFirewall(c *call) (reply, error) {
	f, err := c.firewall()
	if err != nil {
		return reply{}, err
	}
	c.team.firewalls.remove(f.ID)
	return noContent()
}

// listDropletFirewalls lists those that reach a droplet by tag too.
func listDropletFirewalls(c *call) (reply, error) {
	d, err := c.droplet()
	if err != nil {
		return reply{}, err
	}
	found := []*firewall{}
	for f := range c.team.firewalls.newest() {
		if f.covers(d) {
			found = append(found, f)
		}
	}
	return list(c, "firewalls", found, c.readFirewall)
}
