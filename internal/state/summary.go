package state

import "time"

// Kinds of objects that have a state to be in.
const (
	KindLoadBalancer = "load_balancer"
	KindNode         = "node"
	KindFirewall     = "firewall"
)

// Summary is a report in numbers, for metrics.
type Summary struct {
	LoadBalancers map[Standing]int
	Away          map[string]Away
	Controllers   []Controller
}

// Away is how many objects of a kind are not as they must be, and for how long
// that has lasted for the one that has been so for longest.
type Away struct {
	Objects int
	Longest time.Duration
}

func (a *Away) count(since, now time.Time) {
	if since.IsZero() {
		return
	}
	a.Objects++
	a.Longest = max(a.Longest, now.Sub(since))
}

// Summarize counts. nodes are since when each Node that is not as it must be has
// been so.
func Summarize(now time.Time, services []Service, nodes []time.Time, firewall *Firewall, controllers []Controller) Summary {
	s := Summary{LoadBalancers: map[Standing]int{}, Away: map[string]Away{}, Controllers: controllers}
	var balancers, away, wall Away
	for _, service := range services {
		s.LoadBalancers[service.Standing]++
		balancers.count(service.AwaySince, now)
	}
	for _, since := range nodes {
		away.count(since, now)
	}
	s.Away[KindLoadBalancer], s.Away[KindNode] = balancers, away
	if firewall != nil {
		wall.count(firewall.AwaySince, now)
		s.Away[KindFirewall] = wall
	}
	return s
}
