package rehearsal

import "k8s.io/component-base/metrics"

// Metrics count what would be written.
type Metrics struct {
	pending *metrics.GaugeVec
	total   *metrics.CounterVec
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(register func(...metrics.Registerable)) *Metrics {
	m := &Metrics{
		pending: metrics.NewGaugeVec(&metrics.GaugeOpts{
			Name:           "digitalocean_ccm_rehearsed_writes",
			Help:           "Writes that a manager which only observes would make now, by what would be written to: one for each object and way to write to it. Events are not among them.",
			StabilityLevel: metrics.ALPHA,
		}, []string{"object"}),
		total: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:           "digitalocean_ccm_rehearsed_writes_total",
			Help:           "Writes that a manager which only observes kept from being made, by what would be written to. The same one counts once until it changes; of events each counts.",
			StabilityLevel: metrics.ALPHA,
		}, []string{"object"}),
	}
	register(m.pending, m.total)
	for _, kind := range Kinds() {
		m.pending.WithLabelValues(kind).Set(0)
		m.total.WithLabelValues(kind)
	}
	return m
}

func (m *Metrics) noted(kind string) { m.total.WithLabelValues(kind).Inc() }

func (m *Metrics) counted(pending map[string]int) {
	for _, kind := range Kinds() {
		m.pending.WithLabelValues(kind).Set(float64(pending[kind]))
	}
}
