package state

import "k8s.io/component-base/metrics"

// collector makes metrics of a summary when they are asked for.
type collector struct {
	metrics.BaseStableCollector
	summary                                    func() Summary
	balancers, away, longest, lastRun, failing *metrics.Desc
}

// NewCollector makes the metrics of a summary, to be registered.
func NewCollector(summary func() Summary) metrics.StableCollector {
	describe := func(name, help string, labels ...string) *metrics.Desc {
		return metrics.NewDesc("digitalocean_ccm_"+name, help, labels, nil, metrics.ALPHA, "")
	}
	return &collector{
		summary:   summary,
		balancers: describe("load_balancers", "Number of Services of the type LoadBalancer by where their load balancer stands. Each is in one state.", "state"),
		away:      describe("away_objects", "Number of objects that are not in their desired state, by kind.", "kind"),
		longest:   describe("away_seconds", "Time for which that object has not been in its desired state which has been so for longest, by kind; 0: all are.", "kind"),
		lastRun:   describe("controller_last_run_timestamp_seconds", "Unix time at which the last run of a controller of the manager's own ended. Absent before the first.", "controller"),
		failing:   describe("controller_failing", "1 where the last run of a controller of the manager's own failed, 0 where it did not.", "controller"),
	}
}

// DescribeWithStability implements [metrics.StableCollector].
func (c *collector) DescribeWithStability(descriptions chan<- *metrics.Desc) {
	for _, description := range []*metrics.Desc{c.balancers, c.away, c.longest, c.lastRun, c.failing} {
		descriptions <- description
	}
}

// CollectWithStability implements [metrics.StableCollector]. Every state has a
// value, so that an alert sees the first object that gets into it.
func (c *collector) CollectWithStability(values chan<- metrics.Metric) {
	s := c.summary()
	put := func(description *metrics.Desc, value float64, labels ...string) {
		values <- metrics.NewLazyConstMetric(description, metrics.GaugeValue, value, labels...)
	}
	for _, standing := range Standings() {
		put(c.balancers, float64(s.LoadBalancers[standing]), string(standing))
	}
	for kind, away := range s.Away {
		put(c.away, float64(away.Objects), kind)
		put(c.longest, away.Longest.Seconds(), kind)
	}
	for _, controller := range s.Controllers {
		failing := 0.0
		if controller.Error != "" {
			failing = 1
		}
		put(c.failing, failing, controller.Name)
		if !controller.Last.IsZero() {
			put(c.lastRun, float64(controller.Last.Unix()), controller.Name)
		}
	}
}
