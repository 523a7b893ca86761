package digitalocean

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apiserver/pkg/util/feature"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	cloudconfig "k8s.io/cloud-provider/app/config"
	servicecontroller "k8s.io/cloud-provider/controllers/service"
	genericcontrollermanager "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"
)

// constructServices has the framework's service controller started, which asks
// for load balancers of Services, and with it the work that load balancers take
// besides: without that controller, they are not the manager's. Changes of Nodes
// don't go by way of it; see [unwatched].
func constructServices(initContext app.ControllerInitContext, completed *cloudconfig.CompletedConfig, cloud cloudprovider.Interface) app.InitFunc {
	return func(ctx context.Context, controllers genericcontrollermanager.ControllerContext) (controller.Interface, bool, error) {
		c, ok := cloud.(*Cloud)
		if !ok {
			return nil, false, fmt.Errorf("the cloud provider is a %T, not DigitalOcean's", cloud)
		}
		informers := completed.SharedInformers.Core().V1()
		if _, err := informers.Nodes().Informer().AddEventHandler(c.balancers.NodeHandler()); err != nil {
			return nil, false, fmt.Errorf("watch Nodes: %w", err)
		}
		services, err := servicecontroller.New(
			c, completed.ClientBuilder.ClientOrDie(initContext.ClientName), informers.Services(), unwatched{informers.Nodes()},
			completed.ComponentConfig.KubeCloudShared.ClusterName, feature.DefaultFeatureGate,
		)
		if err != nil {
			return nil, false, fmt.Errorf("make the service controller: %w", err)
		}
		go c.balancers.Run(ctx)
		go services.Run(ctx, int(completed.ComponentConfig.ServiceController.ConcurrentServiceSyncs), controllers.ControllerManagerMetrics)
		return nil, true, nil
	}
}

// unwatched are Nodes that can be listed, and of whose changes nothing is told.
// For each Node that comes, as all do at a start, the framework's service
// controller compares all Nodes for every Service: with 5,000 Nodes and 500
// Services that takes most of an hour of a core. The load balancers' own handler
// does it once for all changes that come together.
type unwatched struct{ coreinformers.NodeInformer }

func (u unwatched) Informer() cache.SharedIndexInformer {
	return deaf{u.NodeInformer.Informer()}
}

// deaf is an informer whose handlers hear of nothing.
type deaf struct{ cache.SharedIndexInformer }

func (d deaf) AddEventHandler(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return d.SharedIndexInformer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
}

func (d deaf) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return d.AddEventHandler(handler)
}

func (d deaf) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return d.AddEventHandler(handler)
}
