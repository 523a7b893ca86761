package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"digitalocean-cloud-controller-manager/deploy"
	"digitalocean-cloud-controller-manager/internal/controlplane"
	"digitalocean-cloud-controller-manager/simulator"
)

const (
	// token is what the simulator accepts; it opens nothing else.
	token = "sandbox"
	// region of the droplets.
	region = "nyc3"
	// exampleService is the Service that gets a load balancer.
	exampleService = "example"
)

// Options of Run.
type Options struct {
	// Assets are the control plane's programs.
	Assets controlplane.Assets
	// Manager is the path of the manager's program.
	Manager string
	// Nodes is how many droplets and Nodes there are, at least 1.
	Nodes int
	// LoadBalancerActivation is how long a load balancer is new before it has
	// an address. In life it is a minute or more.
	LoadBalancerActivation time.Duration
	// Timeout is how long everything may take to be up once the manager has
	// started.
	Timeout time.Duration
	// Env are further variables of the manager, as NAME=value. Those that the
	// sandbox sets itself are refused: they say whom the manager works for.
	Env []string
	// CloudConfig is the path of the manager's configuration file; empty: none.
	CloudConfig string
	// Exit ends Run once everything is up.
	Exit bool
	// Out is told what happens.
	Out io.Writer
}

// TimeoutError says that not everything was up in time.
type TimeoutError struct {
	After   time.Duration
	Missing string // each object that isn't as it should be, and how it is
}

// Error implements error.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("not everything is up after %s: %s", e.After, e.Missing)
}

// ManagerError says that the manager ended by itself.
type ManagerError struct {
	Cause error // how it ended; nil if with code 0
}

// Error implements error.
func (e *ManagerError) Error() string {
	if e.Cause == nil {
		return "the manager ended by itself"
	}
	return "the manager ended by itself: " + e.Cause.Error()
}

// Unwrap returns how the manager ended.
func (e *ManagerError) Unwrap() error { return e.Cause }

// Run starts the sandbox and stays until the context ends, or with o.Exit until
// everything is up. Whatever happens, no process and no file is left behind.
// It returns nil if everything was up, else the context's error,
// [*TimeoutError], [*ManagerError], or what kept a part from starting.
func Run(ctx context.Context, o Options) (err error) {
	if err := checkEnv(o.Env); err != nil {
		return err
	}
	s := &session{o: o, print: newPrinter(o.Out)}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, start := range []func(context.Context) error{
		s.startFiles, s.startCloud, s.startControlPlane, s.registerNodes, s.startManager,
	} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	return s.observe(ctx)
}

// session is one run's state.
type session struct {
	o     Options
	print *printer
	// closers undo what was started, the last one first.
	closers []func() error

	dir        string
	cloud      *simulator.Simulator
	api        *APIServer
	cluster    *ControlPlane
	client     kubernetes.Interface
	kubeconfig string
	nodes      map[int]string // names by droplet
	manager    *Manager
	settings   []string // the manager's, as NAME=VALUE
	log        string
}

func (s *session) onClose(f func() error) { s.closers = append(s.closers, f) }

func (s *session) close() error {
	if len(s.closers) > 1 {
		s.print.step("stopping")
	}
	var errs []error
	for _, f := range slices.Backward(s.closers) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

func (s *session) startFiles(context.Context) error {
	dir, err := os.MkdirTemp("", "ccmctl-sandbox-")
	if err != nil {
		return fmt.Errorf("make a folder for the sandbox: %w", err)
	}
	s.dir = dir
	s.onClose(func() error { return os.RemoveAll(dir) })
	return nil
}

func (s *session) startCloud(ctx context.Context) error {
	s.cloud = simulator.New(
		simulator.WithToken(token, token),
		simulator.WithLoadBalancerActivation(s.o.LoadBalancerActivation),
	)
	s.nodes = map[int]string{}
	for i := range s.o.Nodes {
		droplet := s.cloud.AddDroplet(simulator.DropletSpec{Name: fmt.Sprintf("node-%d", i+1), Region: region})
		s.nodes[droplet.ID] = droplet.Name
	}
	var err error
	if s.api, err = StartAPI(ctx, s.cloud); err != nil {
		return err
	}
	s.onClose(s.api.Stop)
	s.print.step("simulator of DigitalOcean's API at %s, with %d droplets", s.api.URL(), s.o.Nodes)
	return nil
}

func (s *session) startControlPlane(ctx context.Context) error {
	s.print.step("starting etcd and kube-apiserver")
	var err error
	if s.cluster, err = StartControlPlane(ctx, s.o.Assets, ControlPlaneOptions{}); err != nil {
		return err
	}
	s.onClose(s.cluster.Stop)
	if s.client, err = kubernetes.NewForConfig(s.cluster.Config()); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	server, err := s.client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("ask the API server's version: %w", err)
	}
	s.print.step("Kubernetes %s at %s", server.GitVersion, s.cluster.URL())
	s.kubeconfig = filepath.Join(s.dir, "kubeconfig")
	if err := os.WriteFile(s.kubeconfig, s.cluster.Kubeconfig(), 0o600); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}

func (s *session) registerNodes(ctx context.Context) error {
	for _, name := range s.nodes {
		if _, err := RegisterNode(ctx, s.client, NewNode(name, NodeOptions{})); err != nil {
			return err
		}
	}
	// Only now, as a condition can't be written to a Node that isn't there.
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { newKubelets(s.client, s.cloud, s.nodes).run(ctx) })
	s.onClose(func() error {
		cancel()
		running.Wait()
		return nil
	})
	return nil
}

func (s *session) startManager(ctx context.Context) error {
	user, err := s.cluster.AddManager(ctx, deploy.RBAC)
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(s.dir, "manager.kubeconfig")
	if err := os.WriteFile(kubeconfig, user.Kubeconfig, 0o600); err != nil {
		return fmt.Errorf("write the manager's kubeconfig: %w", err)
	}
	s.log = filepath.Join(s.dir, "manager.log")
	log, err := os.Create(s.log)
	if err != nil {
		return fmt.Errorf("make the manager's log: %w", err)
	}
	defer func() { _ = log.Close() }() // the process has its own descriptor
	s.settings = append(ManagerEnvironment(s.api.URL(), token, region, uuid.NewString()), s.o.Env...)
	options := ManagerOptions{Binary: s.o.Manager, Kubeconfig: kubeconfig, Log: log, Env: s.settings}
	if s.o.CloudConfig != "" {
		options.Args = []string{"--cloud-config=" + s.o.CloudConfig}
	}
	s.manager, err = StartManager(ctx, options)
	if err != nil {
		return err
	}
	s.onClose(s.manager.Stop)
	s.print.step("manager started (process %d), as %s", s.manager.PID(), user.Name)
	return nil
}

// ManagerEnvironment points the manager at an API, usually a simulator.
func ManagerEnvironment(apiURL, token, region, clusterID string) []string {
	return []string{
		"DO_ACCESS_TOKEN=" + token,
		"DO_OVERRIDE_URL=" + apiURL,
		"REGION=" + region,
		"DO_CLUSTER_ID=" + clusterID,
	}
}

// checkEnv refuses variables that the sandbox sets itself, and what is none.
func checkEnv(env []string) error {
	own := append(ManagerEnvironment("", "", "", ""), "DO_ACCESS_TOKEN_FILE=")
	for _, variable := range env {
		name, _, ok := strings.Cut(variable, "=")
		if !ok || name == "" {
			return fmt.Errorf("variable %q of the manager must be NAME=VALUE", variable)
		}
		if slices.Contains(own, name+"=") {
			return fmt.Errorf("variable %s of the manager is the sandbox's own", name)
		}
	}
	return nil
}

// applyService asks for a load balancer.
func (s *session) applyService(ctx context.Context) error {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: exampleService},
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeLoadBalancer,
			Selector: map[string]string{"app": exampleService},
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80}},
		},
	}
	_, err := s.client.CoreV1().Services(metav1.NamespaceDefault).Create(ctx, service, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create the example Service: %w", err)
	}
	s.print.step("Service %s created", exampleService)
	return nil
}
