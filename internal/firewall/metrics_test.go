package firewall

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"k8s.io/component-base/metrics"

	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/simulator"
)

// sampleOf sums a metric's samples that have the labels; of a histogram it
// counts the observations.
func sampleOf(t *testing.T, g metrics.Gatherer, name string, labels ...string) (sum float64) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			matches := 0
			for i := 0; i < len(labels); i += 2 {
				for _, l := range m.GetLabel() {
					if l.GetName() == labels[i] && l.GetValue() == labels[i+1] {
						matches += 2
					}
				}
			}
			if matches == len(labels) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

func TestMetricsCount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, nodePort("web", "tcp/80/30080"))
		c.start()
		defer c.stop()
		for range 2 {
			if err := c.sim.DeleteFirewall(c.firewall().ID); err != nil {
				t.Fatal(err)
			}
			c.wait(5*time.Minute + 10*time.Second)
		}
		c.sim.AddFault(simulator.Fault{Method: "GET", Path: "/v2/firewalls", Status: 403, Count: 1})
		c.wait(5 * time.Minute)
		for _, want := range []struct {
			name   string
			labels []string
			value  float64
		}{
			// The first one needed its tag.
			{"firewall_api_operations_total", []string{"operation", "create", "result", "success", "http_response_code", "202"}, 3},
			{"firewall_api_operations_total", []string{"operation", "create", "result", "failure", "http_response_code", "422"}, 1},
			{"firewall_api_operations_total", []string{"operation", "create_tag", "result", "success", "http_response_code", "201"}, 1},
			{"firewall_api_operations_total", []string{"operation", "get", "result", "failure", "http_response_code", "404"}, 2},
			{"firewall_api_operation_duration_seconds", []string{"operation", "create", "result", "success", "http_response_code", "202"}, 3},
			{"firewall_resource_syncs_total", []string{"result", "success"}, 1},
			{"firewall_resource_sync_duration_seconds", []string{"result", "success"}, 1},
			{"firewall_reconciles_total", []string{"result", "success", "error_type", ""}, 2},
			{"firewall_reconciles_total", []string{"result", "failure", "error_type", "account"}, 1},
			{"firewall_reconcile_duration_seconds", []string{"result", "failure", "error_type", "account"}, 1},
			{"digitalocean_ccm_firewall_restorations_total", nil, 2},
			{"digitalocean_ccm_firewall_rules", nil, 4},
			{"digitalocean_ccm_firewall_targets", nil, 8},
		} {
			c.wantMetric(want.name, want.value, want.labels...)
		}
	})
}

func TestMetricsFollowTheNamingRules(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	m := NewMetrics(registry.MustRegister)
	m.operated("get", nil, nil, time.Second)
	m.ran(true, nil, time.Second)
	m.ran(false, nil, time.Second)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != 10 {
		t.Errorf("%d metrics, want 10", len(families))
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
	}
	for _, want := range []string{
		"firewall_api_operation_duration_seconds", "firewall_api_operations_total", "firewall_resource_sync_duration_seconds",
		"firewall_resource_syncs_total", "firewall_reconcile_duration_seconds", "firewall_reconciles_total",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("no metric %s among %s", want, strings.Join(names, ", "))
		}
	}
}

func TestWritesThatAreOnlyRehearsedAreNoFailures(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, nodePort("web", "tcp/80/30080"))
		var told []string
		token, _, err := doapi.NewToken("dop_v1_test")
		if err != nil {
			t.Fatal(err)
		}
		client, err := doapi.New(doapi.Options{
			TokenSource: doapi.StaticToken(token), Version: "test", Transport: c.sim.Transport(),
			Rehearse: func(method, path, _ string) { told = append(told, method+" "+path) },
		})
		if err != nil {
			t.Fatal(err)
		}
		c.start(func(o *Options) { o.API = API{client.Firewalls, client.Tags, client.LoadBalancers} })
		c.wait(11 * time.Minute)
		c.stop()
		if len(told) == 0 || len(c.sim.Firewalls()) > 0 {
			t.Fatalf("rehearsed %q, made %d firewalls", told, len(c.sim.Firewalls()))
		}
		if n := sampleOf(t, c.registry, "firewall_api_operations_total", "operation", "list", "result", "success"); n == 0 {
			t.Error("reads are not counted")
		}
		for _, name := range []string{"firewall_api_operations_total", "firewall_api_operation_duration_seconds", "firewall_resource_syncs_total", "firewall_reconciles_total"} {
			if n := sampleOf(t, c.registry, name, "result", "failure"); n > 0 {
				t.Errorf("%s counts %v failures", name, n)
			}
		}
		if n := sampleOf(t, c.registry, "firewall_api_operations_total", "operation", "create"); n > 0 {
			t.Errorf("%v calls to create are counted, and none is sent", n)
		}
	})
}
