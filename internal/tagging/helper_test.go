package tagging

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	servicehelpers "k8s.io/cloud-provider/service/helpers"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/simulator"
)

const clusterTag = "k8s:blue"

// rig is a simulator, a cluster's Services and the controller under test.
type rig struct {
	t          *testing.T
	sim        *simulator.Simulator
	client     *doapi.Client
	kube       *fake.Clientset
	informers  informers.SharedInformerFactory
	cluster    loadbalancer.Cluster
	balancers  *inventory.LoadBalancers
	registry   metrics.KubeRegistry
	controller *Controller
}

func newRig(t *testing.T, options ...simulator.Option) *rig {
	r := &rig{
		t: t, sim: simulator.New(append([]simulator.Option{simulator.WithToken("dop_v1_test", "blue")}, options...)...),
		kube: fake.NewClientset(), cluster: loadbalancer.Cluster{ID: "blue"},
	}
	r.renew(r.sim.Transport())
	return r
}

// renew makes a controller with an empty memory, as a new process has, which
// reaches the API by the transport.
func (r *rig) renew(transport http.RoundTripper) {
	r.t.Helper()
	token, _, err := doapi.NewToken("dop_v1_test")
	if err != nil {
		r.t.Fatal(err)
	}
	r.client, err = doapi.New(doapi.Options{TokenSource: doapi.StaticToken(token), Version: "test", Transport: transport})
	if err != nil {
		r.t.Fatal(err)
	}
	r.registry = metrics.NewKubeRegistry()
	r.informers = informers.NewSharedInformerFactory(r.kube, 0)
	r.balancers = inventory.NewLoadBalancers(r.client.LoadBalancers, clock.RealClock{})
	r.controller, err = New(Options{
		API: r.client.Tags, Balancers: r.balancers,
		Services: r.informers.Core().V1().Services(),
		Cluster:  func() (loadbalancer.Cluster, error) { return r.cluster, nil },
		Metrics:  NewMetrics(r.registry.MustRegister), Clock: clock.RealClock{},
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// balancer makes a load balancer that works.
func (r *rig) balancer(name string, tags ...string) godo.LoadBalancer {
	r.t.Helper()
	made, _, err := r.client.LoadBalancers.Create(context.Background(), &godo.LoadBalancerRequest{
		Name: name, Region: "nyc3", Tags: tags,
		ForwardingRules: []godo.ForwardingRule{{EntryProtocol: "tcp", EntryPort: 80, TargetProtocol: "tcp", TargetPort: 30080}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	time.Sleep(2 * time.Minute) // until it is active, and shown by lists
	lb, _, err := r.client.LoadBalancers.Get(context.Background(), made.ID)
	if err != nil || lb.IP == "" {
		r.t.Fatalf("load balancer %s is not ready: %v", name, err)
	}
	return *lb
}

// service is one that the manager has made the load balancer for.
func service(name string, lb godo.LoadBalancer, edit ...func(*v1.Service)) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.Now(),
			Finalizers:  []string{servicehelpers.LoadBalancerCleanupFinalizer},
			Annotations: map[string]string{annotation.LoadBalancerID: lb.ID, annotation.DefaultsVersion: "1"},
		},
		Spec:   v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer},
		Status: v1.ServiceStatus{LoadBalancer: v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: lb.IP}}}},
	}
	for _, e := range edit {
		e(svc)
	}
	return svc
}

func (r *rig) add(services ...*v1.Service) {
	r.t.Helper()
	for _, svc := range services {
		if _, err := r.kube.CoreV1().Services(svc.Namespace).Create(context.Background(), svc, metav1.CreateOptions{}); err != nil {
			r.t.Fatal(err)
		}
	}
}

// start has the informers know all Services, and forgets the calls so far.
func (r *rig) start() {
	r.informers.Start(r.t.Context().Done())
	r.informers.WaitForCacheSync(r.t.Context().Done())
	synctest.Wait()
	r.sim.ResetRequests()
}

// run runs the controller for so many passes, and returns the calls that were
// made meanwhile.
func (r *rig) run(passes int) []string {
	r.t.Helper()
	r.start()
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	go func() { r.controller.Run(ctx); close(done) }()
	for range passes {
		last := r.controller.Status().Last
		for r.controller.Status().Last.Equal(last) {
			time.Sleep(time.Second)
		}
	}
	cancel()
	<-done
	return r.calls()
}

// pass makes one pass at once, and returns its calls.
func (r *rig) pass() []string {
	r.t.Helper()
	r.start()
	r.controller.loop.Pass(r.t.Context())
	return r.calls()
}

func (r *rig) calls() []string {
	var calls []string
	for _, request := range r.sim.Requests() {
		calls = append(calls, request.Method+" "+request.Path)
	}
	r.sim.ResetRequests()
	return calls
}

// tags are those of a load balancer, as DigitalOcean has them.
func (r *rig) tags(id string) []string {
	r.t.Helper()
	for _, lb := range r.sim.LoadBalancers() {
		if lb.ID == id {
			return slices.Sorted(slices.Values(lb.Tags))
		}
	}
	r.t.Fatalf("no load balancer %s", id)
	return nil
}

// tagNames are all tags that exist.
func (r *rig) tagNames() []string {
	var names []string
	for _, team := range r.sim.State().Teams {
		for _, tag := range team.Tags {
			names = append(names, tag.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (r *rig) retag(id string, tags ...string) {
	r.t.Helper()
	if err := r.sim.EditLoadBalancer(id, func(lb *simulator.LoadBalancer) { lb.Tags = tags }); err != nil {
		r.t.Fatal(err)
	}
}
