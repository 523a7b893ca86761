package admission

import (
	"time"

	"k8s.io/component-base/metrics"
)

// Results of requests, as the metric has them.
const (
	resultUnconcerned = "unconcerned"
	resultAllowed     = "allowed"
	resultUnchecked   = "allowed_unchecked"
	resultRefused     = "refused"
	resultPanicked    = "allowed_after_panic"
	resultUnreadable  = "unreadable"
)

// Metrics of the server. A nil *Metrics records nothing.
type Metrics struct {
	requests  *metrics.CounterVec
	unchecked *metrics.CounterVec
	duration  *metrics.HistogramVec
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(register func(...metrics.Registerable)) *Metrics {
	m := &Metrics{
		requests: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:           "digitalocean_ccm_admission_requests_total",
			Help:           "Admission requests by operation and by what became of them: unconcerned, allowed, allowed_unchecked (DigitalOcean could not be asked), allowed_after_panic, refused, unreadable.",
			StabilityLevel: metrics.ALPHA,
		}, []string{"operation", "result"}),
		unchecked: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:           "digitalocean_ccm_admission_unchecked_total",
			Help:           "Admission requests that were let pass because DigitalOcean could not be asked, by the class of the error.",
			StabilityLevel: metrics.ALPHA,
		}, []string{"class"}),
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Name:           "digitalocean_ccm_admission_duration_seconds",
			Help:           "Time that admission requests took.",
			Buckets:        []float64{0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 3, 4, 5},
			StabilityLevel: metrics.ALPHA,
		}, []string{"result"}),
	}
	register(m.requests, m.unchecked, m.duration)
	return m
}

func (m *Metrics) record(operation, result string, took time.Duration) {
	if m == nil {
		return
	}
	m.requests.WithLabelValues(operation, result).Inc()
	m.duration.WithLabelValues(result).Observe(took.Seconds())
}

func (m *Metrics) notAsked(class string) {
	if m != nil {
		m.unchecked.WithLabelValues(class).Inc()
	}
}
