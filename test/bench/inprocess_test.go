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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	restclient "k8s.io/client-go/rest"
	"k8s.io/cloud-provider/app"
	cloudconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/metrics"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	genericcontrollermanager "k8s.io/controller-manager/app"

	"digitalocean-cloud-controller-manager/digitalocean"
	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/simulator"
)

const clusterID = "7c3a1b52-0d1f-4f0e-9a51-3c5c3e0f8a11"

// fullSettings have everything on that asks the API by itself.
func fullSettings() map[string]string {
	return map[string]string{
		config.EnvToken: benchToken, config.EnvRegion: "nyc3", config.EnvClusterID: clusterID,
		config.EnvFirewallName: "public", config.EnvFirewallTags: "worker",
	}
}

// inProcess is a whole manager in this process: the provider, the framework's
// controllers and our own, as the command starts them, but for the lease and
// the listeners.
type inProcess struct {
	t       *testing.T
	sim     *simulator.Simulator
	kube    kubernetes.Interface
	factory informers.SharedInformerFactory
	cancel  context.CancelFunc
}

// startInProcess starts it in a bubble of fake time.
func startInProcess(t *testing.T, sim *simulator.Simulator, environment map[string]string, objects ...runtime.Object) *inProcess {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	settings, err := config.FromEnvironment(func(name string) (string, bool) { v, ok := environment[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	cloud, err := digitalocean.New(ctx, settings, digitalocean.WithTransport(sim.Transport()), digitalocean.WithRegistry(metrics.NewKubeRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientset(objects...)
	m := &inProcess{t: t, sim: sim, kube: kube, factory: informers.NewSharedInformerFactory(kube, 0), cancel: cancel}
	completed := m.completedConfig()
	cloud.Initialize(clientBuilder{kube}, ctx.Done())
	cloud.SetInformers(m.factory)
	controllers := genericcontrollermanager.ControllerContext{
		InformerFactory: m.factory, Stop: ctx.Done(), ControllerManagerMetrics: controllersmetrics.NewControllerManagerMetrics("bench"),
	}
	for name, c := range digitalocean.Controllers() {
		if _, _, err := c.Constructor(app.ControllerInitContext{ClientName: name}, completed, cloud)(ctx, controllers); err != nil {
			t.Fatal(err)
		}
	}
	// A fake clientset loses what happens between an informer's list and its
	// watch: nothing may, before all are synced.
	m.factory.Start(ctx.Done())
	m.factory.WaitForCacheSync(ctx.Done())
	synctest.Wait()
	return m
}

func (m *inProcess) completedConfig() *cloudconfig.CompletedConfig {
	m.t.Helper()
	defaults, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		m.t.Fatal(err)
	}
	c := &cloudconfig.Config{ClientBuilder: clientBuilder{m.kube}, SharedInformers: m.factory}
	// As the command presets them.
	c.ComponentConfig.Generic.Controllers = []string{"*"}
	c.ComponentConfig.NodeStatusUpdateFrequency = defaults.NodeStatusUpdateFrequency
	c.ComponentConfig.NodeController.ConcurrentNodeSyncs = 50
	c.ComponentConfig.NodeController.ConcurrentNodeStatusUpdates = 50
	c.ComponentConfig.NodeLifecycleController.NodeMonitorPeriod = metav1.Duration{Duration: 5 * time.Second}
	c.ComponentConfig.NodeLifecycleController.ConcurrentNodeLifecycleSyncs = 10
	c.ComponentConfig.ServiceController.ConcurrentServiceSyncs = 10
	return c.Complete()
}

// stop ends it and waits for its informers.
func (m *inProcess) stop() {
	m.cancel()
	m.factory.Shutdown()
	synctest.Wait()
}

// clientBuilder gives every controller the same client.
type clientBuilder struct{ client kubernetes.Interface }

func (b clientBuilder) Config(string) (*restclient.Config, error)   { return &restclient.Config{}, nil }
func (b clientBuilder) ConfigOrDie(string) *restclient.Config       { return &restclient.Config{} }
func (b clientBuilder) Client(string) (kubernetes.Interface, error) { return b.client, nil }
func (b clientBuilder) ClientOrDie(string) kubernetes.Interface     { return b.client }

// inBubble runs a test in fake time.
func inBubble(t *testing.T, test func(*testing.T)) {
	t.Helper()
	handlers := utilruntime.ErrorHandlers
	// Their rate limit is kept in real time, which stands still in a bubble.
	utilruntime.ErrorHandlers = nil
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
	synctest.Test(t, test)
}

// addService makes a Service as the API server leaves it.
func (m *inProcess) addService(i int) {
	m.t.Helper()
	svc := newService(i)
	svc.UID = typesUID(i)
	svc.Spec.Ports[0].NodePort = int32(30000 + i)
	if _, err := m.kube.CoreV1().Services(svc.Namespace).Create(context.Background(), svc, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
}

// balanced counts the Services that show an address.
func (m *inProcess) balanced() int {
	m.t.Helper()
	services, err := m.kube.CoreV1().Services(metav1.NamespaceAll).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	n := 0
	for _, svc := range services.Items {
		if len(svc.Status.LoadBalancer.Ingress) > 0 {
			n++
		}
	}
	return n
}

// deleteServices does what the API server does: an object goes when its
// finalizers have.
func (m *inProcess) deleteServices() {
	m.t.Helper()
	ctx := context.Background()
	services := m.kube.CoreV1().Services(metav1.NamespaceDefault)
	all, err := services.List(ctx, metav1.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, svc := range all.Items {
		now := metav1.Now()
		svc.DeletionTimestamp = &now
		if _, err := services.Update(ctx, &svc, metav1.UpdateOptions{}); err != nil {
			m.t.Fatal(err)
		}
	}
	for _, svc := range all.Items {
		m.eventually(time.Hour, "finalizers of "+svc.Name+" are gone", func() bool {
			now, err := services.Get(ctx, svc.Name, metav1.GetOptions{})
			return err == nil && len(now.Finalizers) == 0
		})
		if err := services.Delete(ctx, svc.Name, metav1.DeleteOptions{}); err != nil {
			m.t.Fatal(err)
		}
	}
}

// eventually waits in fake time.
func (m *inProcess) eventually(within time.Duration, what string, done func() bool) {
	m.t.Helper()
	for deadline := time.Now().Add(within); !done(); time.Sleep(time.Second) {
		if time.Now().After(deadline) {
			m.t.Fatalf("not within %s: %s", within, what)
		}
	}
}

// newService is a Service of type LoadBalancer, as users write it.
func newService(i int) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", i), Namespace: metav1.NamespaceDefault},
		Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "web"},
			Ports: []v1.ServicePort{{Name: "http", Protocol: v1.ProtocolTCP, Port: 80}},
		},
	}
}
