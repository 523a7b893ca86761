package drift

import "k8s.io/component-base/metrics"

// Metrics of the looks for drift. A nil *Metrics records nothing.
type Metrics struct {
	checks  *metrics.CounterVec
	orphans *metrics.Gauge
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(register func(...metrics.Registerable)) *Metrics {
	m := &Metrics{
		checks: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:           "digitalocean_ccm_drift_checks_total",
			Help:           "Looks for drift at one kind of objects, by result: success or error.",
			StabilityLevel: metrics.ALPHA,
		}, []string{"result"}),
		orphans: metrics.NewGauge(&metrics.GaugeOpts{
			Name:           "digitalocean_ccm_orphaned_load_balancers",
			Help:           "Load balancers that carry the cluster's mark and belong to no Service, as of the last look.",
			StabilityLevel: metrics.ALPHA,
		}),
	}
	register(m.checks, m.orphans)
	return m
}

func (m *Metrics) checked(err error) {
	switch {
	case m == nil:
	case err != nil:
		m.checks.WithLabelValues("error").Inc()
	default:
		m.checks.WithLabelValues("success").Inc()
	}
}

func (m *Metrics) orphaned(n int) {
	if m != nil {
		m.orphans.Set(float64(n))
	}
}
