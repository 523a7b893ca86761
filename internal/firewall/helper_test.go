package firewall

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/simulator"
)

// balancerID is that of a load balancer that doesn't exist.
const balancerID = "4de7ac8b-495b-4884-9a69-1050c6793cd6"

var settings = Settings{Defaults: annotation.Defaults{Type: annotation.TypeRegionalNetwork}}

var identity = Identity{Name: "k8s-public", Tags: []string{"k8s:worker"}}

type edit func(*v1.Service)

func annotated(pairs ...string) edit {
	return func(svc *v1.Service) {
		for i := 0; i < len(pairs); i += 2 {
			svc.Annotations[pairs[i]] = pairs[i+1]
		}
	}
}

// ports are like "tcp/80/30080": protocol, port and node port.
func service(name string, kind v1.ServiceType, ports []string, edits ...edit) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name), Annotations: map[string]string{}, ResourceVersion: "1"},
		Spec:       v1.ServiceSpec{Type: kind},
	}
	for _, text := range ports {
		var port v1.ServicePort
		parts := strings.Split(text, "/")
		port.Protocol = v1.Protocol(strings.ToUpper(parts[0]))
		fmt.Sscan(parts[1], &port.Port)
		fmt.Sscan(parts[2], &port.NodePort)
		svc.Spec.Ports = append(svc.Spec.Ports, port)
	}
	for _, e := range edits {
		e(svc)
	}
	return svc
}

func nodePort(name string, ports ...string) *v1.Service {
	return service(name, v1.ServiceTypeNodePort, ports)
}

func balancer(name string, ports []string, edits ...edit) *v1.Service {
	return service(name, v1.ServiceTypeLoadBalancer, ports, edits...)
}

// describe is a State for comparisons: its tags and inbound rules.
func describe(s State) []string {
	var texts []string
	for _, r := range s.access.rules() {
		if text, ok := strings.CutPrefix(r.String(), "inbound "); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// cluster is a simulator, Services, and controllers that keep the firewall. It
// works in a bubble of synctest.
type cluster struct {
	t      *testing.T
	sim    *simulator.Simulator
	kube   *fake.Clientset
	events *record.FakeRecorder
	object *v1.ObjectReference

	// transport is how controllers reach the API from the next start on.
	transport  http.RoundTripper
	controller *Controller
	registry   metrics.KubeRegistry
	// cancel tells the controller to end, and stop waits until it has.
	cancel, stop func()
	version      int
	// afterGet is called after each reading of the firewall.
	afterGet atomic.Pointer[func()]
}

func newCluster(t *testing.T, services ...*v1.Service) *cluster {
	c := &cluster{
		t: t, sim: simulator.New(simulator.WithRateLimit(0, 0)), kube: fake.NewClientset(), events: record.NewFakeRecorder(10_000),
		object: &v1.ObjectReference{Kind: "Lease", Namespace: "kube-system", Name: "cloud-controller-manager"},
	}
	c.transport = c.sim.Transport()
	for _, svc := range services {
		if err := c.kube.Tracker().Add(svc); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// start begins with an empty memory, as a new process does.
func (c *cluster) start(edits ...func(*Options)) {
	c.t.Helper()
	token, _, err := doapi.NewToken("dop_v1_test")
	if err != nil {
		c.t.Fatal(err)
	}
	client, err := doapi.New(doapi.Options{TokenSource: doapi.StaticToken(token), Version: "test", Transport: c.transport})
	if err != nil {
		c.t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(c.kube, 0)
	c.registry = metrics.NewKubeRegistry()
	o := Options{
		API:      API{afterGet{client.Firewalls, &c.afterGet}, client.Tags, client.LoadBalancers},
		Services: factory.Core().V1().Services(), Object: c.object,
		Recorder: events.NewRecorder(c.events, clock.RealClock{}), Metrics: NewMetrics(c.registry.MustRegister),
		Identity: identity, Settings: settings, Clock: clock.RealClock{},
	}
	for _, e := range edits {
		e(&o)
	}
	if c.controller, err = New(o); err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	done := make(chan struct{})
	c.cancel = cancel // which the controller may reach at once
	c.stop = func() { cancel(); factory.Shutdown(); <-done }
	go func() { c.controller.Run(ctx); close(done) }()
	c.wait(time.Second)
}

func (c *cluster) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (c *cluster) create(svc *v1.Service) {
	c.t.Helper()
	svc = svc.DeepCopy()
	svc.CreationTimestamp = metav1.Now()
	if _, err := c.kube.CoreV1().Services(svc.Namespace).Create(c.t.Context(), svc, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) update(svc *v1.Service, edits ...edit) *v1.Service {
	c.t.Helper()
	svc = svc.DeepCopy()
	for _, e := range edits {
		e(svc)
	}
	c.version++
	svc.ResourceVersion = fmt.Sprint(100 + c.version)
	if _, err := c.kube.CoreV1().Services(svc.Namespace).Update(c.t.Context(), svc, metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	return svc
}

func (c *cluster) delete(svc *v1.Service) {
	c.t.Helper()
	if err := c.kube.CoreV1().Services(svc.Namespace).Delete(c.t.Context(), svc.Name, metav1.DeleteOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// firewall is the only one of the account.
func (c *cluster) firewall() simulator.Firewall {
	c.t.Helper()
	all := c.sim.Firewalls()
	if len(all) != 1 {
		c.t.Fatalf("%d firewalls, want 1", len(all))
	}
	return all[0]
}

// inbound are the firewall's inbound rules, sorted.
func inboundOf(fw simulator.Firewall) []string {
	rules := []string{}
	for _, r := range fw.InboundRules {
		who := slices.Concat(r.Sources.Addresses, r.Sources.LoadBalancerUIDs, r.Sources.Tags)
		slices.Sort(who)
		rules = append(rules, fmt.Sprintf("%s %s %s", r.Protocol, r.Ports, strings.Join(who, ",")))
	}
	slices.Sort(rules)
	return rules
}

func (c *cluster) wantInbound(want ...string) {
	c.t.Helper()
	got := inboundOf(c.firewall())
	slices.Sort(want)
	if !slices.Equal(got, want) {
		c.t.Errorf("inbound rules are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// calls returns the calls since the last look, like "GET /v2/firewalls", with
// ids left out.
func (c *cluster) calls() []string {
	c.t.Helper()
	var calls []string
	for _, r := range c.sim.Requests() {
		path := r.Path
		for _, collection := range []string{"/v2/firewalls/", "/v2/load_balancers/"} {
			if strings.HasPrefix(path, collection) {
				path = collection + "{id}"
			}
		}
		calls = append(calls, r.Method+" "+path)
	}
	c.sim.ResetRequests()
	return calls
}

func (c *cluster) wantCalls(why string, want ...string) {
	c.t.Helper()
	if got := c.calls(); !slices.Equal(got, want) {
		c.t.Errorf("%s: calls\n%s\nwant\n%s", why, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func count(calls []string, call string) (n int) {
	for _, c := range calls {
		if strings.HasPrefix(c, call) {
			n++
		}
	}
	return n
}

// told returns the events since the last look.
func (c *cluster) told() string {
	var all []string
	for len(c.events.Events) > 0 {
		all = append(all, <-c.events.Events)
	}
	return strings.Join(all, "\n")
}

func (c *cluster) wantTold(parts ...string) {
	c.t.Helper()
	told := c.told()
	for _, part := range parts {
		if !strings.Contains(told, part) {
			c.t.Errorf("nothing told of %q, but\n%s", part, told)
		}
	}
}

// bubble runs a test with fake time.
func bubble(t *testing.T, test func(*testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

const everywhere = "0.0.0.0/0,::/0"
