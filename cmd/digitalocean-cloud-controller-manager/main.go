// Command digitalocean-cloud-controller-manager connects a Kubernetes cluster
// to DigitalOcean.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	genericapiserver "k8s.io/apiserver/pkg/server"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	cloudconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli"
	cliflag "k8s.io/component-base/cli/flag"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of the Kubernetes client
	_ "k8s.io/component-base/metrics/prometheus/version"  // kubernetes_build_info
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/digitalocean"
	"digitalocean-cloud-controller-manager/internal/version"
)

func main() {
	spareMemory()
	command, err := newCommand(genericapiserver.SetupSignalHandler())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(run(command))
}

// run is cli.Run, but tells each error once: the framework has told those that
// come after the flags.
func run(command *cobra.Command) int {
	told := false
	printOrGoOn := command.PreRun
	command.PreRun = func(command *cobra.Command, args []string) {
		printOrGoOn(command, args)
		told = true
	}
	err := cli.RunNoErrOutput(command)
	if err == nil {
		return 0
	}
	if !told {
		fmt.Fprintln(os.Stderr, "Error:", err)
	}
	return 1
}

// gcPercent is how much garbage may gather, in percent of what is in use, unless
// the environment variable GOGC says otherwise. Thousands of Nodes are watched
// and hundreds of load balancers listed with thousands of droplets each, which is
// much garbage and little work: half of the default's memory costs hardly any
// time.
const gcPercent = 40

func spareMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

func newCommand(stop <-chan struct{}) (*cobra.Command, error) {
	opts, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		return nil, fmt.Errorf("make options: %w", err)
	}
	preset(opts)
	led := &leader{}
	flags := cliflag.NamedFlagSets{}
	observe := flags.FlagSet("digitalocean").Bool("observe-only", false,
		"Work out everything and write nothing, neither to DigitalOcean nor to Kubernetes, and take no lease: what would be written is told in the log, as metrics and at /debug/state. OBSERVE_ONLY=true is the same.")
	command := app.NewCloudControllerManagerCommand(opts, led.newCloud, digitalocean.Controllers(), names.CCMControllerAliases(), flags, stop)
	command.Use = "digitalocean-cloud-controller-manager"
	command.Long = "The DigitalOcean cloud controller manager initialises Nodes from droplets, removes Nodes\n" +
		"whose droplet is gone, and makes a load balancer for each Service of type LoadBalancer.\n" +
		"Settings of DigitalOcean's side are environment variables; see docs/configuration.md."
	command.PreRun = func(command *cobra.Command, args []string) {
		printVersion(command, args)
		if *observe {
			// The provider's factory reads settings from the environment alone.
			if err := os.Setenv("OBSERVE_ONLY", "true"); err != nil {
				fail(fmt.Errorf("--observe-only: %w", err))
			}
		}
	}
	command.PostRun = led.resign
	// DigitalOcean's VPCs have no routes to configure; the framework would
	// warn of it at each start.
	if err := presetFlag(command, "configure-cloud-routes", "false"); err != nil {
		return nil, err
	}
	return command, nil
}

// Presets, which are the defaults of the flags of these names. The framework's
// make everything wait for the slowest call.
const (
	// concurrentSyncs: an Ensure mostly waits for DigitalOcean, so many
	// Services at once cost nothing; the API's quota has its own guard.
	concurrentServiceSyncs = 10
	// A new Node costs three writes to Kubernetes, one after the other, and
	// may wait some seconds for its droplet's addresses.
	concurrentNodeSyncs = 50
	// Looks at Nodes that are not ready are answered from one snapshot.
	concurrentNodeLifecycleSyncs = 10
	// 500 new Nodes are 1,500 writes: at the framework's 20 a second they
	// would take over a minute. The API server's own priority and fairness
	// protects it from more than it can do.
	kubeAPIQPS   = 200
	kubeAPIBurst = 400
)

func preset(opts *options.CloudControllerManagerOptions) {
	opts.KubeCloudShared.CloudProvider.Name = digitalocean.ProviderName
	opts.ServiceController.ConcurrentServiceSyncs = concurrentServiceSyncs
	opts.NodeController.ConcurrentNodeSyncs = concurrentNodeSyncs
	opts.NodeLifecycleController.ConcurrentNodeLifecycleSyncs = concurrentNodeLifecycleSyncs
	opts.Generic.ClientConnection.QPS = kubeAPIQPS
	opts.Generic.ClientConnection.Burst = kubeAPIBurst
	// Their flags do nothing in this command.
	opts.Webhook, opts.WebhookServing = nil, nil
}

// presetFlag sets the default of a flag for which the framework has no option.
func presetFlag(command *cobra.Command, name, value string) error {
	flag := command.Flags().Lookup(name)
	if flag == nil {
		return fmt.Errorf("the framework has no flag --%s any more", name)
	}
	flag.DefValue = value
	return flag.Value.Set(value)
}

// printVersion answers --version with the manager's own version; the
// framework's answer would be Kubernetes'.
func printVersion(command *cobra.Command, _ []string) {
	if flag := command.Flags().Lookup("version"); flag != nil && flag.Value.String() == "true" {
		fmt.Fprintf(command.OutOrStdout(), "%s %s\n", command.Use, version.Full())
		os.Exit(0)
	}
}

// leader is this process if it leads.
type leader struct{ cloud *digitalocean.Cloud }

// resign ends the work of a process that was told to end.
func (l *leader) resign(*cobra.Command, []string) {
	if l.cloud == nil {
		return
	}
	if err := l.cloud.Resign(context.Background()); err != nil {
		klog.ErrorS(err, "Ended without giving up the lease, which will run out")
	}
	klog.Flush()
}

// newCloud makes the provider. It runs on every replica, before one of them
// leads.
func (l *leader) newCloud(config *cloudconfig.CompletedConfig) cloudprovider.Interface {
	provider := config.ComponentConfig.KubeCloudShared.CloudProvider
	if file := provider.CloudConfigFile; file != "" {
		// The framework would end with a dump of all goroutines.
		if _, err := os.Stat(file); err != nil {
			fail(fmt.Errorf("--cloud-config: %w", err))
		}
	}
	cloud, err := cloudprovider.InitCloudProvider(provider.Name, provider.CloudConfigFile)
	if err == nil && cloud == nil {
		err = fmt.Errorf("--cloud-provider=%s: must be %s", provider.Name, digitalocean.ProviderName)
	}
	if err != nil {
		fail(err)
	}
	if ours, ok := cloud.(*digitalocean.Cloud); ok {
		if err := ours.Prepare(config); err != nil {
			fail(err)
		}
		l.cloud = ours
	}
	return cloud
}

// fail ends the process with neither a stack trace nor the usage: the message
// says what to mend.
func fail(err error) {
	klog.Flush()
	fmt.Fprintln(os.Stderr, "Error:", err)
	os.Exit(1)
}
