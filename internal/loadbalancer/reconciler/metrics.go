package reconciler

import "k8s.io/component-base/metrics"

// Metrics of the work for Services. A nil *Metrics records nothing.
type Metrics struct {
	panics *metrics.Counter
	drift  *driftMetrics
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(register func(...metrics.Registerable)) *Metrics {
	m := &Metrics{panics: metrics.NewCounter(&metrics.CounterOpts{
		Name:           "digitalocean_ccm_panics_total",
		Help:           "Defects of the manager that stopped the work for one object.",
		StabilityLevel: metrics.ALPHA,
	})}
	m.drift = newDriftMetrics()
	register(m.panics, m.drift.found, m.drift.reverted, m.drift.contacts)
	return m
}

func (m *Metrics) panicked() {
	if m != nil {
		m.panics.Inc()
	}
}
