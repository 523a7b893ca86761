package chaos

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/test/harness"
)

// lastLines is how many lines of a manager's log a storm shows that failed.
const lastLines = 30

// manager is one that is started again whenever it ends, as a kubelet does.
type manager struct {
	*harness.Replica
	name    string
	metrics string
}

// startManager starts one and keeps it up until the context ends.
func (s *storm) startManager(ctx context.Context, name string) {
	s.t.Helper()
	m := &manager{name: name, metrics: harness.FreeAddress(s.t)}
	m.Replica = harness.StartReplica(ctx, sandbox.ManagerOptions{
		Binary: programs.Manager, Kubeconfig: s.kubeconfig, Env: append(s.variables(), "METRICS_ADDR="+m.metrics),
		Args: []string{
			"--v=4", "--leader-elect-lease-duration=" + leaseLength.String(),
			"--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=1s",
		},
	})
	s.managers[name] = m
	s.t.Cleanup(func() {
		m.Stop()
		m.check(s.t)
	})
}

// check looks for what must never be in a log, and keeps the log where asked.
func (m *manager) check(t *testing.T) {
	text := m.Log.String()
	for _, fault := range harness.Faults(text, token) {
		t.Errorf("manager %s: %s", m.name, fault)
	}
	if !t.Failed() {
		return
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	t.Logf("manager %s, at last:\n%s", m.name, strings.Join(lines[max(0, len(lines)-lastLines):], "\n"))
	if directory := os.Getenv("CHAOS_LOGS"); directory != "" {
		path := filepath.Join(directory, filepath.Base(t.Name())+"-"+m.name+".log")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Log(err)
		}
	}
}

// gauge reads one of the manager's metrics that have no labels.
func (m *manager) gauge(ctx context.Context, name string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.metrics+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("read metrics of manager %s: %w", m.name, err)
	}
	defer response.Body.Close()
	return gaugeOf(response.Body, name)
}

func gaugeOf(body io.Reader, name string) (float64, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(body)
	if err != nil {
		return 0, fmt.Errorf("read metrics: %w", err)
	}
	family, ok := families[name]
	if !ok || len(family.GetMetric()) != 1 || family.GetMetric()[0].GetGauge() == nil {
		return 0, fmt.Errorf("there is no metric %s", name)
	}
	return family.GetMetric()[0].GetGauge().GetValue(), nil
}
