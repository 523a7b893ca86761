package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"digitalocean-cloud-controller-manager/deploy"
	"digitalocean-cloud-controller-manager/internal/controlplane"
	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
)

// auditPolicy has the API server write down what the manager writes, but for
// its lease and its questions who may read its metrics.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  resources:
  - group: coordination.k8s.io
  - group: authentication.k8s.io
  - group: authorization.k8s.io
- level: Metadata
  users: ["system:serviceaccount:kube-system:cloud-controller-manager"]
  verbs: [create, update, patch, delete]
- level: None
`

// stand is one cluster with a manager.
type stand struct {
	t          *testing.T
	ctx        context.Context
	cell       cell
	binary     string
	plane      *sandbox.ControlPlane
	sim        *simulator.Simulator
	url        string
	kube       kubernetes.Interface
	kubeconfig string
	audit      string
	manager    *sandbox.Manager
	made       int            // Nodes so far
	droplets   map[string]int // of the Nodes that there are
}

func newStand(ctx context.Context, t *testing.T, c cell, binary string) *stand {
	t.Helper()
	assets, err := controlplane.Ensure(ctx, controlplane.Options{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	policy := filepath.Join(directory, "policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &stand{t: t, ctx: ctx, cell: c, binary: binary, audit: filepath.Join(directory, "audit.log"), droplets: map[string]int{}}
	s.plane, err = sandbox.StartControlPlane(ctx, assets, sandbox.ControlPlaneOptions{
		Args: map[string]string{
			"audit-policy-file": policy, "audit-log-path": s.audit,
			"service-cluster-ip-range": "10.96.0.0/16", // the default has room for 254 Services
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.plane.Stop() })
	s.sim = simulator.New(simulator.WithToken(benchToken, "bench"), simulator.WithLatency(apiLatency))
	api, err := sandbox.StartAPI(ctx, s.sim)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Stop() })
	s.url = api.URL()
	if s.kube, err = kubernetes.NewForConfig(s.plane.Config()); err != nil {
		t.Fatal(err)
	}
	user, err := s.plane.AddManager(ctx, deploy.RBAC)
	if err != nil {
		t.Fatal(err)
	}
	s.kubeconfig = filepath.Join(directory, "kubeconfig")
	if err := os.WriteFile(s.kubeconfig, user.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.manager != nil {
			_ = s.manager.Kill()
		}
	})
	return s
}

// start starts the manager, or the same one anew, with further variables and
// flags.
func (s *stand) start(variables, args []string) {
	s.t.Helper()
	if s.manager != nil {
		_ = s.manager.Kill()
		// Its lease would hold the next one up for a quarter of a minute.
		_ = s.kube.CoordinationV1().Leases(metav1.NamespaceSystem).Delete(s.ctx, "cloud-controller-manager", metav1.DeleteOptions{})
	}
	env := append(sandbox.ManagerEnvironment(s.url, benchToken, "nyc3", clusterID), variables...)
	if s.cell.byTag {
		env = append(env, "LOAD_BALANCER_TARGETS=tag")
	}
	log, err := os.Create(s.audit + ".manager")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // the process has its own descriptor
	s.manager, err = sandbox.StartManager(s.ctx, sandbox.ManagerOptions{
		Binary: s.binary, Kubeconfig: s.kubeconfig, Env: env, Log: log,
		Args: append([]string{"--cloud-provider=digitalocean"}, args...),
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// freshQuota lets the token begin an hour anew, and waits until a minute's
// burst is its own again: each scenario is measured by itself.
func (s *stand) freshQuota() {
	s.t.Helper()
	s.sim.ChangeSettings(simulator.SettingsPatch{RateLimitPerHour: ptr.To(0)})
	request := httptest.NewRequestWithContext(s.ctx, http.MethodGet, "/v2/account", nil)
	request.Header.Set("Authorization", "Bearer "+benchToken)
	s.sim.ServeHTTP(httptest.NewRecorder(), request) // forgets what is older than a minute
	s.sim.ChangeSettings(simulator.SettingsPatch{RateLimitPerHour: ptr.To(hourQuota)})
	for deadline := time.Now().Add(70 * time.Second); time.Now().Before(deadline) && s.lastMinute() > max(20, minuteQuota-4*s.cell.services); {
		s.pause(time.Second)
	}
}

func (s *stand) lastMinute() int {
	n, since := 0, time.Now().Add(-time.Minute)
	for _, r := range s.sim.Requests() {
		if r.Time.After(since) {
			n++
		}
	}
	return n
}

func (s *stand) pause(d time.Duration) {
	select {
	case <-s.ctx.Done():
		s.t.Fatal(s.ctx.Err())
	case <-time.After(d):
	}
}

// kubeWrites counts what the manager has written to Kubernetes.
func (s *stand) kubeWrites() int {
	log, err := os.ReadFile(s.audit)
	if err != nil {
		return 0 // nothing was written yet
	}
	return bytes.Count(log, []byte("\n"))
}

// usage is the manager's CPU time, and its peak memory since resetPeak.
func (s *stand) usage() (cpu time.Duration, memory int) {
	var user, system int
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.manager.PID()))
	if err != nil {
		return 0, 0
	}
	// The fields after the name, which may hold spaces; 14 and 15 of all.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	_, _ = fmt.Sscan(string(fields[11]), &user)
	_, _ = fmt.Sscan(string(fields[12]), &system)
	_, _ = fmt.Sscan(peakMemory(s.manager.PID()), &memory)
	return time.Duration(user+system) * 10 * time.Millisecond, memory << 10
}

// resetPeak has the peak of memory begin anew, where /proc can.
func (s *stand) resetPeak() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.manager.PID()), []byte("5"), 0o600)
}
