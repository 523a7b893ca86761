package inventory

import (
	"time"

	"k8s.io/component-base/metrics"
)

// Statistics describes the snapshot.
type Statistics struct {
	// Droplets is how many are known.
	Droplets int
	// Listed is when the newest whole list was begun; zero: never. Where to
	// ask for each droplet is cheaper, there is none.
	Listed time.Time
	// Oldest is when that droplet of the cluster was read which was not read
	// for longest; zero: none was.
	Oldest time.Time
}

// Statistics describes the snapshot as it is.
func (d *Droplets) Statistics() Statistics {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := Statistics{Droplets: len(d.index.byID), Listed: d.listed}
	for _, id := range d.cluster.Known() {
		if droplet, ok := d.index.byID[id]; ok && (s.Oldest.IsZero() || droplet.Read.Before(s.Oldest)) {
			s.Oldest = droplet.Read
		}
	}
	return s
}

// collector makes metrics of the statistics when they are asked for.
type collector struct {
	metrics.BaseStableCollector
	droplets           *Droplets
	size, age, listAge *metrics.Desc
}

// NewCollector makes the metrics of the snapshot, to be registered.
func NewCollector(d *Droplets) metrics.StableCollector {
	describe := func(name, help string) *metrics.Desc {
		return metrics.NewDesc("digitalocean_ccm_snapshot_"+name, help, nil, nil, metrics.ALPHA, "")
	}
	return &collector{
		droplets: d,
		size:     describe("droplets", "Number of droplets of which the manager knows a state."),
		age:      describe("age_seconds", "Time since that droplet of the Nodes' was read which was not read for longest. Absent while none was read."),
		listAge:  describe("list_age_seconds", "Time since the newest list of all droplets was begun. Absent while there was none, as where few Nodes are among many droplets."),
	}
}

// DescribeWithStability implements [metrics.StableCollector].
func (c *collector) DescribeWithStability(descriptions chan<- *metrics.Desc) {
	for _, description := range []*metrics.Desc{c.size, c.age, c.listAge} {
		descriptions <- description
	}
}

// CollectWithStability implements [metrics.StableCollector].
func (c *collector) CollectWithStability(values chan<- metrics.Metric) {
	s := c.droplets.Statistics()
	values <- metrics.NewLazyConstMetric(c.size, metrics.GaugeValue, float64(s.Droplets))
	since := func(description *metrics.Desc, at time.Time) {
		if !at.IsZero() {
			values <- metrics.NewLazyConstMetric(description, metrics.GaugeValue, c.droplets.clock.Since(at).Seconds())
		}
	}
	since(c.age, s.Oldest)
	since(c.listAge, s.Listed)
}
