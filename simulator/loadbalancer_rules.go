package simulator

import (
	"slices"
)

// targetProtocols lists what each entry protocol can be forwarded to.
var targetProtocols = map[string][]string{
	"http":  {"http"},
	"https": {"http", "https", "http2"},
	"http2": {"http", "http2", "https"},
	"http3": {"http", "https", "http2"},
	"tcp":   {"tcp"},
	"udp":   {"udp"},
}

func (r ForwardingRule) tls() bool {
	return r.EntryProtocol == "https" || r.EntryProtocol == "http2" || r.EntryProtocol == "http3"
}

// transport is what a port is taken on: http3 runs over UDP.
func (r ForwardingRule) transport() string {
	if r.EntryProtocol == "udp" || r.EntryProtocol == "http3" {
		return "udp"
	}
	return "tcp"
}

// rules checks the forwarding rules one by one and against each other.
func (k *lbCheck) rules() error {
	rules := k.lb.ForwardingRules
	if k.lb.Type == typeGlobal {
		if len(rules) > 0 {
			return unprocessable("forwarding_rules are not allowed for a GLOBAL load balancer")
		}
		return nil
	}
	if len(rules) == 0 {
		return unprocessable("at least one forwarding rule is required")
	}
	return k.call.validateRules(rules)
}

func (c *call) validateRules(rules []ForwardingRule) error {
	type port struct {
		transport string
		number    int
	}
	taken := map[port]bool{}
	http3, sibling := false, false
	for _, r := range rules {
		if err := c.validateRule(r); err != nil {
			return err
		}
		p := port{r.transport(), r.EntryPort}
		if taken[p] {
			return unprocessable("entry port %d is used by more than one forwarding rule", r.EntryPort)
		}
		taken[p] = true
		http3 = http3 || r.EntryProtocol == "http3"
		sibling = sibling || r.EntryProtocol == "https" || r.EntryProtocol == "http2"
	}
	if http3 && !sibling {
		return unprocessable("an http3 forwarding rule requires an https or http2 forwarding rule")
	}
	return nil
}

func (c *call) validateRule(r ForwardingRule) error {
	targets, ok := targetProtocols[r.EntryProtocol]
	switch {
	case !ok:
		return unprocessable("entry protocol %q is invalid", r.EntryProtocol)
	case !slices.Contains(targets, r.TargetProtocol):
		return unprocessable("target protocol %q is invalid for entry protocol %q", r.TargetProtocol, r.EntryProtocol)
	case r.EntryPort < 1 || r.EntryPort > 65535 || r.EntryPort >= 50053 && r.EntryPort <= 50055:
		return unprocessable("entry port is invalid")
	case r.TargetPort < 1 || r.TargetPort > 65535:
		return unprocessable("target port is invalid")
	}
	return c.validateTLS(r)
}

func (c *call) validateTLS(r ForwardingRule) error {
	passes := r.EntryProtocol == r.TargetProtocol && (r.EntryProtocol == "https" || r.EntryProtocol == "http2")
	switch {
	case r.TLSPassthrough && !passes:
		return unprocessable("tls_passthrough requires https to https or http2 to http2")
	case r.TLSPassthrough && r.CertificateID != "":
		return unprocessable("certificate_id and tls_passthrough cannot be used together")
	case r.tls() && !r.TLSPassthrough && r.CertificateID == "":
		return unprocessable("%s requires a certificate_id or tls_passthrough", r.EntryProtocol)
	case r.CertificateID != "":
		if _, ok := c.team.certificates.get(r.CertificateID); !ok {
			return unprocessable("certificate %s could not be found", r.CertificateID)
		}
	}
	return nil
}

// decodeRules reads the body of the two calls that change single rules.
func (c *call) decodeRules() ([]ForwardingRule, error) {
	var req struct {
		Rules []ForwardingRule `json:"forwarding_rules"`
	}
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	if len(req.Rules) == 0 {
		return nil, unprocessable("at least one forwarding rule is required")
	}
	for i := range req.Rules {
		req.Rules[i].normalise()
	}
	return req.Rules, nil
}

func addRules(c *call) (reply, error) {
	lb, err := c.idleLoadBalancer()
	if err != nil {
		return reply{}, err
	}
	added, err := c.decodeRules()
	if err != nil {
		return reply{}, err
	}
	return c.setRules(lb, slices.Concat(lb.ForwardingRules, added))
}

func removeRules(c *call) (reply, error) {
	lb, err := c.idleLoadBalancer()
	if err != nil {
		return reply{}, err
	}
	removed, err := c.decodeRules()
	if err != nil {
		return reply{}, err
	}
	kept := slices.Clone(lb.ForwardingRules)
	for _, r := range removed {
		i := slices.Index(kept, r)
		if i < 0 {
			return reply{}, unprocessable("forwarding rule for %s port %d could not be found", r.EntryProtocol, r.EntryPort)
		}
		kept = slices.Delete(kept, i, i+1)
	}
	return c.setRules(lb, kept)
}

// setRules puts rules in place if they are right together.
func (c *call) setRules(lb *loadBalancer, rules []ForwardingRule) (reply, error) {
	config := lb.LoadBalancer
	config.ForwardingRules = rules
	check := &lbCheck{call: c, lb: &config}
	if err := firstError(check.rules(), check.networkType()); err != nil {
		return reply{}, err
	}
	c.s.holdCertificates(c.team, lb, c.now)
	lb.ForwardingRules = rules
	c.touch(lb)
	return noContent()
}

// decodeMembers reads the body of the two calls that change single droplets.
func (c *call) decodeMembers() ([]int, error) {
	var req struct {
		DropletIDs []int `json:"droplet_ids"`
	}
	if len(c.body) > 0 {
		if err := c.decode(&req); err != nil {
			return nil, err
		}
	}
	if len(req.DropletIDs) == 0 {
		return nil, unprocessable("need to provide either a tag or a list of droplets")
	}
	return req.DropletIDs, nil
}

func addMembers(c *call) (reply, error) {
	lb, err := c.idleLoadBalancer()
	if err != nil {
		return reply{}, err
	}
	ids, err := c.decodeMembers()
	if err != nil {
		return reply{}, err
	}
	if lb.Tag != "" {
		return reply{}, unprocessable("only one of tag and droplet_ids can be given")
	}
	if err := c.validateTargets(&lb.LoadBalancer, ids); err != nil {
		return reply{}, err
	}
	lb.DropletIDs = unique(slices.Concat(lb.DropletIDs, ids))
	c.touch(lb)
	return noContent()
}

// removeMembers takes droplets away; those that are not there are no error, for
// a droplet that was destroyed has left by itself.
func removeMembers(c *call) (reply, error) {
	lb, err := c.idleLoadBalancer()
	if err != nil {
		return reply{}, err
	}
	ids, err := c.decodeMembers()
	if err != nil {
		return reply{}, err
	}
	gone := make(map[int]bool, len(ids))
	for _, id := range ids {
		gone[id] = true
	}
	lb.DropletIDs = slices.DeleteFunc(slices.Clone(lb.DropletIDs), func(id int) bool { return gone[id] })
	c.touch(lb)
	return noContent()
}

// AddBYOIPAddress gives a team an address of its own, in a region, with which a
// load balancer can be created. An empty team is that of the first token.
func (s *Simulator) AddBYOIPAddress(teamName, address, region string) {
	s.lock()
	defer s.mu.Unlock()
	s.addresses.reserve(address)
	s.team(teamName).byoip[address] = region
}
