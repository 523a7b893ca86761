package instances

import "k8s.io/component-base/metrics"

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
