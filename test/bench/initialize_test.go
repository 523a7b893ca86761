package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"digitalocean-cloud-controller-manager/deploy"
	"digitalocean-cloud-controller-manager/internal/controlplane"
	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
)

const (
	benchToken   = "dop_v1_bench"
	apiLatency   = 100 * time.Millisecond
	initialNodes = 500
	// initialCalls are the API calls to initialise that many Nodes, recorded;
	// they may only fall.
	initialCalls = 12
)

// TestInitialize measures how long the built manager takes to initialise many
// Nodes at once that know their droplet by name only.
func TestInitialize(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	assets, err := controlplane.Ensure(ctx, controlplane.Options{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	plane, err := sandbox.StartControlPlane(ctx, assets, sandbox.ControlPlaneOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = plane.Stop() }()
	sim := simulator.New(simulator.WithToken(benchToken, "bench"), simulator.WithLatency(apiLatency))
	api, err := sandbox.StartAPI(ctx, sim)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = api.Stop() }()
	kube, err := kubernetes.NewForConfig(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	registerNodes(ctx, t, sim, kube)

	binary := buildManager(ctx, t)
	begun := time.Now()
	manager := startManager(ctx, t, binary, plane, api)
	defer func() { _ = manager.Kill() }()
	waitInitialized(ctx, t, kube)
	took, calls := time.Since(begun), len(sim.Requests())
	t.Logf("%d nodes initialised in %s with %d API calls; peak memory of the manager %s", initialNodes, took.Round(100*time.Millisecond), calls, peakMemory(manager.PID()))
	if calls > initialCalls {
		t.Errorf("%d API calls, recorded are %d", calls, initialCalls)
	}
}

func registerNodes(ctx context.Context, t *testing.T, sim *simulator.Simulator, kube kubernetes.Interface) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(20)
	for i := range initialNodes {
		name := fmt.Sprint("node-", i)
		sim.AddDroplet(simulator.DropletSpec{Team: "bench", Name: name, CreatedAt: time.Now().Add(-time.Minute)})
		group.Go(func() error {
			_, err := sandbox.RegisterNode(ctx, kube, sandbox.NewNode(name, sandbox.NodeOptions{}))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

func buildManager(ctx context.Context, t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), sandbox.ManagerName)
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "digitalocean-cloud-controller-manager/cmd/digitalocean-cloud-controller-manager")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	return binary
}

func startManager(ctx context.Context, t *testing.T, binary string, plane *sandbox.ControlPlane, api *sandbox.APIServer) *sandbox.Manager {
	t.Helper()
	user, err := plane.AddManager(ctx, deploy.RBAC)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, user.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	manager, err := sandbox.StartManager(ctx, sandbox.ManagerOptions{
		Binary: binary, Kubeconfig: kubeconfig,
		Env: sandbox.ManagerEnvironment(api.URL(), benchToken, "nyc3", "bench"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return manager
}

func waitInitialized(ctx context.Context, t *testing.T, kube kubernetes.Interface) {
	t.Helper()
	for {
		nodes, err := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		done := 0
		for _, node := range nodes.Items {
			if node.Spec.ProviderID != "" && len(node.Status.Addresses) > 2 {
				done++
			}
		}
		if done == initialNodes {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// peakMemory reads the highest resident size of a process, where /proc tells.
func peakMemory(pid int) string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
