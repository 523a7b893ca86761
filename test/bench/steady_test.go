package bench

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/controllers/node"
	"k8s.io/cloud-provider/controllers/nodelifecycle"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/instances"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/simulator"
)

// steadyHour are the API calls of an hour in which nothing happens, by number
// of Nodes and of those that are not ready. They may only fall. Without unready
// Nodes the goal is nodes/200 + 1 calls each five minutes; with any, at most
// one call more each ten seconds.
var steadyHour = []struct{ nodes, unready, calls int }{
	{10, 0, 13}, {10, 4, 250},
	{100, 0, 13}, {100, 4, 250}, {100, 50, 250},
	{500, 0, 39}, {500, 4, 364}, {500, 50, 364},
	{1000, 0, 65}, {1000, 4, 425}, {1000, 50, 365},
	{5000, 0, 312}, {5000, 4, 672}, {5000, 50, 360},
}

// shortNodes bounds the cells that run with -short.
const shortNodes = 100

// TestSteadyHour runs the framework's own node controllers on our provider and
// the simulator for an hour of fake time.
func TestSteadyHour(t *testing.T) {
	for _, cell := range steadyHour {
		t.Run(fmt.Sprintf("%d nodes, %d unready", cell.nodes, cell.unready), func(t *testing.T) {
			if testing.Short() && cell.nodes > shortNodes {
				t.Skip("too many nodes for -short")
			}
			synctest.Test(t, func(t *testing.T) {
				calls := hour(t, cell.nodes, cell.unready, nil)
				t.Logf("| %d | %d | %d |", cell.nodes, cell.unready, calls)
				if calls > cell.calls {
					t.Errorf("%d API calls an hour, recorded are %d", calls, cell.calls)
				}
			})
		})
	}
}

// troubledHour are the API calls of the first hour of trouble, recorded: an API
// that fails or shows nothing must not be asked more for it.
var troubledHour = []struct {
	name                  string
	nodes, unready, calls int
	trouble               func(*simulator.Simulator)
}{
	{"the API is down", 100, 4, 700, func(s *simulator.Simulator) { s.AddFault(simulator.Fault{Status: 503}) }},
	{"429 with Retry-After", 100, 4, 60, func(s *simulator.Simulator) {
		s.AddFault(simulator.Fault{Status: 429, Header: map[string]string{"Retry-After": "60"}})
	}},
	{"another team's token", 100, 10, 450, func(s *simulator.Simulator) {
		none := 0
		s.AddFault(simulator.Fault{Path: "/v2/droplets/*", Status: 404})
		s.AddFault(simulator.Fault{Path: "/v2/droplets", OmitItems: -1, Total: &none})
	}},
	{"another team's token", 1000, 10, 100, func(s *simulator.Simulator) {
		none := 0
		s.AddFault(simulator.Fault{Path: "/v2/droplets/*", Status: 404})
		s.AddFault(simulator.Fault{Path: "/v2/droplets", OmitItems: -1, Total: &none})
	}},
}

// TestTroubledHour is TestSteadyHour with an API in trouble.
func TestTroubledHour(t *testing.T) {
	handlers := utilruntime.ErrorHandlers
	// Their rate limit is kept in real time, which stands still in a bubble.
	utilruntime.ErrorHandlers = nil
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
	for _, cell := range troubledHour {
		t.Run(fmt.Sprintf("%s, %d nodes, %d unready", cell.name, cell.nodes, cell.unready), func(t *testing.T) {
			if testing.Short() && cell.nodes > shortNodes {
				t.Skip("too many nodes for -short")
			}
			synctest.Test(t, func(t *testing.T) {
				calls := hour(t, cell.nodes, cell.unready, cell.trouble)
				t.Logf("| %s | %d | %d | %d |", cell.name, cell.nodes, cell.unready, calls)
				if calls > cell.calls {
					t.Errorf("%d API calls an hour, recorded are %d", calls, cell.calls)
				}
			})
		})
	}
}

// cloud is the part of the provider that the node controllers use.
type cloud struct {
	cloudprovider.Interface
	instances *instances.Instances
}

func (c cloud) Instances() (cloudprovider.Instances, bool)     { return nil, false }
func (c cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c.instances, true }
func (c cloud) ProviderName() string                           { return "digitalocean" }

// hour returns the calls of the second hour: the first reads everything once.
func hour(t *testing.T, nodes, unready int, trouble func(*simulator.Simulator)) int {
	ctx, cancel := context.WithCancel(context.Background())
	sim := simulator.New()
	kube := fake.NewClientset(makeNodes(sim, nodes, unready)...)
	factory := informers.NewSharedInformerFactory(kube, 0)
	informer := factory.Core().V1().Nodes()
	provider := cloud{instances: newInstances(t, sim, informer)}

	// As the manager runs them: five minutes, five seconds, and its presets.
	cloudNode, err := node.NewCloudNodeController(informer, kube, provider, 5*time.Minute, 50, 50)
	if err != nil {
		t.Fatal(err)
	}
	lifecycle, err := nodelifecycle.NewCloudNodeLifecycleController(informer, kube, provider, 5*time.Second, 10)
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	metrics := controllersmetrics.NewControllerManagerMetrics("bench")
	go cloudNode.RunWithContext(ctx, metrics)
	go lifecycle.Run(ctx, metrics)

	time.Sleep(30 * time.Minute)
	sim.ResetRequests()
	if trouble != nil {
		trouble(sim)
	}
	time.Sleep(time.Hour)
	calls := len(sim.Requests())
	if left := len(informer.Informer().GetStore().List()); left != nodes {
		t.Errorf("%d nodes are left of %d", left, nodes)
	}
	cancel()
	factory.Shutdown()
	return calls
}

// makeNodes makes droplets and the Nodes that the manager made of them.
func makeNodes(sim *simulator.Simulator, nodes, unready int) []runtime.Object {
	var objects []runtime.Object
	for i := range nodes {
		name := fmt.Sprint("node-", i)
		d := sim.AddDroplet(simulator.DropletSpec{Name: name, CreatedAt: time.Now().Add(-24 * time.Hour)})
		ready := v1.ConditionTrue
		if i < unready {
			ready = v1.ConditionUnknown
		}
		objects = append(objects, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Now().Add(-24 * time.Hour))},
			Spec:       v1.NodeSpec{ProviderID: fmt.Sprint("digitalocean://", d.ID)},
			Status: v1.NodeStatus{
				Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: ready}},
				Addresses: []v1.NodeAddress{
					{Type: v1.NodeInternalIP, Address: d.Networks.V4[0].IPAddress},
					{Type: v1.NodeExternalIP, Address: d.Networks.V4[1].IPAddress},
					{Type: v1.NodeHostName, Address: name},
				},
			},
		})
	}
	return objects
}

func newInstances(t *testing.T, sim *simulator.Simulator, informer coreinformers.NodeInformer) *instances.Instances {
	token, _, err := doapi.NewToken("dop_v1_bench")
	if err != nil {
		t.Fatal(err)
	}
	client, err := doapi.New(doapi.Options{TokenSource: doapi.StaticToken(token), Version: "bench", Transport: sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	lister := informer.Lister()
	droplets := inventory.NewDroplets(client.Droplets, client.Account, instances.ClusterOf(lister), clock.RealClock{})
	brake := config.Nodes{DeletionBrake: config.Brake{Count: 3, Percent: 20, Window: time.Minute}}
	return instances.New(droplets, lister, events.NewRecorder(&record.FakeRecorder{}, clock.RealClock{}), brake, nil, clock.RealClock{})
}
