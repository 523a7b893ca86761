package doapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"
)

const (
	metricsNamespace = "digitalocean_ccm"
	metricsSubsystem = "api"
)

// Metrics are the client's metrics. They record nothing until registered. A nil
// *Metrics records nothing at all.
type Metrics struct {
	requests  *metrics.CounterVec
	durations *metrics.HistogramVec
	retries   *metrics.CounterVec
	waited    *metrics.CounterVec
	limit     *metrics.Gauge
	remaining *metrics.Gauge
	reset     *metrics.Gauge
}

// NewMetrics makes the client's metrics.
func NewMetrics() *Metrics {
	return &Metrics{
		requests: counter("requests_total",
			"Requests sent to the DigitalOcean API, each attempt counted, by endpoint template, method and status code (or why there was none).",
			"endpoint", "method", "code"),
		durations: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Namespace: metricsNamespace, Subsystem: metricsSubsystem, Name: "request_duration_seconds",
			Help:           "Time from sending a request to the DigitalOcean API until the last byte of its answer.",
			Buckets:        []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30},
			StabilityLevel: metrics.ALPHA,
		}, []string{"endpoint", "method"}),
		retries: counter("retries_total",
			"Requests sent again to the DigitalOcean API, by endpoint template, method and reason.",
			"endpoint", "method", "reason"),
		waited: counter("throttled_seconds_total",
			"Time that calls waited for quota of the DigitalOcean API, by priority of the call.",
			"priority"),
		limit:     gauge("quota_limit", "Requests an hour that the token may make, as the API says."),
		remaining: gauge("quota_remaining", "Requests that the token may still make this hour, as the API says."),
		reset:     gauge("quota_reset_timestamp_seconds", "Unix time at which the oldest request that counts against the token's quota expires."),
	}
}

func counter(name, help string, labels ...string) *metrics.CounterVec {
	return metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace: metricsNamespace, Subsystem: metricsSubsystem, Name: name, Help: help,
		StabilityLevel: metrics.ALPHA,
	}, labels)
}

func gauge(name, help string) *metrics.Gauge {
	return metrics.NewGauge(&metrics.GaugeOpts{
		Namespace: metricsNamespace, Subsystem: metricsSubsystem, Name: name, Help: help,
		StabilityLevel: metrics.ALPHA,
	})
}

// Register registers every metric with register, which is usually
// legacyregistry.Register.
func (m *Metrics) Register(register func(metrics.Registerable) error) error {
	for _, c := range []metrics.Registerable{m.requests, m.durations, m.retries, m.waited, m.limit, m.remaining, m.reset} {
		if err := register(c); err != nil {
			return fmt.Errorf("register metric %s: %w", c.FQName(), err)
		}
	}
	return nil
}

func (m *Metrics) observed(req *http.Request, code string, took time.Duration) {
	if m == nil {
		return
	}
	e, method := endpoint(req.URL.Path), methodLabel(req.Method)
	m.requests.WithLabelValues(e, method, code).Inc()
	m.durations.WithLabelValues(e, method).Observe(took.Seconds())
}

func (m *Metrics) retried(req *http.Request, reason string) {
	if m != nil {
		m.retries.WithLabelValues(endpoint(req.URL.Path), methodLabel(req.Method), reason).Inc()
	}
}

func (m *Metrics) throttled(p Priority, d time.Duration) {
	if m != nil {
		m.waited.WithLabelValues(p.String()).Add(d.Seconds())
	}
}

func (m *Metrics) quota(q Quota) {
	if m == nil || q.Limit == 0 {
		return
	}
	m.limit.Set(float64(q.Limit))
	m.remaining.Set(float64(q.Remaining))
	if !q.Reset.IsZero() {
		m.reset.Set(float64(q.Reset.Unix()))
	}
}

func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return method
	}
	return "other"
}

// codeLabel is the status, or why there is none.
func codeLabel(resp *http.Response, err error) string {
	switch {
	case err == nil:
		return strconv.Itoa(resp.StatusCode)
	case errors.Is(err, context.Canceled):
		return "canceled"
	case isTimeout(err):
		return reasonTimeout
	}
	return "error"
}

// measured counts and times every attempt.
type measured struct {
	next    http.RoundTripper
	clock   clock.PassiveClock
	metrics *Metrics
}

func (t *measured) RoundTrip(req *http.Request) (*http.Response, error) {
	start := t.clock.Now()
	resp, err := t.next.RoundTrip(req)
	t.metrics.observed(req, codeLabel(resp, err), t.clock.Since(start))
	return resp, err
}
