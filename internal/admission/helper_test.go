package admission

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/loadbalancer/reconciler"
	"digitalocean-cloud-controller-manager/simulator"
)

const (
	token   = "dop_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	unknown = "4de7ac8b-495b-4884-9a69-1050c6793cd6"
)

// world is DigitalOcean, a cluster's Services, and a Judge of them.
type world struct {
	t        *testing.T
	sim      *simulator.Simulator
	server   *httptest.Server
	client   *doapi.Client
	services cache.Indexer
	cluster  loadbalancer.Cluster
	judge    *Judge
}

func newWorld(t *testing.T, options ...simulator.Option) *world {
	t.Helper()
	w := &world{t: t, sim: simulator.New(append([]simulator.Option{simulator.WithToken(token, "t")}, options...)...), cluster: loadbalancer.Cluster{ID: "c1", Region: "nyc3"}}
	w.server = httptest.NewServer(w.sim)
	t.Cleanup(w.server.Close)
	base, err := url.Parse(w.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	secret, _, err := doapi.NewToken(token)
	if err != nil {
		t.Fatal(err)
	}
	if w.client, err = doapi.New(doapi.Options{TokenSource: doapi.StaticToken(secret), BaseURL: base}); err != nil {
		t.Fatal(err)
	}
	w.services = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	w.judge = NewJudge(Options{
		Client: w.client, Services: corelisters.NewServiceLister(w.services), Cluster: w.cluster, Clock: clock.RealClock{},
		Defaults: annotation.Defaults{Type: annotation.TypeRegionalNetwork},
	})
	return w
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// service is a LoadBalancer Service with the TCP ports 80 and 443. Each is
// younger than the one before.
func service(name string, pairs ...string) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("00000000-0000-4000-8000-" + (name + "000000000000")[:12]),
			CreationTimestamp: metav1.NewTime(epoch.Add(time.Duration(name[0]) * time.Hour)), Annotations: map[string]string{},
		},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{
			{Name: "http", Port: 80, NodePort: 30080, Protocol: v1.ProtocolTCP}, {Name: "https", Port: 443, NodePort: 30443, Protocol: v1.ProtocolTCP},
		}},
	}
	for i := 0; i < len(pairs); i += 2 {
		svc.Annotations[pairs[i]] = pairs[i+1]
	}
	return svc
}

// with returns a copy with annotations; an empty value removes one.
func with(svc *v1.Service, pairs ...string) *v1.Service {
	svc = svc.DeepCopy()
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			delete(svc.Annotations, pairs[i])
		} else {
			svc.Annotations[pairs[i]] = pairs[i+1]
		}
	}
	return svc
}

// balance makes the Service's load balancer as the manager does, and returns the
// Service with what the manager writes to it.
func (w *world) balance(svc *v1.Service) *v1.Service {
	w.t.Helper()
	spec, problems := annotation.Parse(svc, annotation.Defaults{Type: annotation.TypeRegionalNetwork})
	desired, more := loadbalancer.Desire(svc, spec, loadbalancer.Inputs{Cluster: w.cluster, CertificateID: spec.CertificateID})
	if len(problems)+len(more) > 0 {
		w.t.Fatal(problems, more)
	}
	lb, _, err := w.client.LoadBalancers.Create(w.t.Context(), reconciler.CreateRequest(desired))
	if err != nil {
		w.t.Fatal(err)
	}
	svc = with(svc, annotation.LoadBalancerID, lb.ID, annotation.Type, lb.Type, annotation.DefaultsVersion, "1")
	if err := w.services.Add(svc); err != nil {
		w.t.Fatal(err)
	}
	return svc
}

// calls are the requests since the last ones, such as "POST".
func (w *world) calls(since int) []string {
	var calls []string
	for _, r := range w.sim.Requests()[since:] {
		calls = append(calls, r.Method)
	}
	return calls
}

func (w *world) judged(svc, old *v1.Service) Verdict {
	w.t.Helper()
	return w.judge.Judge(w.t.Context(), svc, old)
}

func contains(texts []string, part string) bool {
	return strings.Contains(strings.Join(texts, "\n"), part)
}
