package chaos

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"digitalocean-cloud-controller-manager/deploy"
	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
	"digitalocean-cloud-controller-manager/test/chaos/plan"
	"digitalocean-cloud-controller-manager/test/harness"
)

const (
	token        = "dop_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	team         = "team-a"
	clusterID    = "7c3a1b52-0d1f-4f0e-9a51-3c5c3e0f8a11"
	region       = "nyc3"
	namespace    = "default"
	firewallName = "k8s-public-access"
	workerTag    = "k8s-worker"
	// driftPeriod is much shorter than in life, as are the times of the leader
	// election and of DigitalOcean's own work.
	driftPeriod = 3 * time.Second
	leaseLength = 6 * time.Second
)

// storm is one storm and what it rages on.
type storm struct {
	t    *testing.T
	ctx  context.Context
	plan plan.Plan

	sim        *simulator.Simulator
	api        *sandbox.APIServer
	plane      *sandbox.ControlPlane
	kube       kubernetes.Interface
	kubeconfig string
	strangers  strangers
	record     *record
	managers   map[string]*manager

	// background are actions that end by themselves, such as faults.
	background sync.WaitGroup
	// mu guards what follows.
	mu sync.Mutex
	// droplets are the ids of the cluster's, by the Node's name.
	droplets map[string]int
	// restarting is held while kube-apiserver restarts.
	restarting sync.Mutex
}

// prepare starts everything but the managers.
func prepare(ctx context.Context, t *testing.T, p plan.Plan, seed uint64) *storm {
	t.Helper()
	s := &storm{t: t, ctx: ctx, plan: p, droplets: map[string]int{}, managers: map[string]*manager{}}
	s.sim = simulator.New(
		simulator.WithToken(token, team), simulator.WithSeed(int64(seed)),
		simulator.WithLoadBalancerActivation(1500*time.Millisecond), simulator.WithBusyWindow(300*time.Millisecond),
		simulator.WithResizeInterval(2*time.Second), simulator.WithFirewallActivation(500*time.Millisecond),
	)
	s.strangers = settle(t, s.sim)
	var err error
	if s.api, err = sandbox.StartAPI(ctx, s.witnessed(harness.Conforming(t, s.sim))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.api.Stop() })
	s.startControlPlane()
	s.record = observe(s)
	t.Cleanup(s.record.stop)
	for i := range plan.Certificates {
		s.sim.AddCertificate(simulator.CertificateSpec{Name: plan.CertificateName(i), Type: "lets_encrypt", DNSNames: []string{"storm.example.com"}})
	}
	for i := range plan.FirstNodes {
		if err := s.addNode(plan.NodeName(i), i); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// witnessed has it recorded for whom a load balancer was made before anything is
// written to it, however soon that is.
func (s *storm) witnessed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && onBalancer.MatchString(r.URL.Path) {
			s.record.look(s.sim.LoadBalancers())
		}
		next.ServeHTTP(w, r)
	})
}

func (s *storm) startControlPlane() {
	s.t.Helper()
	var err error
	if s.plane, err = sandbox.StartControlPlane(s.ctx, programs.Assets, sandbox.ControlPlaneOptions{
		Signals: true,
		// Without it, who still watches holds up the end of the API server for a minute.
		Args: map[string]string{"shutdown-watch-termination-grace-period": "2s"},
	}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		s.restarting.Lock()
		defer s.restarting.Unlock()
		if err := s.plane.Stop(); err != nil {
			s.t.Error(err)
		}
	})
	if s.kube, err = kubernetes.NewForConfig(s.plane.Config()); err != nil {
		s.t.Fatal(err)
	}
	user, err := s.plane.AddManager(s.ctx, deploy.RBAC)
	if err != nil {
		s.t.Fatal(err)
	}
	s.kubeconfig = filepath.Join(s.t.TempDir(), "kubeconfig")
	if err := os.WriteFile(s.kubeconfig, user.Kubeconfig, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// variables are the managers' environment.
func (s *storm) variables() []string {
	targets := "droplets"
	if s.plan.TargetTag {
		targets = "tag"
	}
	return append(sandbox.ManagerEnvironment(s.api.URL(), token, region, clusterID),
		"DRIFT_PERIOD="+driftPeriod.String(), "LOAD_BALANCER_TARGETS="+targets,
		"PUBLIC_ACCESS_FIREWALL_NAME="+firewallName, "PUBLIC_ACCESS_FIREWALL_TAGS="+workerTag)
}

// rage performs the actions, each when its time has come. Those that Kubernetes
// is in the way of are late, and so are all after them.
func (s *storm) rage(length time.Duration) {
	begun := time.Now()
	for _, a := range s.plan.Actions {
		if !s.pause(time.Until(begun.Add(a.At))) {
			return
		}
		if err := s.perform(a); err != nil {
			s.t.Logf("%6.2fs not done: %s: %v", time.Since(begun).Seconds(), a, err)
		}
	}
	s.pause(time.Until(begun.Add(length)))
	s.background.Wait()
}

// pause waits, and returns false when the time for everything is up.
func (s *storm) pause(d time.Duration) bool {
	select {
	case <-s.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// later does something after a while, before the storm is over.
func (s *storm) later(after time.Duration, do func()) {
	s.background.Go(func() {
		s.pause(after)
		do()
	})
}

// calm ends everything that goes wrong by itself, and has half of the Services
// mended that can't be as they are.
func (s *storm) calm() {
	s.sim.ClearFaults()
	for _, svc := range s.record.services() {
		if spec, problems := parse(svc); len(problems) > 0 || spec.DryRun {
			if number := svc.Name[len(svc.Name)-1]; number%2 == 0 {
				if err := s.bare(svc.Name); err != nil && !apierrors.IsNotFound(err) {
					s.t.Errorf("mend Service %s: %v", svc.Name, err)
				}
			}
		}
	}
}

// describe is the whole storm, to read after a failure.
func (s *storm) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "target tag: %t, kinds: %v\n", s.plan.TargetTag, s.plan.Kinds)
	for _, a := range s.plan.Actions {
		b.WriteString(a.String() + "\n")
	}
	return b.String()
}
