package doapi

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"k8s.io/component-base/metrics"
)

func registered(t *testing.T) (*Metrics, metrics.KubeRegistry) {
	t.Helper()
	m, registry := NewMetrics(), metrics.NewKubeRegistry()
	check(t, m.Register(registry.Register))
	return m, registry
}

func TestMetricsTellWhatWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, registry := registered(t)
		rt := answers(
			answer(500, `{"id":"server_error","message":"x"}`),
			answer(429, tooMany, quotaHeaders("0", "Retry-After: 7")...),
			answer(200, accountBody, quotaHeaders("4321", "RateLimit-Reset: 946684860")...),
			answer(404, notFound, quotaHeaders("4320")...),
			broken(errReset),
		)
		client := clientOn(t, rt, func(o *Options) { o.Metrics = m })
		if err := get(WithPriority(t.Context(), Urgent), client); err != nil {
			t.Fatal(err)
		}
		_, _, _ = client.LoadBalancers.Get(t.Context(), "4de7ac8b-495b-4884-9a69-1050c6793cd6")
		if err := send(t.Context(), client, http.MethodPost); err == nil {
			t.Fatal("no error")
		}
		want := `
digitalocean_ccm_api_quota_limit 5000
digitalocean_ccm_api_quota_remaining 4320
digitalocean_ccm_api_quota_reset_timestamp_seconds 9.4668486e+08
digitalocean_ccm_api_requests_total{code="200",endpoint="/v2/account",method="GET"} 1
digitalocean_ccm_api_requests_total{code="404",endpoint="/v2/load_balancers/{id}",method="GET"} 1
digitalocean_ccm_api_requests_total{code="429",endpoint="/v2/account",method="GET"} 1
digitalocean_ccm_api_requests_total{code="500",endpoint="/v2/account",method="GET"} 1
digitalocean_ccm_api_requests_total{code="error",endpoint="/v2/load_balancers",method="POST"} 1
digitalocean_ccm_api_retries_total{endpoint="/v2/account",method="GET",reason="rate_limited"} 1
digitalocean_ccm_api_retries_total{endpoint="/v2/account",method="GET",reason="server_error"} 1
`
		got, waited := exposed(t, registry)
		if d := cmp.Diff(want, "\n"+got); d != "" {
			t.Error(d)
		}
		// The back-off jitter is part of the 7 s.
		if waited["urgent"] < 6 || waited["urgent"] > 7 || len(waited) != 1 {
			t.Errorf("throttled for %v s, want nearly 7 of an urgent call", waited)
		}
	})
}

// exposed gives the samples of the metrics whose values are certain, and the
// time that calls waited, by priority.
func exposed(t *testing.T, g metrics.Gatherer) (text string, waited map[string]float64) {
	t.Helper()
	families, err := g.Gather()
	check(t, err)
	var buf bytes.Buffer
	waited = map[string]float64{}
	for _, family := range families {
		switch name := family.GetName(); {
		case strings.HasSuffix(name, "throttled_seconds_total"):
			for _, m := range family.GetMetric() {
				waited[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
			}
		case strings.HasPrefix(name, "digitalocean_ccm_api_") && !strings.HasSuffix(name, "duration_seconds"):
			_, err := expfmt.MetricFamilyToText(&buf, family)
			check(t, err)
		}
	}
	for line := range strings.Lines(buf.String()) {
		if !strings.HasPrefix(line, "#") {
			text += line
		}
	}
	return text, waited
}

func TestMetricsFollowTheNamingRules(t *testing.T) {
	m, registry := registered(t)
	m.requests.WithLabelValues("/v2/account", "GET", "200").Inc()
	m.durations.WithLabelValues("/v2/account", "GET").Observe(1)
	m.retries.WithLabelValues("/v2/account", "GET", "timeout").Inc()
	m.throttled(Normal, 1)
	families, err := registry.Gather()
	check(t, err)
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	check(t, err)
	if len(families) != 7 {
		t.Errorf("%d metrics, want 7", len(families))
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if err := m.Register(registry.Register); err == nil {
		t.Error("registering twice is no error")
	}
}

func TestEndpointsAreBounded(t *testing.T) {
	tests := map[string]string{
		"/v2/account":                            "/v2/account",
		"/v2/load_balancers":                     "/v2/load_balancers",
		"/v2/load_balancers/":                    "other",
		"/v2/load_balancers/a1":                  "/v2/load_balancers/{id}",
		"/v2/load_balancers/a1/droplets":         "/v2/load_balancers/{id}/droplets",
		"/v2/load_balancers/a1/forwarding_rules": "/v2/load_balancers/{id}/forwarding_rules",
		"/v2/load_balancers/a1/secrets":          "other",
		"/v2/droplets/7":                         "/v2/droplets/{id}",
		"/v2/droplets/actions":                   "/v2/droplets/actions",
		"/v2/droplets/7/actions/8":               "/v2/droplets/{id}/actions/{id}",
		"/v2/droplets//actions":                  "other",
		"/v2/tags/k8s:0f2":                       "/v2/tags/{id}",
		"/v2/tags/a/resources":                   "/v2/tags/{id}/resources",
		"/v2/projects/default":                   "/v2/projects/default",
		"/v2/projects/4e1":                       "/v2/projects/{id}",
		"/v2/":                                   "other",
		"/v2":                                    "other",
		"/v3/account":                            "other",
		"":                                       "other",
		"/v2/apps":                               "other",
	}
	for path, want := range tests {
		if got := endpoint(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got := methodLabel("BREW"); got != "other" {
		t.Errorf("an unknown method is labelled %s", got)
	}
}
