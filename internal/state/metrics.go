package state

import (
	"runtime"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeobject "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics"

	"digitalocean-cloud-controller-manager/internal/events"
)

// Metrics are about the process and its work as a whole. A nil *Metrics records
// nothing.
type Metrics struct {
	build    *metrics.GaugeVec
	leader   *metrics.Gauge
	syncs    *metrics.HistogramVec
	problems *metrics.CounterVec
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(register func(...metrics.Registerable)) *Metrics {
	m := &Metrics{
		build: metrics.NewGaugeVec(&metrics.GaugeOpts{
			Name:           "digitalocean_ccm_build_info",
			Help:           "Always 1; the labels tell which build of the manager runs.",
			StabilityLevel: metrics.ALPHA,
		}, []string{"version", "commit", "go_version"}),
		leader: metrics.NewGauge(&metrics.GaugeOpts{
			Name:           "digitalocean_ccm_leader",
			Help:           "1 on the replica that does the work, 0 on those that stand by.",
			StabilityLevel: metrics.ALPHA,
		}),
		syncs: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Name:           "digitalocean_ccm_sync_duration_seconds",
			Help:           "Time that one try to bring an object to its desired state took, waits for the API's quota included, by kind of object and by result: success, or who must act.",
			Buckets:        []float64{.001, .01, .1, .5, 1, 2.5, 5, 10, 30, 60, 120},
			StabilityLevel: metrics.ALPHA,
		}, []string{"kind", "result"}),
		problems: metrics.NewCounterVec(&metrics.CounterOpts{
			Name:           "digitalocean_ccm_problems_total",
			Help:           "Problems that were told in events of the type Warning, by the event's reason. A problem that lasts is told each half hour.",
			StabilityLevel: metrics.ALPHA,
		}, []string{"reason"}),
	}
	register(m.build, m.leader, m.syncs, m.problems)
	m.leader.Set(0)
	return m
}

// Built notes which build this is.
func (m *Metrics) Built(version, commit string) {
	if m != nil {
		m.build.WithLabelValues(version, commit, runtime.Version()).Set(1)
	}
}

// Leads notes that this replica does the work.
func (m *Metrics) Leads() {
	if m != nil {
		m.leader.Set(1)
	}
}

// Synced notes a try to bring an object of the kind to its desired state.
func (m *Metrics) Synced(kind string, result Result, took time.Duration) {
	if m != nil {
		m.syncs.WithLabelValues(kind, string(result)).Observe(took.Seconds())
	}
}

// Recorder returns a recorder that counts the problems which go through it.
func (m *Metrics) Recorder(next record.EventRecorder) record.EventRecorder {
	if m == nil {
		return next
	}
	for _, d := range events.Docs {
		if d.Type == v1.EventTypeWarning {
			m.problems.WithLabelValues(string(d.Reason)) // 0: an alert sees the first one
		}
	}
	return &counting{next, m}
}

type counting struct {
	record.EventRecorder
	metrics *Metrics
}

// Event implements [record.EventRecorder].
func (c *counting) Event(object runtimeobject.Object, kind, reason, message string) {
	if kind == v1.EventTypeWarning {
		c.metrics.problems.WithLabelValues(documented(reason)).Inc()
	}
	c.EventRecorder.Event(object, kind, reason, message)
}

// documented keeps the values of the label few.
func documented(reason string) string {
	for _, d := range events.Docs {
		if string(d.Reason) == reason {
			return reason
		}
	}
	return "other"
}
