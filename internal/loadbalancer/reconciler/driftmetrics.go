package reconciler

import (
	"k8s.io/component-base/metrics"

	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// driftMetrics are about what others do to load balancers.
type driftMetrics struct {
	found, reverted *metrics.CounterVec
	contacts        *metrics.Gauge
}

func newDriftMetrics() *driftMetrics {
	counter := func(name, help string) *metrics.CounterVec {
		return metrics.NewCounterVec(&metrics.CounterOpts{Name: name, Help: help, StabilityLevel: metrics.ALPHA}, []string{"field"})
	}
	return &driftMetrics{
		found:    counter("digitalocean_ccm_drift_found_total", "Settings of load balancers, by field, that somebody else changed though their Service did not."),
		reverted: counter("digitalocean_ccm_drift_reverted_total", "Settings of load balancers, by field, that were put back after somebody else had changed them."),
		contacts: metrics.NewGauge(&metrics.GaugeOpts{
			Name:           "digitalocean_ccm_load_balancers_waiting",
			Help:           "Load balancers that this manager found and that differ from their Service, and which it will change when the first drift period is over.",
			StabilityLevel: metrics.ALPHA,
		}),
	}
}

func (m *Metrics) found(changes []loadbalancer.Change) {
	if m != nil {
		count(m.drift.found, changes)
	}
}

func (m *Metrics) reverted(changes []loadbalancer.Change) {
	if m != nil {
		count(m.drift.reverted, changes)
	}
}

// waiting tells how many load balancers wait for their first change.
func (m *Metrics) waiting(n int) {
	if m != nil {
		m.drift.contacts.Set(float64(n))
	}
}

func count(by *metrics.CounterVec, changes []loadbalancer.Change) {
	for _, c := range changes {
		by.WithLabelValues(c.Field).Inc()
	}
}
