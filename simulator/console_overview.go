package simulator

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The page is read again every second, so it shows the newest of many objects;
// the search finds the others.
const (
	shownDroplets = 100
	shownObjects  = 50
	shownBackends = 60
)

// overviewQuery says what the console's page looks at: a team ("" is the home
// team), objects with a text in them, requests with a text and of a kind
// (writes, failed, or all).
type overviewQuery struct {
	team, text       string
	logText, logKind string
}

// listing is the newest objects of a kind. Found counts those that match the
// search, Total all of them.
type listing[T any] struct {
	Items []T `json:"items"`
	Found int `json:"found"`
	Total int `json:"total"`
}

// overview is what the console's page shows.
type overview struct {
	Time          time.Time                 `json:"time"`
	Team          string                    `json:"team"`
	Teams         []string                  `json:"teams"`
	Droplets      listing[dropletLine]      `json:"droplets"`
	LoadBalancers listing[loadBalancerCard] `json:"load_balancers"`
	Firewalls     listing[firewallCard]     `json:"firewalls"`
	Certificates  listing[Certificate]      `json:"certificates"`
	Tags          listing[tagLine]          `json:"tags"`
	Faults        []Fault                   `json:"faults"`
	Traffic       traffic                   `json:"traffic"`
}

// dropletLine is a droplet without what it shares with others of its size.
type dropletLine struct {
	ID          int      `json:"id"`
	Name        string   `json:"name"`
	Status      string   `json:"status"`
	Locked      bool     `json:"locked"`
	Region      string   `json:"region"`
	Size        string   `json:"size"`
	PublicIPv4  string   `json:"public_ipv4"`
	PrivateIPv4 string   `json:"private_ipv4"`
	PublicIPv6  string   `json:"public_ipv6"`
	Tags        []string `json:"tags"`
}

// backendLine is a droplet behind a load balancer.
type backendLine struct {
	ID     int    `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
}

// loadBalancerCard is a load balancer with its backends in place of their ids.
type loadBalancerCard struct {
	LoadBalancer
	Region     string        `json:"region"`
	DropletIDs []int         `json:"droplet_ids,omitempty"`
	Backends   []backendLine `json:"backends"`
	// BackendCount and BackendsOn count all, also those beyond Backends.
	BackendCount int `json:"backend_count"`
	BackendsOn   int `json:"backends_on"`
}

// firewallCard is a firewall with the number of droplets that it reaches.
type firewallCard struct {
	Firewall
	Covered int `json:"covered"`
}

type tagLine struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

func (s *Simulator) overview(q overviewQuery, now time.Time) overview {
	name := q.team
	if name == "" {
		name = s.homeTeam
	}
	t := s.teams[name]
	if t == nil {
		t = newTeam(name) // not made for being looked at
	}
	view := overview{
		Time: now, Team: name, Teams: slices.Clone(s.teamOrder), Faults: []Fault{},
		Traffic: s.traffic(q, name, now),
	}
	if !slices.Contains(view.Teams, name) {
		view.Teams = append(view.Teams, name)
	}
	for _, f := range s.faults.faults {
		view.Faults = append(view.Faults, *f)
	}
	text := strings.ToLower(strings.TrimSpace(q.text))
	view.Droplets = listed(t.droplets.newest(), shownDroplets, text, func(d *droplet) dropletLine { return d.line(now) })
	view.LoadBalancers = listed(t.loadBalancers.newest(), shownObjects, text, func(lb *loadBalancer) loadBalancerCard {
		return s.card(t, lb, now)
	})
	view.Firewalls = listed(t.firewalls.newest(), shownObjects, text, func(f *firewall) firewallCard {
		return firewallCard{f.show(now), len(t.coveredBy(&f.Firewall))}
	})
	view.Certificates = listed(t.certificates.newest(), shownObjects, text, func(c *certificate) Certificate { return c.show(now) })
	view.Tags = listed(t.tags.newest(), shownDroplets, text, func(found *tag) tagLine {
		return tagLine{found.name, t.showTag(found, "").Resources.Count}
	})
	return view
}

// searchable is an object that the search can look at without making its view.
type searchable interface {
	// words are what the search finds an object by.
	words() []string
}

// listed walks all objects for their number, and shows the first that match.
func listed[T searchable, V any](all iter.Seq[T], limit int, text string, show func(T) V) listing[V] {
	found := listing[V]{Items: []V{}}
	for object := range all {
		found.Total++
		if text != "" && !containsText(object.words(), text) {
			continue
		}
		found.Found++
		if len(found.Items) < limit {
			found.Items = append(found.Items, show(object))
		}
	}
	return found
}

// containsText takes text in lower case.
func containsText(words []string, text string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(w), text) })
}

func (d *droplet) words() []string {
	return slices.Concat([]string{d.Name, strconv.Itoa(d.ID), d.SizeSlug, d.Region.Slug}, d.Tags, d.addresses())
}

func (lb *loadBalancer) words() []string {
	return slices.Concat([]string{lb.Name, lb.ID, lb.IP, lb.IPv6, lb.Tag}, lb.Tags)
}

func (f *firewall) words() []string { return append([]string{f.Name, f.ID}, f.Tags...) }

func (c *certificate) words() []string { return append([]string{c.Name, c.ID}, c.DNSNames...) }

func (t *tag) words() []string { return []string{t.name} }

func (d *droplet) line(now time.Time) dropletLine {
	v := d.show(now)
	line := dropletLine{
		ID: v.ID, Name: v.Name, Status: v.Status, Locked: v.Locked, Region: v.Region.Slug, Size: v.SizeSlug,
		Tags: append([]string{}, v.Tags...),
	}
	for _, n := range v.Networks.V4 {
		if n.Type == "public" {
			line.PublicIPv4 = n.IPAddress
		} else {
			line.PrivateIPv4 = n.IPAddress
		}
	}
	if len(v.Networks.V6) > 0 {
		line.PublicIPv6 = v.Networks.V6[0].IPAddress
	}
	return line
}

func (s *Simulator) card(t *team, lb *loadBalancer, now time.Time) loadBalancerCard {
	v := s.showLoadBalancer(t, lb, now)
	card := loadBalancerCard{LoadBalancer: v, Backends: []backendLine{}, BackendCount: len(v.DropletIDs)}
	if v.Region != nil {
		card.Region = v.Region.Slug
	}
	for _, id := range v.DropletIDs {
		line := backendLine{ID: id, Name: strconv.Itoa(id), Status: "missing"}
		if d, ok := t.droplets.get(id); ok {
			line.Name, line.Status = d.Name, d.show(now).Status
		}
		if line.Status == statusActive {
			card.BackendsOn++
		}
		if len(card.Backends) < shownBackends {
			card.Backends = append(card.Backends, line)
		}
	}
	return card
}
