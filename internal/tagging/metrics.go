package tagging

import "k8s.io/component-base/metrics"

// Metrics of the tagging. A nil *Metrics records nothing.
type Metrics struct {
	passes    *metrics.CounterVec
	balancers *metrics.Counter
	marks     *metrics.Counter
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(register func(...metrics.Registerable)) *Metrics {
	m := &Metrics{
		passes: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:           "digitalocean_ccm_cluster_tag_passes_total",
			Help:           "Passes that tag what lacks the cluster's tag, by result: success or error.",
			StabilityLevel: metrics.ALPHA,
		}, []string{"result"}),
		balancers: metrics.NewCounter(&metrics.CounterOpts{
			Name:           "digitalocean_ccm_cluster_tagged_load_balancers_total",
			Help:           "Load balancers that lacked the cluster's tag and got it.",
			StabilityLevel: metrics.ALPHA,
		}),
		marks: metrics.NewCounter(&metrics.CounterOpts{
			Name:           "digitalocean_ccm_service_tags_deleted_total",
			Help:           "Tags of single Services that were deleted, as nothing depends on them any more.",
			StabilityLevel: metrics.ALPHA,
		}),
	}
	register(m.passes, m.balancers, m.marks)
	return m
}

func (m *Metrics) passed(err error) {
	switch {
	case m == nil:
	case err != nil:
		m.passes.WithLabelValues("error").Inc()
	default:
		m.passes.WithLabelValues("success").Inc()
	}
}

func (m *Metrics) tagged(n int) {
	if m != nil {
		m.balancers.Add(float64(n))
	}
}

func (m *Metrics) unmarked() {
	if m != nil {
		m.marks.Inc()
	}
}
