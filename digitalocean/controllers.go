package digitalocean

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	cloudconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	genericcontrollermanager "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"

	"digitalocean-cloud-controller-manager/internal/drift"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/firewall"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/rivals"
	"digitalocean-cloud-controller-manager/internal/tagging"
)

// Controllers are the framework's controllers and the provider's own, for
// [app.NewCloudControllerManagerCommand], by the names that --controllers
// chooses by.
func Controllers() map[string]app.ControllerInitFuncConstructor {
	all := maps.Clone(app.DefaultInitFuncConstructors)
	services := all[names.ServiceLBController]
	services.Constructor = constructServices
	all[names.ServiceLBController] = services
	for name, start := range map[string]starter{
		firewall.ControllerName: (*Cloud).startFirewall,
		tagging.Name:            (*Cloud).startTagging,
		drift.Name:              (*Cloud).startDrift,
		rivals.Name:             (*Cloud).startRivals,
	} {
		all[name] = app.ControllerInitFuncConstructor{
			InitContext: app.ControllerInitContext{ClientName: name},
			Constructor: start.constructor(),
		}
	}
	return all
}

// runner is a controller of the provider's own.
type runner interface {
	controller.Interface
	Run(context.Context)
}

// starter makes a controller; none where the settings ask for none.
type starter func(*Cloud, *cloudconfig.CompletedConfig) (runner, error)

func (start starter) constructor() app.InitFuncConstructor {
	return func(_ app.ControllerInitContext, completed *cloudconfig.CompletedConfig, cloud cloudprovider.Interface) app.InitFunc {
		return func(ctx context.Context, controllers genericcontrollermanager.ControllerContext) (controller.Interface, bool, error) {
			c, ok := cloud.(*Cloud)
			if !ok {
				return nil, false, fmt.Errorf("the cloud provider is a %T, not DigitalOcean's", cloud)
			}
			r, err := start(c, completed)
			if err != nil || r == nil {
				return nil, false, err
			}
			c.follow(r)
			go func() {
				controllers.ControllerManagerMetrics.ControllerStarted(r.Name())
				defer controllers.ControllerManagerMetrics.ControllerStopped(r.Name())
				r.Run(ctx)
			}()
			return r, true, nil
		}
	}
}

func (c *Cloud) startFirewall(*cloudconfig.CompletedConfig) (runner, error) {
	if c.config.Firewall == nil {
		return nil, nil
	}
	return firewall.New(firewall.Options{
		API:      firewall.API{Firewalls: c.client.Firewalls, Tags: c.client.Tags, LoadBalancers: c.client.LoadBalancers},
		Services: c.shared.informers.Core().V1().Services(), Recorder: c.shared.recorder, Object: c.lease(),
		Metrics:  firewall.NewMetrics(c.registry.MustRegister),
		Identity: firewall.Identity{Name: c.config.Firewall.Name, Tags: c.config.Firewall.Tags},
		Settings: firewall.Settings{Defaults: c.config.Defaults, Shape: c.shapeOf},
		Interval: c.config.DriftPeriod,
		Vouch:    func(ctx context.Context) error { return c.shared.droplets.Vouch(ctx, true) },
		Clock:    c.clock,
	})
}

// shapeOf tells the type and network of a load balancer that is known.
func (c *Cloud) shapeOf(id string) (firewall.Shape, bool) {
	lb, ok := c.shared.balancers.Known(id)
	if !ok {
		return firewall.Shape{}, false
	}
	return firewall.Shape{Type: lb.Type, Network: lb.Network}, true
}

func (c *Cloud) startTagging(completed *cloudconfig.CompletedConfig) (runner, error) {
	if c.config.ClusterID == "" || !managesServices(completed) {
		return nil, nil
	}
	return tagging.New(tagging.Options{
		API: c.client.Tags, Balancers: c.shared.balancers, Services: c.shared.informers.Core().V1().Services(),
		Cluster: c.cluster, Defaults: c.config.Defaults, Metrics: tagging.NewMetrics(c.registry.MustRegister), Clock: c.clock,
		// The lists that are made for drift serve here as well; they come a
		// tenth of the period late at most.
		Period: 3 * c.config.DriftPeriod, MaxAge: c.config.DriftPeriod * 6 / 5,
	})
}

func (c *Cloud) startDrift(completed *cloudconfig.CompletedConfig) (runner, error) {
	if c.config.DriftPeriod == 0 {
		return nil, nil
	}
	informers := c.shared.informers.Core().V1()
	nodes := drift.NewNodes(drift.NodesOptions{
		Facts: c.instances, Nodes: c.shared.nodes, Kube: c.kube.client, Tags: c.client.Tags,
		TagLabels: len(c.config.Nodes.TagLabels) > 0, Metrics: drift.NewNodeMetrics(c.registry.MustRegister),
	})
	options := drift.Options{
		Period: c.config.DriftPeriod, Checks: []func(context.Context) error{nodes.Check}, Lease: c.lease(),
		Recorder: c.shared.recorder, Metrics: drift.NewMetrics(c.registry.MustRegister), Clock: c.clock,
		HasSynced: func() bool {
			return informers.Services().Informer().HasSynced() && informers.Nodes().Informer().HasSynced()
		},
	}
	if managesServices(completed) {
		options.LoadBalancers = c.balancers
	}
	return drift.New(options), nil
}

// startRivals looks for other managers, where this one works: one that only
// observes is there beside another.
func (c *Cloud) startRivals(*cloudconfig.CompletedConfig) (runner, error) {
	if c.rehearsal != nil || c.ledger == nil {
		return nil, nil
	}
	informers := c.shared.informers.Core().V1()
	options := rivals.Options{
		Ledger: c.ledger, Nodes: informers.Nodes().Lister(), Services: informers.Services().Lister(),
		Leases: c.kube.client.CoordinationV1(), Lease: c.lease(), Recorder: c.shared.recorder,
		Metrics: rivals.NewMetrics(c.registry.MustRegister), Clock: c.clock,
	}
	if c.election.name != leaseName || c.election.namespace != leaseNamespace {
		options.Foreign = types.NamespacedName{Namespace: leaseNamespace, Name: leaseName}
	}
	return rivals.New(options), nil
}

// managesServices tells whether the framework's service controller runs.
// Without it load balancers are not the manager's.
func managesServices(completed *cloudconfig.CompletedConfig) bool {
	return genericcontrollermanager.IsControllerEnabled(names.ServiceLBController, app.ControllersDisabledByDefault, completed.ComponentConfig.Generic.Controllers)
}

// shared is what several controllers work with.
type shared struct {
	informers informers.SharedInformerFactory
	nodes     corelisters.NodeLister
	droplets  *inventory.Droplets
	balancers *inventory.LoadBalancers
	recorder  *events.Recorder
}
