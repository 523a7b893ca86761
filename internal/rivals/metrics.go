package rivals

import "k8s.io/component-base/metrics"

// Metrics of other managers. A nil *Metrics records nothing.
type Metrics struct{ signs *metrics.GaugeVec }

// NewMetrics makes the metrics and registers them.
func NewMetrics(register func(...metrics.Registerable)) *Metrics {
	m := &Metrics{signs: metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name:           "digitalocean_ccm_other_manager_signs",
		Help:           "Signs that another cloud controller manager works on this cluster, as of the last look, by kind: lease, one that another holds, and write, objects that another wrote to within 15 minutes.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"kind"})}
	register(m.signs)
	m.seen(nil)
	return m
}

func (m *Metrics) seen(signs []Sign) {
	if m == nil {
		return
	}
	counts := map[string]int{KindLease: 0, KindWrite: 0}
	for _, s := range signs {
		counts[s.Kind]++
	}
	for kind, n := range counts {
		m.signs.WithLabelValues(kind).Set(float64(n))
	}
}
