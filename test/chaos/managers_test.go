package chaos

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/test/harness"
)

// respawn is how soon a manager that ended by itself is started again. It ends
// when it loses its lease, as every controller manager does.
const respawn = 500 * time.Millisecond

// manager is one that is started again whenever it ends, as a kubelet does.
type manager struct {
	name    string
	storm   *storm
	metrics string
	log     harness.Log

	mu      sync.Mutex
	process *sandbox.Manager
	// delay is how long it stays away the next time that it ends.
	delay  time.Duration
	starts int
}

// startManager starts one and keeps it up until the context ends.
func (s *storm) startManager(ctx context.Context, name string) {
	s.t.Helper()
	m := &manager{name: name, storm: s, metrics: freeAddress(s.t)}
	s.managers[name] = m
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	running.Go(func() { m.run(ctx) })
	s.t.Cleanup(func() {
		m.signal(syscall.SIGCONT)
		cancel()
		running.Wait()
		m.check(s.t)
	})
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func (m *manager) run(ctx context.Context) {
	for ctx.Err() == nil {
		process, err := sandbox.StartManager(ctx, sandbox.ManagerOptions{
			Binary: programs.Manager, Kubeconfig: m.storm.kubeconfig, Log: &m.log,
			Env: append(m.storm.variables(), "METRICS_ADDR="+m.metrics),
			Args: []string{
				"--v=4", "--leader-elect-lease-duration=" + leaseLength.String(),
				"--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=1s",
			},
		})
		if err != nil {
			fmt.Fprintln(&m.log, "not started:", err)
		} else {
			m.mu.Lock()
			m.process, m.delay = process, respawn
			m.starts++
			m.mu.Unlock()
			fmt.Fprintf(&m.log, "===== started, process %d, %s\n", process.PID(), time.Now().Format(time.TimeOnly))
			ended := process.Wait()
			fmt.Fprintf(&m.log, "===== ended, %v, %s\n", ended, time.Now().Format(time.TimeOnly))
		}
		m.mu.Lock()
		delay := m.delay
		m.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(delay):
		}
	}
}

// end signals the process, which stays away for a while.
func (m *manager) end(signal syscall.Signal, away time.Duration) {
	m.mu.Lock()
	m.delay = away
	m.mu.Unlock()
	m.signal(signal)
	m.signal(syscall.SIGCONT) // one that is paused can't end
}

func (m *manager) signal(signal syscall.Signal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process == nil {
		return
	}
	select {
	case <-m.process.Done(): // its id may be another's by now
	default:
		_ = syscall.Kill(m.process.PID(), signal) // it may end this very moment
	}
}

// check looks for what must never be in a log, and keeps the log where asked.
func (m *manager) check(t *testing.T) {
	text := m.log.String()
	for _, fault := range harness.Faults(text, token) {
		t.Errorf("manager %s: %s", m.name, fault)
	}
	if directory := os.Getenv("CHAOS_LOGS"); directory != "" && t.Failed() {
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
