// Command digitalocean-cloud-controller-manager-admission-server tells of
// mistakes in Services of type LoadBalancer before the API server stores them.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of the Kubernetes client
	_ "k8s.io/component-base/metrics/prometheus/version"  // kubernetes_build_info

	"digitalocean-cloud-controller-manager/internal/version"
)

func main() {
	command, err := newCommand()
	if err == nil {
		err = cli.RunNoErrOutput(command)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct{ kubeconfig, cloudConfig string }

func newCommand() (*cobra.Command, error) {
	logs := logsapi.NewLoggingConfiguration()
	gate := featuregate.NewFeatureGate()
	if err := logsapi.AddFeatureGates(gate); err != nil {
		return nil, fmt.Errorf("register the features of logging: %w", err)
	}
	var o options
	command := &cobra.Command{
		Use: "digitalocean-cloud-controller-manager-admission-server",
		Long: "The admission server tells of mistakes in Services of type LoadBalancer before the API\n" +
			"server stores them, on the same decisions as the DigitalOcean cloud controller manager.\n" +
			"Settings are environment variables: the manager's and those of docs/admission.md.",
		Version:       version.Full(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := logsapi.ValidateAndApply(logs, gate); err != nil {
				return err
			}
			return run(genericapiserver.SetupSignalContext(), o)
		},
	}
	command.Flags().StringVar(&o.kubeconfig, "kubeconfig", "", "Path of a kubeconfig; without it the server uses its Pod's ServiceAccount")
	command.Flags().StringVar(&o.cloudConfig, "cloud-config", "", "Path of the manager's configuration file, if it has one")
	logsapi.AddFlags(logs, command.Flags())
	return command, nil
}
