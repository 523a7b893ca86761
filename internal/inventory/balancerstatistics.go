package inventory

import (
	"time"

	"k8s.io/component-base/metrics"
)

// Statistics describes the snapshot as it is: how many load balancers are
// known, when the newest whole list was begun, and when that one was read which
// was not read for longest. Times are zero where there was none.
func (l *LoadBalancers) Statistics() (known int, listed, oldest time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.byID {
		if oldest.IsZero() || b.read.Before(oldest) {
			oldest = b.read
		}
	}
	return len(l.byID), l.listed, oldest
}

// balancerCollector makes metrics of the statistics when they are asked for.
type balancerCollector struct {
	metrics.BaseStableCollector
	balancers          *LoadBalancers
	size, age, listAge *metrics.Desc
}

// NewBalancerCollector makes the metrics of the snapshot of load balancers, to
// be registered.
func NewBalancerCollector(l *LoadBalancers) metrics.StableCollector {
	describe := func(name, help string) *metrics.Desc {
		return metrics.NewDesc("digitalocean_ccm_snapshot_load_balancers"+name, help, nil, nil, metrics.ALPHA, "")
	}
	return &balancerCollector{
		balancers: l,
		size:      describe("", "Number of load balancers of which the manager knows a state, those of others in the account included."),
		age:       describe("_age_seconds", "Time since that load balancer was read which was not read for longest. Absent while none was read."),
		listAge:   describe("_list_age_seconds", "Time since the newest list of all load balancers was begun. Absent before the first."),
	}
}

// DescribeWithStability implements [metrics.StableCollector].
func (c *balancerCollector) DescribeWithStability(descriptions chan<- *metrics.Desc) {
	for _, description := range []*metrics.Desc{c.size, c.age, c.listAge} {
		descriptions <- description
	}
}

// CollectWithStability implements [metrics.StableCollector].
func (c *balancerCollector) CollectWithStability(values chan<- metrics.Metric) {
	known, listed, oldest := c.balancers.Statistics()
	values <- metrics.NewLazyConstMetric(c.size, metrics.GaugeValue, float64(known))
	since := func(description *metrics.Desc, at time.Time) {
		if !at.IsZero() {
			values <- metrics.NewLazyConstMetric(description, metrics.GaugeValue, c.balancers.clock.Since(at).Seconds())
		}
	}
	since(c.age, oldest)
	since(c.listAge, listed)
}
