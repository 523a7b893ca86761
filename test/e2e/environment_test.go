package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"digitalocean-cloud-controller-manager/deploy"
	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
	"digitalocean-cloud-controller-manager/test/harness"
)

const (
	token     = "dop_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	clusterID = "7c3a1b52-0d1f-4f0e-9a51-3c5c3e0f8a11"
	team      = "team-a"
)

// environment is a cluster with a manager.
type environment struct {
	t          *testing.T
	ctx        context.Context
	sim        *simulator.Simulator
	api        *sandbox.APIServer
	plane      *harness.Plane
	kube       kubernetes.Interface
	kubeconfig string
	variables  map[string]string
	args       []string
	log        harness.Log
	manager    *sandbox.Manager
	expected   expectations
}

type option func(*environment)

// variable sets an environment variable of the manager; empty unsets it.
func variable(name, value string) option {
	return func(e *environment) { e.variables[name] = value }
}

// prepare starts everything but the manager.
func prepare(t *testing.T, simulated []simulator.Option, options ...option) *environment {
	t.Helper()
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute)
	plane := planes.Take(ctx, t, programs.Assets)
	t.Cleanup(cancel) // before the control plane goes to another test
	e := &environment{t: t, ctx: ctx, plane: plane, variables: map[string]string{"DO_ACCESS_TOKEN": token, "REGION": "nyc3", "DO_CLUSTER_ID": clusterID}}
	e.sim = simulator.New(append([]simulator.Option{simulator.WithToken(token, team)}, simulated...)...)
	var err error
	if e.api, err = sandbox.StartAPI(ctx, harness.Conforming(t, e.sim)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.api.Stop() })
	e.variables["DO_OVERRIDE_URL"] = e.api.URL()
	if e.kube, err = kubernetes.NewForConfig(e.plane.Config()); err != nil {
		t.Fatal(err)
	}
	user, err := e.plane.AddManager(ctx, deploy.RBAC)
	if err != nil {
		t.Fatal(err)
	}
	e.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(e.kubeconfig, user.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range options {
		o(e)
	}
	t.Cleanup(e.checkLog)
	t.Cleanup(e.checkUnnamed)
	t.Cleanup(e.checkRights)
	return e
}

// start starts everything.
func start(t *testing.T, simulated []simulator.Option, options ...option) *environment {
	t.Helper()
	e := prepare(t, simulated, options...)
	e.startManager()
	return e
}

func (e *environment) startManager() {
	e.t.Helper()
	m, err := sandbox.StartManager(e.ctx, sandbox.ManagerOptions{
		Binary: programs.Manager, Kubeconfig: e.kubeconfig, Env: e.env(), Args: append([]string{"--v=4"}, e.args...), Log: &e.log,
	})
	if err != nil {
		e.t.Fatal(err)
	}
	e.manager = m
	e.t.Cleanup(func() { _ = m.Kill() })
}

func (e *environment) env() []string {
	var env []string
	for name, value := range e.variables {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// stopManager stops the manager, which gives its lease up.
func (e *environment) stopManager() {
	e.t.Helper()
	if err := e.manager.Stop(); err != nil {
		e.t.Fatal(err)
	}
}

// killManager ends the manager as a crash does, and frees its lease, which would
// hold the next one up for a quarter of a minute.
func (e *environment) killManager() {
	e.t.Helper()
	_ = e.manager.Kill()
	e.freeLease()
}

func (e *environment) freeLease() {
	e.t.Helper()
	if err := e.kube.CoordinationV1().Leases("kube-system").Delete(e.ctx, "cloud-controller-manager", metav1.DeleteOptions{}); err != nil {
		e.t.Log("free the lease:", err)
	}
}

// checkLog holds for every test: no panic, no race, no token.
func (e *environment) checkLog() {
	text := e.log.String()
	for _, fault := range harness.Faults(text, token) {
		e.t.Error(fault)
	}
	if e.t.Failed() {
		e.t.Logf("the end of the manager's log:\n%s", harness.Tail(text, 60))
	}
}

// eventually waits until check returns no error.
func (e *environment) eventually(within time.Duration, what string, check func() error) {
	e.t.Helper()
	deadline := time.Now().Add(within)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) || e.ctx.Err() != nil {
			e.t.Fatalf("%s: not within %s: %v", what, within, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// never checks for a while that check returns no error.
func (e *environment) never(during time.Duration, what string, check func() error) {
	e.t.Helper()
	for deadline := time.Now().Add(during); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if err := check(); err != nil {
			e.t.Fatalf("%s: %v", what, err)
		}
	}
}

// addNode makes a droplet and its Node.
func (e *environment) addNode(spec simulator.DropletSpec, o sandbox.NodeOptions) simulator.Droplet {
	e.t.Helper()
	e.mayWrite(addDroplets)
	spec.Team = team
	if spec.CreatedAt.IsZero() {
		spec.CreatedAt = time.Now().Add(-time.Hour)
	}
	droplet := e.sim.AddDroplet(spec)
	e.register(strings.ToLower(spec.Name), o)
	return droplet
}

func (e *environment) register(name string, o sandbox.NodeOptions) {
	e.t.Helper()
	if _, err := sandbox.RegisterNode(e.ctx, e.kube, sandbox.NewNode(name, o)); err != nil {
		e.t.Fatal(err)
	}
}

func (e *environment) node(name string) (*v1.Node, error) {
	return e.kube.CoreV1().Nodes().Get(e.ctx, name, metav1.GetOptions{})
}

// initialized tells whether the Node lost its taint and has an address.
func (e *environment) initialized(name string) func() error {
	return func() error {
		node, err := e.node(name)
		if err != nil {
			return err
		}
		if hasTaint(node, "node.cloudprovider.kubernetes.io/uninitialized") {
			return errors.New("still tainted")
		}
		if len(node.Status.Addresses) < 2 {
			return fmt.Errorf("addresses %v", node.Status.Addresses)
		}
		return nil
	}
}

func hasTaint(node *v1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == key })
}

// event waits for an event on an object, which must have arrived in the API
// server.
func (e *environment) event(within time.Duration, object, reason string, contains ...string) {
	e.t.Helper()
	e.mayWarn(reason)
	e.eventually(within, fmt.Sprintf("event %s on %s with %q", reason, object, contains), func() error {
		events, err := e.kube.CoreV1().Events(metav1.NamespaceAll).List(e.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var seen []string
		for _, event := range events.Items {
			if event.InvolvedObject.Name != object {
				continue
			}
			seen = append(seen, event.Reason+": "+event.Message)
			if event.Reason == reason && containsAll(event.Message, contains) {
				return nil
			}
		}
		return fmt.Errorf("its events are %q", seen)
	})
}

func containsAll(s string, parts []string) bool {
	return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(s, p) })
}

// writes are the requests that change something at DigitalOcean.
func (e *environment) writes() []string {
	var writes []string
	for _, r := range e.sim.Requests() {
		if r.Method != "GET" {
			writes = append(writes, fmt.Sprintf("%s %s %d", r.Method, r.Path, r.Status))
		}
	}
	return writes
}
