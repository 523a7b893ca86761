// Command own-main is a cloud controller manager of your own that uses the
// DigitalOcean provider: the import registers it under the name
// "digitalocean", the rest is the framework's.
package main

import (
	"fmt"
	"os"

	genericapiserver "k8s.io/apiserver/pkg/server"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli"
	cliflag "k8s.io/component-base/cli/flag"

	"digitalocean-cloud-controller-manager/digitalocean"
)

func main() {
	opts, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	opts.KubeCloudShared.CloudProvider.Name = digitalocean.ProviderName
	command := app.NewCloudControllerManagerCommand(opts, newCloud, digitalocean.Controllers(),
		names.CCMControllerAliases(), cliflag.NamedFlagSets{}, genericapiserver.SetupSignalHandler())
	os.Exit(cli.Run(command))
}

func newCloud(c *config.CompletedConfig) cloudprovider.Interface {
	provider := c.ComponentConfig.KubeCloudShared.CloudProvider
	cloud, err := cloudprovider.InitCloudProvider(provider.Name, provider.CloudConfigFile)
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
	return cloud
}
