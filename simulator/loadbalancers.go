package simulator

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// loadBalancer is a load balancer in the state it will have when it is active.
// DropletIDs are those listed by hand; with Tag set they are found when read.
type loadBalancer struct {
	LoadBalancer
	activeAt  time.Time
	busyUntil time.Time
	resizedAt time.Time
	// forced is a status set by hand, which time does not change.
	forced string
	// reads is how often it has to be read before it is active.
	reads int
	// fails makes it errored where it would become active.
	fails bool
}

func (lb *loadBalancer) status(now time.Time) string {
	switch {
	case lb.forced != "":
		return lb.forced
	case now.Before(lb.activeAt), lb.reads > 0:
		return statusNew
	case lb.fails:
		return statusErrored
	}
	return statusActive
}

// busy tells whether writes are refused.
func (lb *loadBalancer) busy(now time.Time) bool {
	return lb.status(now) == statusNew || now.Before(lb.busyUntil)
}

func (lb *loadBalancer) usesCertificate(id string) bool {
	return slices.ContainsFunc(lb.ForwardingRules, func(r ForwardingRule) bool { return r.CertificateID == id }) ||
		slices.ContainsFunc(lb.Domains, func(d Domain) bool { return d.CertificateID == id })
}

// replaceCertificate makes new slices, for the old ones are shared with answers.
func (lb *loadBalancer) replaceCertificate(from, to string) {
	if !lb.usesCertificate(from) {
		return
	}
	lb.ForwardingRules, lb.Domains = slices.Clone(lb.ForwardingRules), slices.Clone(lb.Domains)
	for i := range lb.ForwardingRules {
		if lb.ForwardingRules[i].CertificateID == from {
			lb.ForwardingRules[i].CertificateID = to
		}
	}
	for i := range lb.Domains {
		if lb.Domains[i].CertificateID == from {
			lb.Domains[i].CertificateID = to
		}
	}
}

// clone copies everything that the value points to, but for the region, which
// is the catalogue's.
func (lb LoadBalancer) clone() LoadBalancer {
	lb.ForwardingRules = slices.Clone(lb.ForwardingRules)
	lb.Tags = slices.Clone(lb.Tags)
	lb.DropletIDs = slices.Clone(lb.DropletIDs)
	lb.Firewall.Allow = slices.Clone(lb.Firewall.Allow)
	lb.Firewall.Deny = slices.Clone(lb.Firewall.Deny)
	lb.TargetLoadBalancerIDs = slices.Clone(lb.TargetLoadBalancerIDs)
	lb.Domains = slices.Clone(lb.Domains)
	if lb.HealthCheck.ProxyProtocol != nil {
		lb.HealthCheck.ProxyProtocol = new(*lb.HealthCheck.ProxyProtocol)
	}
	if lb.GLBSettings != nil {
		settings := *lb.GLBSettings
		settings.RegionPriorities = maps.Clone(settings.RegionPriorities)
		if settings.CDN != nil {
			settings.CDN = new(*settings.CDN)
		}
		lb.GLBSettings = &settings
	}
	return lb
}

// showLoadBalancer is the load balancer as it is read at now.
func (s *Simulator) showLoadBalancer(t *team, lb *loadBalancer, now time.Time) LoadBalancer {
	v := lb.LoadBalancer
	v.Status = lb.status(now)
	if v.Status == statusNew || lb.fails && v.Status == statusErrored {
		v.IP, v.IPv6 = "", ""
	}
	v.DropletIDs = t.targets(&v)
	return v
}

// targets are the ids of the droplets behind a load balancer.
func (t *team) targets(lb *LoadBalancer) []int {
	if lb.Tag == "" {
		return lb.DropletIDs
	}
	ids := []int{}
	for _, d := range t.dropletsTagged(lb.Tag) {
		if lb.VPCUUID == "" || d.VPCUUID == lb.VPCUUID {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// showLoadBalancer is the simulator's of the same name as an answer of the API.
func (c *call) showLoadBalancer(lb *loadBalancer) LoadBalancer {
	v := c.s.showLoadBalancer(c.team, lb, c.now)
	if c.s.settings.HideLoadBalancerTags {
		v.Tags = nil
	}
	return v
}

// readLoadBalancer is showLoadBalancer for what counts as a read.
func (c *call) readLoadBalancer(lb *loadBalancer) LoadBalancer {
	v := c.showLoadBalancer(lb)
	c.countRead(&lb.reads)
	return v
}

// LoadBalancers returns copies of the load balancers of all teams, oldest first
// within a team.
func (s *Simulator) LoadBalancers() []LoadBalancer {
	now := s.lock()
	defer s.mu.Unlock()
	found := []LoadBalancer{}
	for _, name := range s.teamOrder {
		t := s.teams[name]
		for lb := range t.loadBalancers.all() {
			found = append(found, s.showLoadBalancer(t, lb, now).clone())
		}
	}
	return found
}

// EditLoadBalancer changes a load balancer as if by hand in the console: no
// rule is checked and nothing becomes busy. A changed status stays until it is
// changed again. edit runs with the simulator locked and must not use it. The
// error wraps ErrNotFound.
func (s *Simulator) EditLoadBalancer(id string, edit func(*LoadBalancer)) error {
	return s.editLoadBalancer(id, func(lb *LoadBalancer) error {
		edit(lb)
		return nil
	})
}

func (s *Simulator) editLoadBalancer(id string, edit func(*LoadBalancer) error) error {
	now := s.lock()
	defer s.mu.Unlock()
	t, lb, err := s.teamOfLoadBalancer(id)
	if err != nil {
		return err
	}
	before := s.showLoadBalancer(t, lb, now)
	after := before.clone()
	if err := edit(&after); err != nil {
		return fmt.Errorf("edit load balancer %s: %w", id, err)
	}
	after.ID = id
	if after.Status != before.Status {
		lb.forced = after.Status
	}
	// What was hidden while the load balancer was new is kept, unless it was set.
	if after.IP == before.IP {
		after.IP = lb.IP
	}
	if after.IPv6 == before.IPv6 {
		after.IPv6 = lb.IPv6
	}
	// The API never shows null for these.
	after.DropletIDs = unique(after.DropletIDs)
	after.Firewall.Allow = append([]string{}, after.Firewall.Allow...)
	after.Firewall.Deny = append([]string{}, after.Firewall.Deny...)
	lb.LoadBalancer = after.clone()
	return nil
}

// DeleteLoadBalancer removes a load balancer at once, as if by hand in the
// console. The error wraps ErrNotFound.
func (s *Simulator) DeleteLoadBalancer(id string) error {
	now := s.lock()
	defer s.mu.Unlock()
	t, lb, err := s.teamOfLoadBalancer(id)
	if err != nil {
		return err
	}
	s.removeLoadBalancer(t, lb, now)
	return nil
}

func (s *Simulator) removeLoadBalancer(t *team, lb *loadBalancer, now time.Time) {
	s.holdCertificates(t, lb, now)
	t.loadBalancers.remove(lb.ID)
	s.addresses.release([]string{lb.IP, lb.IPv6})
	if _, ok := t.byoip[lb.IP]; ok {
		s.addresses.reserve(lb.IP)
	}
}

// loadBalancersPath is the list of load balancers.
const loadBalancersPath = "/v2/load_balancers"

func addLoadBalancerRoutes(t *router) {
	t.add(http.MethodGet, loadBalancersPath, lagging(listLoadBalancers))
	t.add(http.MethodPost, loadBalancersPath, createLoadBalancer)
	t.add(http.MethodGet, "/v2/load_balancers/{id}", getLoadBalancer)
	t.add(http.MethodPut, "/v2/load_balancers/{id}", updateLoadBalancer)
	t.add(http.MethodDelete, "/v2/load_balancers/{id}", deleteLoadBalancer)
	t.add(http.MethodDelete, "/v2/load_balancers/{id}/cache", purgeCache)
	t.add(http.MethodPost, "/v2/load_balancers/{id}/droplets", addMembers)
	t.add(http.MethodDelete, "/v2/load_balancers/{id}/droplets", removeMembers)
	t.add(http.MethodPost, "/v2/load_balancers/{id}/forwarding_rules", addRules)
	t.add(http.MethodDelete, "/v2/load_balancers/{id}/forwarding_rules", removeRules)
}

// loadBalancer finds the load balancer that the path names among the team's.
func (c *call) loadBalancer() (*loadBalancer, error) {
	lb, ok := c.team.loadBalancers.get(c.params["id"])
	if !ok {
		return nil, requestedNotFound()
	}
	return lb, nil
}

// idleLoadBalancer is loadBalancer for writes, which a busy one refuses.
func (c *call) idleLoadBalancer() (*loadBalancer, error) {
	lb, err := c.loadBalancer()
	if err != nil {
		return nil, err
	}
	if lb.busy(c.now) {
		return nil, forbidden(textBusy)
	}
	return lb, nil
}

func getLoadBalancer(c *call) (reply, error) {
	lb, err := c.loadBalancer()
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, map[string]any{"load_balancer": c.readLoadBalancer(lb)})
}

func listLoadBalancers(c *call) (reply, error) {
	names, ids := c.query["names"], c.query["uuids"]
	found := []*loadBalancer{}
	for lb := range c.team.loadBalancers.newest() {
		if len(names) > 0 && !slices.Contains(names, lb.Name) || len(ids) > 0 && !slices.Contains(ids, lb.ID) {
			continue
		}
		found = append(found, lb)
	}
	return list(c, "load_balancers", found, c.readLoadBalancer)
}

func deleteLoadBalancer(c *call) (reply, error) {
	lb, err := c.loadBalancer()
	if err != nil {
		return reply{}, err
	}
	c.s.removeLoadBalancer(c.team, lb, c.now)
	return noContent()
}

func purgeCache(c *call) (reply, error) {
	lb, err := c.loadBalancer()
	if err != nil {
		return reply{}, err
	}
	if lb.GLBSettings == nil || lb.GLBSettings.CDN == nil || !lb.GLBSettings.CDN.IsEnabled {
		return reply{}, unprocessable("load balancer has no CDN cache")
	}
	return noContent()
}

// unique returns the ids without repetitions, never nil.
func unique(ids []int) []int {
	seen := make(map[int]bool, len(ids))
	kept := make([]int, 0, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			kept = append(kept, id)
		}
	}
	return kept
}
