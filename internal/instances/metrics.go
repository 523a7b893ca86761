package instances

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-base/metrics"

	"digitalocean-cloud-controller-manager/internal/providerid"
)

// Metrics of the Nodes. A nil *Metrics records nothing.
type Metrics struct{ blocked *metrics.Gauge }

// NewMetrics makes the metrics and registers them.
func NewMetrics(register func(...metrics.Registerable)) *Metrics {
	m := &Metrics{blocked: metrics.NewGauge(&metrics.GaugeOpts{
		Namespace:      "digitalocean_ccm",
		Subsystem:      "nodes",
		Name:           "deletion_blocked",
		Help:           "Number of Nodes that look gone and are kept, as too many look gone at once.",
		StabilityLevel: metrics.ALPHA,
	})}
	register(m.blocked)
	return m
}

func (m *Metrics) setBlocked(n int) {
	if m != nil {
		m.blocked.Set(float64(n))
	}
}

// collector counts the Nodes by state when it is asked.
type collector struct {
	metrics.BaseStableCollector
	instances *Instances
	nodes     *metrics.Desc
}

// NewCollector makes the metric of the Nodes' states, to be registered.
func NewCollector(i *Instances) metrics.StableCollector {
	return &collector{instances: i, nodes: metrics.NewDesc("digitalocean_ccm_nodes", "Number of Nodes by state. Each Node is in one.", []string{"state"}, nil, metrics.ALPHA, "")}
}

// DescribeWithStability implements [metrics.StableCollector].
func (c *collector) DescribeWithStability(descriptions chan<- *metrics.Desc) {
	descriptions <- c.nodes
}

// CollectWithStability implements [metrics.StableCollector]. Every state has a
// value, so that an alert sees the first Node that gets into it.
func (c *collector) CollectWithStability(values chan<- metrics.Metric) {
	counts := c.instances.countStates()
	for _, s := range allStates {
		values <- metrics.NewLazyConstMetric(c.nodes, metrics.GaugeValue, float64(counts[s]), string(s))
	}
}

func (i *Instances) countStates() map[state]int {
	all := i.all()
	i.notes.keep(all)
	counts := make(map[state]int, len(allStates))
	for _, node := range all {
		counts[stateOf(node, i.factsOf(node))]++
	}
	return counts
}

func (i *Instances) factsOf(node *v1.Node) facts {
	return facts{
		noted:   i.notes.of(node),
		blocked: i.brake.isHeld(node),
		off:     i.isOff(node),
		old:     i.clock.Since(node.CreationTimestamp.Time) >= waitBelowAge,
	}
}

// isOff tells whether the Node's droplet was off when it was read last.
func (i *Instances) isOff(node *v1.Node) bool {
	id, err := providerid.Parse(node.Spec.ProviderID)
	if err != nil {
		return false
	}
	droplet, ok := i.droplets.Cached(id)
	return ok && droplet.IsShutdown()
}
