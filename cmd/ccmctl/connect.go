package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/preview"
	"digitalocean-cloud-controller-manager/internal/region"
	"digitalocean-cloud-controller-manager/internal/version"
)

// commandTimeout bounds a command that reads a cluster and an account.
const commandTimeout = 2 * time.Minute

// lookOutputs are the formats of commands that look; the first is the default.
var lookOutputs = []string{"text", "json"}

// accessHelp is the part of the help on how both are reached.
const accessHelp = `Only reads, from Kubernetes and from DigitalOcean. Takes the manager's settings
from the same environment variables (DO_ACCESS_TOKEN, REGION, DO_CLUSTER_ID and so
on) and from the same file (--cloud-config): with other settings than the manager's
the answer is another one.`

// access is how the cluster and the account are reached.
type access struct {
	kubeconfig, context, config string
}

func (a *access) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&a.kubeconfig, "kubeconfig", "", "file that tells how to reach the cluster (default: as kubectl)")
	flags.StringVar(&a.context, "context", "", "context of the kubeconfig (default: its current one)")
	flags.StringVar(&a.config, "cloud-config", "", "configuration file of the manager")
}

// lookFlags are those of the commands that look at a cluster and its account.
type lookFlags struct {
	access
	output string
}

func (f *lookFlags) flags(cmd *cobra.Command) {
	f.access.flags(cmd)
	cmd.Flags().StringVarP(&f.output, "output", "o", lookOutputs[0], "format: "+strings.Join(lookOutputs, ", "))
	complete(cmd, "output", lookOutputs)
}

// within has a command look at both, with a deadline.
func (f *lookFlags) within(ctx context.Context, look func(context.Context, *world) error) error {
	if !slices.Contains(lookOutputs, f.output) {
		return fmt.Errorf("--output must be %s, got %q", alternatives(lookOutputs), f.output)
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	w, err := f.connect()
	if err != nil {
		return err
	}
	return look(ctx, w)
}

// world is both, and the settings they are seen by.
type world struct {
	settings  *config.Config
	client    *doapi.Client
	kube      kubernetes.Interface
	namespace string
}

func (a *access) connect() (*world, error) {
	w := &world{}
	var err error
	if w.settings, err = a.settings(); err != nil {
		return nil, err
	}
	if w.client, err = newClient(w.settings.API); err != nil {
		return nil, err
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: a.context})
	restConfig, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	if w.namespace, _, err = loader.Namespace(); err != nil {
		return nil, fmt.Errorf("read the kubeconfig's namespace: %w", err)
	}
	restConfig.UserAgent = program + "/" + version.Version()
	restConfig.Wrap(func(next http.RoundTripper) http.RoundTripper { return preview.ReadOnly(next) })
	if w.kube, err = newKube(restConfig); err != nil {
		return nil, err
	}
	return w, nil
}

func newKube(c *rest.Config) (kubernetes.Interface, error) {
	kube, err := kubernetes.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("make a client of Kubernetes: %w", err)
	}
	return kube, nil
}

// settings reads the manager's settings as the manager does.
func (a *access) settings() (*config.Config, error) {
	if a.config == "" {
		return named(config.Read(os.LookupEnv, strings.NewReader("")))
	}
	file, err := os.Open(a.config)
	if err != nil {
		return nil, fmt.Errorf("read --cloud-config: %w", err)
	}
	defer file.Close()
	return named(config.Read(os.LookupEnv, file))
}

func named(c *config.Config, err error) (*config.Config, error) {
	if err != nil {
		return nil, fmt.Errorf("the settings, which must be the manager's, can't be used:\n%w", err)
	}
	return c, nil
}

func newClient(api config.API) (*doapi.Client, error) {
	source := doapi.StaticToken(api.Token)
	if api.TokenFile != "" {
		source = doapi.FileToken(api.TokenFile)
	}
	return doapi.New(doapi.Options{
		TokenSource: source, BaseURL: api.URL, Version: version.Version(), QPS: api.RateLimitQPS, EnterWrite: preview.NoWrites,
	})
}

// region is where load balancers are made, checked as the manager does at start.
func (w *world) region(ctx context.Context) (string, error) {
	slug := w.settings.Region
	if slug == "" {
		var err error
		if slug, err = region.FromMetadata(ctx, w.settings.MetadataURL); err != nil {
			return "", fmt.Errorf("set %s as the manager has it: it isn't set, and this is no droplet to read it of: %w", config.EnvRegion, err)
		}
	}
	if err := region.Check(ctx, w.client.Regions, slug); err != nil {
		var unknown *region.UnknownError
		if errors.As(err, &unknown) {
			return "", fmt.Errorf("%s: %w", config.EnvRegion, err)
		}
		return "", fmt.Errorf("ask DigitalOcean's API for the region: %s", doapi.Message(err))
	}
	return slug, nil
}

// preview is of the cluster as it is, and of the Services that pick chooses, which
// needn't be in the cluster yet. The caller closes it.
func (w *world) preview(ctx context.Context, pick func(*preview.Cluster) ([]*v1.Service, error)) (*preview.Preview, []*v1.Service, error) {
	cluster, err := preview.ReadCluster(ctx, w.kube, w.settings.Limits.NeedNamespaces())
	if err != nil {
		return nil, nil, err
	}
	services, err := pick(&cluster)
	if err != nil {
		return nil, nil, err
	}
	slug, err := w.region(ctx)
	if err != nil {
		return nil, nil, err
	}
	p := preview.New(preview.Options{Settings: w.settings, Client: w.client, Region: slug, Cluster: cluster.With(services...), Clock: clock.RealClock{}})
	return p, services, nil
}

// everything picks all Services of the cluster.
func everything(cluster *preview.Cluster) ([]*v1.Service, error) {
	var all []*v1.Service
	for i := range cluster.Services {
		all = append(all, &cluster.Services[i])
	}
	return all, nil
}
