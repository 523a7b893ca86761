package digitalocean

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/firewall"
	"digitalocean-cloud-controller-manager/internal/gate"
	"digitalocean-cloud-controller-manager/internal/instances"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/loadbalancer/reconciler"
	"digitalocean-cloud-controller-manager/internal/rehearsal"
	"digitalocean-cloud-controller-manager/internal/rivals"
	"digitalocean-cloud-controller-manager/internal/state"
	"digitalocean-cloud-controller-manager/internal/targets"
	"digitalocean-cloud-controller-manager/internal/version"
)

// ProviderName is the name under which the provider is registered, and the
// scheme of its provider IDs.
const ProviderName = "digitalocean"

func init() {
	cloudprovider.RegisterCloudProvider(ProviderName, newFromEnvironment)
}

// Cloud implements [cloudprovider.Interface].
type Cloud struct {
	config    *config.Config
	client    *doapi.Client
	transport http.RoundTripper // nil: the network
	registry  registry
	clock     clock.WithTicker
	region    string
	// rehearsal notes what would be written; nil: it is written.
	rehearsal *rehearsal.Book
	prepared  bool
	// started is true once the API has answered what is asked at start.
	started atomic.Bool

	// Who works.
	election election
	holder   atomic.Pointer[string]
	resigned atomic.Bool
	gate     gate.Gate
	// ledger knows this process's writes to Kubernetes; nil: nobody does.
	ledger *rivals.Ledger

	// What operators see.
	begun    time.Time
	process  *state.Metrics
	observed atomic.Pointer[observed]
	firewall atomic.Pointer[firewall.Controller]

	kube      kubeAccess
	shared    shared
	instances *instances.Instances
	balancers *reconciler.Reconciler
}

var (
	_ cloudprovider.Interface    = (*Cloud)(nil)
	_ cloudprovider.InformerUser = (*Cloud)(nil)
)

// newFromEnvironment is the provider's factory.
func newFromEnvironment(cloudConfig io.Reader) (cloudprovider.Interface, error) {
	if cloudConfig == nil {
		cloudConfig = strings.NewReader("")
	}
	settings, err := config.Read(os.LookupEnv, cloudConfig)
	if err != nil {
		return nil, fmt.Errorf("invalid settings:\n%w", err)
	}
	// The framework hands in no context: what runs in the background ends with
	// the process.
	return New(context.Background(), settings)
}

// New makes a provider. It asks the API whether the region exists: one that
// doesn't is an error, while an API that can't be asked is not; it is then
// asked again in the background, until the context ends.
func New(ctx context.Context, settings *config.Config, options ...Option) (*Cloud, error) {
	logger := klog.FromContext(ctx)
	for _, note := range settings.Notes {
		logger.Info("Setting could be used after a correction", "setting", note)
	}
	c := &Cloud{config: settings, clock: clock.RealClock{}, registry: processRegistry()}
	for _, o := range options {
		o(c)
	}
	c.beginRehearsing(logger)
	var err error
	if c.client, err = c.newClient(); err != nil {
		return nil, err
	}
	c.beginObserving()
	if err := c.serve(ctx); err != nil {
		return nil, err
	}
	if err := c.findRegion(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Cloud) newClient() (*doapi.Client, error) {
	api := c.config.API
	source := doapi.StaticToken(api.Token)
	if api.TokenFile != "" {
		source = doapi.FileToken(api.TokenFile)
	}
	metrics := doapi.NewMetrics()
	if err := metrics.Register(c.registry.Register); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	options := doapi.Options{
		TokenSource: source, BaseURL: api.URL, Version: version.Version(), QPS: api.RateLimitQPS, Metrics: metrics,
		Transport: c.transport, EnterWrite: c.gate.Enter,
	}
	if c.rehearsal != nil {
		options.Rehearse = c.rehearsal.DigitalOcean
	}
	return doapi.New(options)
}

// Initialize implements [cloudprovider.Interface]. It runs when the process
// leads.
func (c *Cloud) Initialize(clientBuilder cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	c.mustBePrepared()
	c.kube = newKubeAccess(clientBuilder, stop)
	if c.rehearsal != nil {
		c.kube.recorder = c.rehearsal.Recorder()
	} else {
		c.process.Leads()
		c.leads()
	}
	c.kube.recorder = c.process.Recorder(c.kube.recorder)
	go c.watchToken(stop)
}

// SetInformers implements [cloudprovider.InformerUser]. The framework calls it
// after Initialize and before any controller starts.
func (c *Cloud) SetInformers(factory informers.SharedInformerFactory) {
	nodes := instances.Unignored(factory.Core().V1().Nodes().Lister(), c.config.Nodes.Ignore)
	services := factory.Core().V1().Services().Lister()
	recorder := events.NewRecorder(c.kube.recorder, c.clock)
	droplets := inventory.NewDroplets(c.client.Droplets, c.client.Account, instances.ClusterOf(nodes), c.clock)
	balancers := inventory.NewLoadBalancers(c.client.LoadBalancers, c.clock)
	c.shared = shared{informers: factory, nodes: nodes, droplets: droplets, balancers: balancers, recorder: recorder}
	go c.identify(c.kube.context, droplets)
	c.instances = instances.New(droplets, nodes, recorder, c.config.Nodes, instances.NewMetrics(c.registry.MustRegister), c.clock)
	book := c.newBook(factory)
	c.observe(&observed{book: book, instances: c.instances, droplets: droplets, balancers: balancers})
	c.balancers = reconciler.New(reconciler.Options{
		API: c.client.LoadBalancers, Tags: c.client.Tags, Balancers: balancers,
		Certificates: c.client.Certificates, Droplets: droplets,
		Kube: c.kube.client, Services: services, Nodes: nodes, Recorder: recorder,
		Metrics: reconciler.NewMetrics(c.registry.MustRegister), Book: book, Process: c.process,
		Defaults: c.config.Defaults,
		Cluster:  c.cluster, Clock: c.clock,
		DriftPeriod: c.config.DriftPeriod, KeepMissing: c.config.KeepMissing, Target: c.target(), Limits: c.limits(factory),
		Rehearsal: c.rehearsal,
	})
}

// cluster is what all load balancers share.
func (c *Cloud) cluster() (loadbalancer.Cluster, error) {
	if !c.started.Load() {
		// The region may be wrong still.
		return loadbalancer.Cluster{}, errNotStarted
	}
	return loadbalancer.Cluster{ID: c.config.ClusterID, Region: c.region, VPC: c.config.VPCID, HealthCheck: c.config.HealthCheck, Names: c.config.NameTemplate}, nil
}

// limits are what Services may ask for. Namespaces are watched only where they
// matter.
func (c *Cloud) limits(factory informers.SharedInformerFactory) reconciler.Limits {
	l := reconciler.Limits{Limits: c.config.Limits}
	if l.NeedNamespaces() {
		namespaces := factory.Core().V1().Namespaces()
		l.Namespaces, l.HasSynced = namespaces.Lister(), namespaces.Informer().HasSynced
	}
	return l
}

// target is the droplet tag that load balancers may target.
func (c *Cloud) target() reconciler.Target {
	if c.config.TargetTag == "" {
		return reconciler.Target{}
	}
	return reconciler.Target{
		Tag: targets.New(c.config.TargetTag, c.client.Tags, c.client.Droplets, c.clock), Wanted: c.config.TargetByTag,
	}
}

// LoadBalancer implements [cloudprovider.Interface].
func (c *Cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return c.balancers, true }

// InstancesV2 implements [cloudprovider.Interface].
func (c *Cloud) InstancesV2() (cloudprovider.InstancesV2, bool) {
	return instances.Measured(c.instances, c.process), true
}

// Instances implements [cloudprovider.Interface]: InstancesV2 replaces it.
func (c *Cloud) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones implements [cloudprovider.Interface]: DigitalOcean has none.
func (c *Cloud) Zones() (cloudprovider.Zones, bool) { return nil, false }

// Clusters implements [cloudprovider.Interface]: nothing uses it.
func (c *Cloud) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// Routes implements [cloudprovider.Interface]: DigitalOcean's VPCs have none.
func (c *Cloud) Routes() (cloudprovider.Routes, bool) { return nil, false }

// ProviderName implements [cloudprovider.Interface].
func (c *Cloud) ProviderName() string { return ProviderName }

// HasClusterID implements [cloudprovider.Interface].
func (c *Cloud) HasClusterID() bool { return true }
