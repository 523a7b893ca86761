package digitalocean

import (
	"fmt"

	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	cloudconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/internal/rehearsal"
	"digitalocean-cloud-controller-manager/internal/rivals"
)

// Prepare fits the framework's configuration to the provider, and must be called
// before the framework runs: with leader election the provider learns how long
// its lease holds, and [Cloud.Resign] can give it up; with OBSERVE_ONLY there is no election, so that another manager
// goes on to lead, and no client writes to Kubernetes.
func (c *Cloud) Prepare(completed *cloudconfig.CompletedConfig) error {
	c.prepared = true
	if c.rehearsal == nil {
		c.noteWrites(completed)
		if e := completed.ComponentConfig.Generic.LeaderElection; e.LeaderElect {
			c.elect(election{e.ResourceNamespace, e.ResourceName, e.LeaseDuration.Duration, e.RenewDeadline.Duration}, completed.Kubeconfig)
		}
		return nil
	}
	completed.ComponentConfig.Generic.LeaderElection.LeaderElect = false
	completed.Kubeconfig.Wrap(c.rehearsal.Kubernetes)
	// The framework has made these from the configuration as it was.
	completed.ClientBuilder = clientbuilder.SimpleControllerClientBuilder{ClientConfig: completed.Kubeconfig}
	client, err := kubernetes.NewForConfig(restclient.AddUserAgent(completed.Kubeconfig, "cloud-controller-manager"))
	if err != nil {
		return fmt.Errorf("make a Kubernetes client that only reads: %w", err)
	}
	completed.Client = client
	klog.Background().Info("Only observes: nothing is written to DigitalOcean or Kubernetes, and no lease is taken")
	return nil
}

// noteWrites notes what this process writes to Kubernetes, to tell it from what
// others write under the same name. Controllers with accounts of their own make
// clients past it.
func (c *Cloud) noteWrites(completed *cloudconfig.CompletedConfig) {
	if completed.ComponentConfig.KubeCloudShared.UseServiceAccountCredentials {
		return
	}
	c.ledger = rivals.NewLedger(c.clock)
	completed.Kubeconfig.Wrap(c.ledger.Wrap)
}

// beginRehearsing makes the book of what would be written, where nothing is to
// be.
func (c *Cloud) beginRehearsing(logger klog.Logger) {
	if c.config.ObserveOnly {
		c.rehearsal = rehearsal.NewBook(logger, c.clock, rehearsal.NewMetrics(c.registry.MustRegister))
	}
}

// mustBePrepared ends the process where the framework's clients would write
// although nothing is to be written.
func (c *Cloud) mustBePrepared() {
	if c.rehearsal == nil || c.prepared {
		return
	}
	klog.Background().Error(nil, "Can't only observe: this program doesn't call Prepare", "setting", config.EnvObserveOnly)
	klog.FlushAndExit(klog.ExitFlushTimeout, 1)
}
