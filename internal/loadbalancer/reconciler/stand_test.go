package reconciler

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	corelisters "k8s.io/client-go/listers/core/v1"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	servicehelpers "k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/instances"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/mangle"
	"digitalocean-cloud-controller-manager/simulator"
)

// stand is a cluster without a Kubernetes API: its Services live in a fake one,
// and the listers are brought up to date by hand.
type stand struct {
	*Reconciler
	t        *testing.T
	sim      *simulator.Simulator
	kube     *fake.Clientset
	tracker  k8stesting.ObjectTracker // of what is in kube
	services cache.Indexer
	nodes    cache.Indexer
	cluster  loadbalancer.Cluster
	options  func(*Options)
	told     *record.FakeRecorder
	// transport and client are how a process reaches the two APIs, and
	// digitalOcean is what it calls the one with.
	transport    http.RoundTripper
	client       kubernetes.Interface
	digitalOcean *doapi.Client
	// wire is between the manager and the simulator, if not nil.
	wire *mangle.Transport
	stop context.CancelFunc
	done chan struct{}
}

// inStand runs a test in a bubble with one Node.
func inStand(t *testing.T, options func(*Options), test func(*stand)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, options)
		s.start()
		test(s)
		s.end()
	})
}

// newKube makes a fake API that keeps no account of who owns which field, which
// costs more than everything else that a test here does.
func newKube() (*fake.Clientset, k8stesting.ObjectTracker) {
	kube, tracker := fake.NewClientset(), k8stesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())
	kube.PrependReactor("*", "*", k8stesting.ObjectReaction(tracker))
	return kube, tracker
}

func newStand(t *testing.T, options func(*Options)) *stand {
	t.Helper()
	s := &stand{t: t, sim: simulator.New(simulator.WithResizeInterval(0)), options: options}
	s.kube, s.tracker = newKube()
	s.transport, s.client = s.sim.Transport(), s.kube
	s.cluster = loadbalancer.Cluster{ID: "c1", Region: "nyc3"}
	s.services = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	s.nodes = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	s.addNode(simulator.DropletSpec{Name: "w"})
	return s
}

// start begins with nothing remembered, as a new process does.
func (s *stand) start() {
	s.t.Helper()
	token, _, err := doapi.NewToken("dop_v1_0123456789abcdef")
	if err != nil {
		s.t.Fatal(err)
	}
	transport := s.transport
	if s.wire != nil {
		transport = s.wire
	}
	client, err := doapi.New(doapi.Options{TokenSource: doapi.StaticToken(token), Version: "test", Transport: transport})
	if err != nil {
		s.t.Fatal(err)
	}
	s.digitalOcean = client
	s.told = record.NewFakeRecorder(1000)
	nodes := corelisters.NewNodeLister(s.nodes)
	o := Options{
		API: client.LoadBalancers, Balancers: inventory.NewLoadBalancers(client.LoadBalancers, clock.RealClock{}),
		Certificates: client.Certificates, Tags: client.Tags, Droplets: inventory.NewDroplets(client.Droplets, client.Account, instances.ClusterOf(nodes), clock.RealClock{}),
		Kube: s.client, Services: corelisters.NewServiceLister(s.services), Nodes: nodes,
		Recorder: events.NewRecorder(s.told, clock.RealClock{}), Clock: clock.RealClock{},
		Defaults: annotation.Defaults{Type: annotation.TypeRegionalNetwork},
		Cluster:  func() (loadbalancer.Cluster, error) { return s.cluster, nil },
	}
	if s.options != nil {
		s.options(&o)
	}
	s.Reconciler = New(o)
	ctx, cancel := context.WithCancel(context.Background())
	s.stop, s.done = cancel, make(chan struct{})
	go func() { s.Run(ctx); close(s.done) }()
}

func (s *stand) end() {
	s.stop()
	<-s.done
}

func (s *stand) restart() {
	s.end()
	s.start()
}

func (s *stand) addNode(spec simulator.DropletSpec) simulator.Droplet {
	spec.CreatedAt = time.Now().Add(-time.Hour)
	d := s.sim.AddDroplet(spec)
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: d.Name, CreationTimestamp: metav1.NewTime(spec.CreatedAt)},
		Spec:       v1.NodeSpec{ProviderID: fmt.Sprintf("digitalocean://%d", d.ID)},
	}
	if err := s.nodes.Add(node); err != nil {
		s.t.Fatal(err)
	}
	return d
}

// apply makes or changes the Service "web" and syncs it.
func (s *stand) apply(svc *v1.Service) {
	s.t.Helper()
	svc.Finalizers = []string{servicehelpers.LoadBalancerCleanupFinalizer}
	api := s.kube.CoreV1().Services(svc.Namespace)
	if _, err := api.Update(s.t.Context(), svc, metav1.UpdateOptions{}); err != nil {
		if _, err := api.Create(s.t.Context(), svc, metav1.CreateOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
	s.sync()
}

// edit changes the annotations of "web" and syncs it; "" removes one.
func (s *stand) edit(pairs ...string) {
	s.t.Helper()
	svc := s.web()
	for i := 0; i < len(pairs); i += 2 {
		if delete(svc.Annotations, pairs[i]); pairs[i+1] != "" {
			svc.Annotations[pairs[i]] = pairs[i+1]
		}
	}
	s.apply(svc)
}

// sync has every Service synced by the queue, and waits for it.
func (s *stand) sync() {
	s.t.Helper()
	s.refresh()
	for _, object := range s.services.List() {
		s.again.after(keyOf(object.(*v1.Service)), 0)
	}
	s.settle()
}

// pass is a drift controller's look, and waits for what comes of it.
func (s *stand) pass() (orphans []string) {
	s.t.Helper()
	s.refresh()
	found, err := s.CheckDrift(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	s.settle()
	for _, lb := range found {
		orphans = append(orphans, lb.ID)
	}
	return orphans
}

func (s *stand) settle() {
	synctest.Wait()
	s.refresh()
}

// later lets a time pass.
func (s *stand) later(d time.Duration) {
	time.Sleep(d)
	s.settle()
}

// refresh brings the lister up to date.
func (s *stand) refresh() {
	s.t.Helper()
	list, err := s.kube.CoreV1().Services("").List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	var objects []any
	for i := range list.Items {
		objects = append(objects, &list.Items[i])
	}
	if err := s.services.Replace(objects, ""); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stand) web() *v1.Service {
	s.t.Helper()
	svc, err := s.kube.CoreV1().Services("default").Get(s.t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return svc
}

// balancer is the load balancer of an id.
func (s *stand) balancer(id string) simulator.LoadBalancer {
	s.t.Helper()
	for _, lb := range s.sim.LoadBalancers() {
		if lb.ID == id {
			return lb
		}
	}
	s.t.Fatalf("no load balancer %q", id)
	return simulator.LoadBalancer{}
}

// mine is the load balancer of "web".
func (s *stand) mine() simulator.LoadBalancer {
	s.t.Helper()
	return s.balancer(s.web().Annotations[annotation.LoadBalancerID])
}

// byHand changes a load balancer in the console.
func (s *stand) byHand(id string, edit func(*simulator.LoadBalancer)) {
	s.t.Helper()
	if err := s.sim.EditLoadBalancer(id, edit); err != nil {
		s.t.Fatal(err)
	}
}

// calls are the requests since the last time.
func (s *stand) calls() []string {
	var calls []string
	for _, r := range s.sim.Requests() {
		calls = append(calls, r.Method+" "+r.Path)
	}
	s.sim.ResetRequests()
	return calls
}

func (s *stand) wantCalls(want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.calls()); diff != "" {
		s.t.Errorf("calls: %s", diff)
	}
}

func (s *stand) wantWrites(want ...string) {
	s.t.Helper()
	writes := slices.DeleteFunc(s.calls(), func(call string) bool { return strings.HasPrefix(call, "GET ") })
	if diff := cmp.Diff(want, writes, cmp.Transformer("empty", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
		s.t.Errorf("writes: %s", diff)
	}
}

// news are the events since the last time.
func (s *stand) news() []string {
	var all []string
	for len(s.told.Events) > 0 {
		all = append(all, <-s.told.Events)
	}
	return all
}

// wantNews checks the reasons since the last time, and that the last event says
// something.
func (s *stand) wantNews(says string, reasons ...events.Reason) {
	s.t.Helper()
	all := s.news()
	var got []events.Reason
	for _, e := range all {
		got = append(got, events.Reason(strings.Fields(e)[1]))
	}
	if diff := cmp.Diff(reasons, got); diff != "" {
		s.t.Errorf("events %q: %s", all, diff)
		return
	}
	if len(all) > 0 && !strings.Contains(all[len(all)-1], says) {
		s.t.Errorf("%q doesn't say %q", all[len(all)-1], says)
	}
}
