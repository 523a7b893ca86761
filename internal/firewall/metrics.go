package firewall

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/digitalocean/godo"
	"k8s.io/component-base/metrics"

	"digitalocean-cloud-controller-manager/internal/doapi"
)

// Metrics of the firewall controller. The names without the manager's prefix
// are the public manager's, on which dashboards rest. A nil *Metrics records
// nothing.
type Metrics struct {
	operations        *metrics.CounterVec
	operationDuration *metrics.HistogramVec
	syncs             *metrics.CounterVec
	syncDuration      *metrics.HistogramVec
	reconciles        *metrics.CounterVec
	reconcileDuration *metrics.HistogramVec

	restorations *metrics.Counter
	rules        *metrics.Gauge
	targets      *metrics.Gauge
	leftOut      *metrics.Gauge
}

const publicNamespace = "firewall"

// NewMetrics makes the metrics and registers them.
func NewMetrics(register func(...metrics.Registerable)) *Metrics {
	operation := []string{"operation", "result", "http_response_code"}
	reconcile := []string{"result", "error_type"}
	m := &Metrics{
		operations:        counter("api_operations_total", "Calls of the DigitalOcean API for the public access firewall, by operation, result and status code (none: no answer).", operation),
		operationDuration: histogram("api_operation_duration_seconds", "Time that calls of the DigitalOcean API for the public access firewall took, by operation, result and status code.", operation),
		syncs:             counter("resource_syncs_total", "Runs of the firewall controller upon changes of Services, each try counted, by result.", []string{"result"}),
		syncDuration:      histogram("resource_sync_duration_seconds", "Time that runs upon changes of Services took, by result.", []string{"result"}),
		reconciles:        counter("reconciles_total", "Periodic checks of the firewall against what the API says, each try counted, by result and class of the error.", reconcile),
		reconcileDuration: histogram("reconcile_duration_seconds", "Time that periodic checks of the firewall took, by result and class of the error.", reconcile),

		restorations: metrics.NewCounter(&metrics.CounterOpts{
			Namespace: "digitalocean_ccm", Subsystem: "firewall", Name: "restorations_total", StabilityLevel: metrics.ALPHA,
			Help: "How often the firewall was put back after somebody else had changed or deleted it.",
		}),
		rules:   gauge("rules", "Rules that the firewall needs; DigitalOcean takes 50."),
		targets: gauge("targets", "Sources and destinations that the firewall needs; DigitalOcean takes 1000."),
		leftOut: gauge("services_left_out", "Services whose ports are not opened as the firewall would exceed DigitalOcean's limits."),
	}
	register(m.operations, m.operationDuration, m.syncs, m.syncDuration, m.reconciles, m.reconcileDuration, m.restorations, m.rules, m.targets, m.leftOut)
	return m
}

func counter(name, help string, labels []string) *metrics.CounterVec {
	return metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace: publicNamespace, Name: name, Help: help, StabilityLevel: metrics.ALPHA,
	}, labels)
}

func histogram(name, help string, labels []string) *metrics.HistogramVec {
	return metrics.NewHistogramVec(&metrics.HistogramOpts{
		Namespace: publicNamespace, Name: name, Help: help, StabilityLevel: metrics.ALPHA,
		Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
	}, labels)
}

func gauge(name, help string) *metrics.Gauge {
	return metrics.NewGauge(&metrics.GaugeOpts{
		Namespace: "digitalocean_ccm", Subsystem: "firewall", Name: name, Help: help, StabilityLevel: metrics.ALPHA,
	})
}

const (
	resultSuccess = "success"
	resultFailure = "failure"
	codeNone      = "none"
)

func resultOf(err error) string {
	if err != nil {
		return resultFailure
	}
	return resultSuccess
}

// operated notes a call. One that was not sent, as nothing is to be written, is
// none.
func (m *Metrics) operated(operation string, resp *godo.Response, err error, took time.Duration) {
	if m == nil || errors.Is(err, doapi.ErrRehearsed) {
		return
	}
	code := codeNone
	if resp != nil && resp.Response != nil {
		code = strconv.Itoa(resp.StatusCode)
	}
	m.operations.WithLabelValues(operation, resultOf(err), code).Inc()
	m.operationDuration.WithLabelValues(operation, resultOf(err), code).Observe(took.Seconds())
}

// ran notes a run, upon a change or periodic.
func (m *Metrics) ran(changed bool, err error, took time.Duration) {
	if m == nil {
		return
	}
	if changed {
		m.syncs.WithLabelValues(resultOf(err)).Inc()
		m.syncDuration.WithLabelValues(resultOf(err)).Observe(took.Seconds())
		return
	}
	class := errorType(err)
	m.reconciles.WithLabelValues(resultOf(err), class).Inc()
	m.reconcileDuration.WithLabelValues(resultOf(err), class).Observe(took.Seconds())
}

// errorType is the class of an error, of which there are few.
func errorType(err error) string {
	if errors.Is(err, context.Canceled) {
		return "canceled"
	}
	return string(cmp.Or(classOf(err), doapi.ClassNone))
}

func (m *Metrics) restored() {
	if m != nil {
		m.restorations.Inc()
	}
}

func (m *Metrics) desired(d Desired) {
	if m == nil {
		return
	}
	m.rules.Set(float64(d.Rules))
	m.targets.Set(float64(d.Targets))
	m.leftOut.Set(float64(len(d.LeftOut)))
}
