package simulator

import (
	"fmt"
	"net/http"
)

// Limits are how many objects of a kind a team may have. 0 is without limit,
// which is the default where the API tells no number: load balancers and
// firewalls. Volumes are limited by number.
type Limits struct {
	Droplets, LoadBalancers, Firewalls, ReservedIPs, Volumes int
}

// LimitsPatch changes the limits whose members are not nil.
type LimitsPatch struct {
	Droplets      *int `json:"droplets,omitempty"`
	LoadBalancers *int `json:"load_balancers,omitempty"`
	Firewalls     *int `json:"firewalls,omitempty"`
	ReservedIPs   *int `json:"reserved_ips,omitempty"`
	Volumes       *int `json:"volumes,omitempty"`
}

func defaultLimits() Limits {
	return Limits{Droplets: 25_000, ReservedIPs: 100, Volumes: 1000}
}

func (p *LimitsPatch) validate() error {
	if p == nil {
		return nil
	}
	for name, n := range map[string]*int{
		"droplets": p.Droplets, "load_balancers": p.LoadBalancers, "firewalls": p.Firewalls, "reserved_ips": p.ReservedIPs, "volumes": p.Volumes,
	} {
		if n != nil && *n < 0 {
			return fmt.Errorf("the limit of %s must not be negative", name)
		}
	}
	return nil
}

func (l *Limits) patch(p *LimitsPatch) {
	if p == nil {
		return
	}
	set(&l.Droplets, p.Droplets)
	set(&l.LoadBalancers, p.LoadBalancers)
	set(&l.Firewalls, p.Firewalls)
	set(&l.ReservedIPs, p.ReservedIPs)
	set(&l.Volumes, p.Volumes)
}

func (l Limits) asPatch() *LimitsPatch {
	return &LimitsPatch{&l.Droplets, &l.LoadBalancers, &l.Firewalls, &l.ReservedIPs, &l.Volumes}
}

// exceeded tells whether more objects beside those that there are would be too
// many.
func exceeded(limit, have, more int) bool { return limit > 0 && have+more > limit }

// limitDroplets refuses more droplets than the account may have.
func (c *call) limitDroplets(more int) error {
	if exceeded(c.s.settings.Limits.Droplets, c.team.droplets.len(), more) {
		return unprocessable("creating this/these droplet(s) will exceed your droplet limit")
	}
	return nil
}

// limitLoadBalancers refuses in the form of the rate limit, but without its
// signs in the headers.
func (c *call) limitLoadBalancers() error {
	if exceeded(c.s.settings.Limits.LoadBalancers, c.team.loadBalancers.len(), 1) {
		return &apiError{status: http.StatusTooManyRequests, id: "too_many_requests", message: "load balancer limit reached"}
	}
	return nil
}

func (c *call) limitFirewalls() error {
	if exceeded(c.s.settings.Limits.Firewalls, c.team.firewalls.len(), 1) {
		return unprocessable("firewall limit reached")
	}
	return nil
}

func (c *call) limitReservedIPs() error {
	if exceeded(c.s.settings.Limits.ReservedIPs, c.team.reservedIPs.len(), 1) {
		return unprocessable("You have reached your reserved IP limit.")
	}
	return nil
}
