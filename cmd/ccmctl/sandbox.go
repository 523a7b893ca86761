package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"digitalocean-cloud-controller-manager/internal/controlplane"
	"digitalocean-cloud-controller-manager/internal/sandbox"
)

type sandboxFlags struct {
	exit       bool
	nodes      int
	manager    string
	version    string
	timeout    time.Duration
	activation time.Duration
	env        []string
	config     string
}

func newSandboxCommand() *cobra.Command {
	var f sandboxFlags
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Run the manager against a real Kubernetes API and a simulated DigitalOcean",
		Long: `Run the manager against a real Kubernetes API and a simulated DigitalOcean.

Starts etcd and kube-apiserver, a simulator of DigitalOcean's API with a few
droplets, and the manager as a process of its own, with the rights that it has
in a cluster. Registers the droplets' Nodes, applies a Service of type
LoadBalancer, and shows what happens. Needs no account and no token; everything
is on free ports of the loopback address. Ctrl-C stops and removes it all.

The first run builds etcd, kube-apiserver and kubectl, which takes some minutes;
they are kept. See "ccmctl controlplane --help" for other ways to get them.`,
		Example: `  # Start one and play with it; the commands to try are printed.
  ccmctl sandbox

  # Only see whether it works: exits with 0 once everything is up.
  ccmctl sandbox --exit

  # As slow as in life, with more nodes.
  ccmctl sandbox --nodes 10 --load-balancer-activation 90s

  # With settings of the manager.
  ccmctl sandbox --env DRIFT_PERIOD=10s --env LOAD_BALANCER_TARGETS=tag
  ccmctl sandbox --cloud-config config.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.exit, "exit", false, "exit once everything is up, with code 0 only if it is")
	flags.IntVar(&f.nodes, "nodes", 3, "number of droplets and Nodes, 1 to 500")
	flags.StringVar(&f.manager, "manager", "", "path of the manager's program (default: beside ccmctl, else on PATH)")
	flags.StringVar(&f.version, "kubernetes-version", controlplane.DefaultVersion, "version of the control plane")
	flags.DurationVar(&f.timeout, "timeout", 2*time.Minute, "how long everything may take to be up once the manager has started")
	flags.DurationVar(&f.activation, "load-balancer-activation", 5*time.Second, "how long a load balancer is new before it has an address")
	flags.StringArrayVar(&f.env, "env", nil, "a setting of the manager, as NAME=VALUE (may be repeated)")
	flags.StringVar(&f.config, "cloud-config", "", "the manager's configuration file")
	return cmd
}

// maxNodes keeps the simulated subnet from running out of addresses.
const maxNodes = 500

func (f sandboxFlags) validate() error {
	switch {
	case f.nodes < 1 || f.nodes > maxNodes:
		return fmt.Errorf("--nodes must be from 1 to %d, got %d", maxNodes, f.nodes)
	case f.timeout <= 0:
		return fmt.Errorf("--timeout must be positive, got %s", f.timeout)
	case f.activation < 0:
		return fmt.Errorf("--load-balancer-activation must not be negative, got %s", f.activation)
	}
	return nil
}

func (f sandboxFlags) run(cmd *cobra.Command) error {
	if err := f.validate(); err != nil {
		return err
	}
	if f.config != "" {
		path, err := filepath.Abs(f.config) // it is also told, to be used in another folder
		if err != nil {
			return fmt.Errorf("--cloud-config: %w", err)
		}
		f.config = path
	}
	// Before the build, which takes minutes.
	manager, err := sandbox.FindManager(f.manager)
	if err != nil {
		return err
	}
	assets, err := controlplane.Ensure(cmd.Context(), controlplane.Options{
		Version: f.version, Progress: cmd.ErrOrStderr(),
	})
	if err != nil {
		return err
	}
	return sandbox.Run(cmd.Context(), sandbox.Options{
		Assets: assets, Manager: manager, Nodes: f.nodes, Timeout: f.timeout, Exit: f.exit,
		LoadBalancerActivation: f.activation, Env: f.env, CloudConfig: f.config, Out: cmd.OutOrStdout(),
	})
}
