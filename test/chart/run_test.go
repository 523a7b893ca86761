package chart

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"digitalocean-cloud-controller-manager/internal/controlplane"
	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
)

// token is what the chart's file holds.
const token = "dop_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// auditPolicy logs who did what, and with what result.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
`

// The manager itself runs with the arguments, variables, files and rights that
// the chart gives it: it initialises a Node and makes and deletes a load
// balancer, and asks for nothing that it may not.
func TestTheManagerWorksAsTheChartRunsIt(t *testing.T) {
	sim := simulator.New(simulator.WithToken(token, "team"))
	api, err := sandbox.StartAPI(t.Context(), sim)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Stop() })
	assets, err := controlplane.Ensure(t.Context(), controlplane.Options{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	audit := filepath.Join(t.TempDir(), "audit.log")
	plane := audited(t, assets, audit)
	values := fmt.Sprintf("config: {region: nyc3, clusterID: mine, api: {url: %q}, loadBalancer: {limits: {some: {namespaces: a=b, maxSizeUnit: 1}}}}", api.URL())
	log := &lockedBuffer{}
	startManager(t, plane, values, log)
	kube, err := kubernetes.NewForConfig(plane.Config())
	if err != nil {
		t.Fatal(err)
	}

	sim.AddDroplet(simulator.DropletSpec{Name: "w", Team: "team", CreatedAt: time.Now().Add(-time.Hour)})
	if _, err := sandbox.RegisterNode(t.Context(), kube, sandbox.NewNode("w", sandbox.NodeOptions{})); err != nil {
		t.Fatal(err)
	}
	within(t, time.Minute, log, "the Node is initialised", func() error {
		node, err := kube.CoreV1().Nodes().Get(t.Context(), "w", metav1.GetOptions{})
		waits := func(t v1.Taint) bool { return t.Key == "node.cloudprovider.kubernetes.io/uninitialized" }
		if err == nil && (slices.ContainsFunc(node.Spec.Taints, waits) || node.Spec.ProviderID == "") {
			err = fmt.Errorf("taints %v, provider ID %q", node.Spec.Taints, node.Spec.ProviderID)
		}
		return err
	})
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{{Port: 80}}, Selector: map[string]string{"app": "web"}},
	}
	if _, err := kube.CoreV1().Services("default").Create(t.Context(), svc, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	within(t, time.Minute, log, "the Service has an address", func() error {
		svc, err := kube.CoreV1().Services("default").Get(t.Context(), "web", metav1.GetOptions{})
		if err == nil && len(svc.Status.LoadBalancer.Ingress) == 0 {
			err = errors.New("no ingress")
		}
		return err
	})
	if err := kube.CoreV1().Services("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	within(t, time.Minute, log, "the load balancer is deleted", func() error {
		_, err := kube.CoreV1().Services("default").Get(t.Context(), "web", metav1.GetOptions{})
		if err == nil {
			return errors.New("the Service is still there")
		}
		return nil
	})
	checkAudit(t, audit)
	if text := log.String(); strings.Contains(text, token) || strings.Contains(text, "forbidden") {
		t.Errorf("the log holds the token, or a refusal:\n%s", text)
	}
}

func audited(t *testing.T, assets controlplane.Assets, log string) *sandbox.ControlPlane {
	t.Helper()
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	plane, err := sandbox.StartControlPlane(t.Context(), assets, sandbox.ControlPlaneOptions{
		Args: map[string]string{"audit-policy-file": policy, "audit-log-path": log},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	return plane
}

// startManager runs the manager as the container of the rendered Deployment,
// but for the paths of its files, its port and its way to the API server.
func startManager(t *testing.T, plane *sandbox.ControlPlane, values string, log *lockedBuffer) {
	t.Helper()
	rbac, err := template(t, values, "--show-only", "templates/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	user, err := plane.AddManager(t.Context(), []byte(rbac))
	if err != nil {
		t.Fatal(err)
	}
	objects := render(t, values)
	files := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(files, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	kubeconfig := write("kubeconfig", string(user.Kubeconfig))
	config := write("config.yaml", as[v1.ConfigMap](t, objects, "ConfigMap", chartName).Data["config.yaml"])
	container := as[appsv1.Deployment](t, objects, "Deployment", chartName).Spec.Template.Spec.Containers[0]
	args := slices.Clone(container.Args)
	for i, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		switch name {
		case "--cloud-config":
			args[i] = name + "=" + config
		case "--secure-port", "--bind-address":
			args[i] = "" // the sandbox's
		}
	}
	args = slices.DeleteFunc(args, func(arg string) bool { return arg == "" })
	env := []string{"DO_ACCESS_TOKEN_FILE=" + write("token", token+"\n")}
	for _, e := range container.Env {
		if e.Name != "DO_ACCESS_TOKEN_FILE" && e.Name != "DEBUG_ADDR" {
			env = append(env, e.Name+"="+e.Value)
		}
	}
	m, err := sandbox.StartManager(t.Context(), sandbox.ManagerOptions{Binary: buildManager(t), Kubeconfig: kubeconfig, Env: env, Args: args, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Kill() })
}

func buildManager(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "manager")
	command := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/digitalocean-cloud-controller-manager")
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// checkAudit looks for requests of the manager's that were denied.
func checkAudit(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	requests := 0
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var event struct {
			Verb, RequestURI string
			User             struct{ Username string }
			ResponseStatus   struct{ Code int }
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			continue // a line that is being written
		}
		if event.User.Username != "system:serviceaccount:kube-system:cloud-controller-manager" {
			continue
		}
		requests++
		if event.ResponseStatus.Code == 403 {
			t.Errorf("denied: %s %s", event.Verb, event.RequestURI)
		}
	}
	if requests < 10 {
		t.Errorf("the audit log has %d requests of the manager", requests)
	}
}

func within(t *testing.T, limit time.Duration, log *lockedBuffer, what string, check func() error) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); ; <-tick.C {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %v\n%s", what, limit, err, log.String())
		}
	}
}

// lockedBuffer is a buffer for several writers.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
