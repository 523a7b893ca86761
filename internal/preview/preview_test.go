package preview

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/golden"
	"digitalocean-cloud-controller-manager/internal/loadbalancer/reconciler"
	"digitalocean-cloud-controller-manager/simulator"
)

// stand is a cluster with one Node, and an account.
type stand struct {
	t        *testing.T
	sim      *simulator.Simulator
	settings *config.Config
	cluster  Cluster
	previews []*Preview
}

// inStand runs a test in fake time, so that what it writes is the same each time.
func inStand(t *testing.T, test func(*stand)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stand{t: t, sim: simulator.New(simulator.WithResizeInterval(0), simulator.WithLoadBalancerActivation(0))}
		settings, err := config.Read(func(name string) (string, bool) {
			value, ok := map[string]string{config.EnvToken: "dop_v1_0123456789abcdef", config.EnvRegion: "nyc3", config.EnvClusterID: "c1"}[name]
			return value, ok
		}, strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		s.settings = settings
		d := s.sim.AddDroplet(simulator.DropletSpec{Name: "w", CreatedAt: time.Now().Add(-time.Hour)})
		s.cluster.Nodes = []v1.Node{{
			ObjectMeta: metav1.ObjectMeta{Name: "w", CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Hour))},
			Spec:       v1.NodeSpec{ProviderID: fmt.Sprintf("digitalocean://%d", d.ID)},
		}}
		test(s)
		for _, p := range s.previews {
			p.Close()
		}
	})
}

// client is one that may write where enter is nil.
func (s *stand) client(enter func(context.Context) (func(), error)) *doapi.Client {
	s.t.Helper()
	client, err := doapi.New(doapi.Options{TokenSource: doapi.StaticToken(s.settings.API.Token), Version: "test", Transport: s.sim.Transport(), EnterWrite: enter})
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

func (s *stand) preview() *Preview {
	s.t.Helper()
	p := New(Options{Settings: s.settings, Client: s.client(NoWrites), Region: "nyc3", Cluster: s.cluster, Clock: clock.RealClock{}})
	s.previews = append(s.previews, p)
	return p
}

// foretell is what becomes of all Services of the cluster, and checks that nothing
// was written for it.
func (s *stand) foretell() []Entry {
	s.t.Helper()
	s.sim.ResetRequests()
	var services []*v1.Service
	for i := range s.cluster.Services {
		services = append(services, &s.cluster.Services[i])
	}
	entries, err := s.preview().All(s.t.Context(), services)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range s.sim.Requests() {
		if r.Method != http.MethodGet {
			s.t.Errorf("it wrote: %s %s", r.Method, r.Path)
		}
	}
	if len(s.sim.Requests()) == 0 {
		s.t.Error("nothing was asked, so the log of requests proves nothing")
	}
	return entries
}

// add makes a Service of the cluster; its UID is told by its name.
func (s *stand) add(name string, annotations map[string]string) *v1.Service {
	s.cluster.Services = append(s.cluster.Services, v1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "shop", UID: types.UID("uid-" + name), Annotations: annotations, CreationTimestamp: metav1.NewTime(time.Now()),
			Finalizers: []string{"service.kubernetes.io/load-balancer-cleanup"},
		},
		Spec: v1.ServiceSpec{
			Type:  v1.ServiceTypeLoadBalancer,
			Ports: []v1.ServicePort{{Name: "http", Port: 80, NodePort: 30080, Protocol: v1.ProtocolTCP}},
		},
	})
	return &s.cluster.Services[len(s.cluster.Services)-1]
}

// perform makes what was foretold to be made, as the manager does.
func (s *stand) perform() {
	s.t.Helper()
	client := s.client(nil)
	for _, e := range s.foretell() {
		if e.Action != reconciler.ActionCreate {
			continue
		}
		lb, _, err := client.LoadBalancers.Create(s.t.Context(), reconciler.CreateRequest(e.Desired))
		if err != nil {
			s.t.Fatal(err)
		}
		// The simulator settles what is made when it is read next.
		if _, _, err := client.LoadBalancers.Get(s.t.Context(), lb.ID); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *stand) service(name string) *v1.Service {
	s.t.Helper()
	svc := s.cluster.Service("shop", name)
	if svc == nil {
		s.t.Fatalf("there is no Service %s", name)
	}
	return svc
}

func actions(entries []Entry) string {
	var texts []string
	for _, e := range entries {
		texts = append(texts, strings.TrimPrefix(e.Service, "shop/")+" "+string(e.Action))
	}
	return strings.Join(texts, ", ")
}

// stable replaces ids and addresses that differ by run.
func (s *stand) stable(text string) string {
	for _, lb := range s.sim.LoadBalancers() {
		text = strings.ReplaceAll(text, lb.ID, "ID-OF-"+lb.Name)
		if lb.IP != "" {
			text = strings.ReplaceAll(text, lb.IP, "ADDRESS-OF-"+lb.Name)
		}
	}
	for _, d := range s.sim.Droplets() {
		text = strings.ReplaceAll(text, fmt.Sprint(d.ID), "DROPLET")
	}
	return text
}

func (s *stand) check(file string, entries []Entry, o TextOptions) {
	s.t.Helper()
	var text strings.Builder
	if err := WriteText(&text, entries, o); err != nil {
		s.t.Fatal(err)
	}
	golden.Check(s.t, filepath.Join("testdata", file), s.stable(text.String()))
}

func TestWhatWasForetoldAndMadeLeavesNothingToDo(t *testing.T) {
	inStand(t, func(s *stand) {
		s.add("plain", nil)
		s.add("regional", map[string]string{annotation.Type: "REGIONAL", annotation.Protocol: "http", annotation.SizeUnit: "2"})
		if got := actions(s.foretell()); got != "plain create, regional create" {
			t.Fatal(got)
		}
		s.perform()
		entries := s.foretell()
		if got := actions(entries); got != "plain none, regional none" {
			t.Errorf("%s: %+v", got, entries)
		}
		if sum := Count(entries); sum.Changes() || sum.Unchanged != 2 {
			t.Errorf("%+v", sum)
		}
	})
}

func TestGoldenPlans(t *testing.T) {
	inStand(t, func(s *stand) {
		for _, name := range []string{"bigger", "gone", "kept", "moved", "same"} {
			s.add(name, map[string]string{annotation.Type: "REGIONAL"})
		}
		s.perform()
		s.service("bigger").Annotations[annotation.SizeUnit] = "3"
		s.service("bigger").Spec.Ports[0].Port = 8080
		s.service("gone").Spec.Type = v1.ServiceTypeClusterIP
		s.service("kept").Spec.Type = v1.ServiceTypeClusterIP
		s.service("kept").Annotations[annotation.RetainOnDelete] = "true"
		s.service("moved").Annotations[annotation.Type] = "REGIONAL_NETWORK"
		s.add("broken", map[string]string{annotation.SizeUnit: "many", annotation.Type: "HUGE"})
		s.add("disowned", map[string]string{annotation.Disown: "true"})
		s.add("fresh", map[string]string{annotation.Name: "my-balancer"})
		entries := s.foretell()
		s.check("plan.txt", entries, TextOptions{})
		s.check("adopt.txt", entries, TextOptions{Unchanged: true})
		s.check("colours.txt", entries, TextOptions{Colour: true})
		var text strings.Builder
		if err := WriteJSON(&text, entries); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, "testdata/plan.json", s.stable(text.String()))
	})
}

func TestGoldenPlanWithoutChanges(t *testing.T) {
	inStand(t, func(s *stand) {
		s.add("web", nil)
		s.perform()
		s.check("nothing.txt", s.foretell(), TextOptions{})
	})
}

func TestATypeThatNoServiceHasIsNotPlannedFor(t *testing.T) {
	inStand(t, func(s *stand) {
		_, err := s.cluster.Applied("f.yaml", []byte(`
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: loadbalancer}
`), "shop", time.Now())
		const want = `service shop/web: spec.type`
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "loadbalancer") {
			t.Errorf("%v, which lacks %q", err, want)
		}
	})
}

func TestGoldenPlanOfAManifestThatIsMergedWithWhatExists(t *testing.T) {
	inStand(t, func(s *stand) {
		s.add("web", map[string]string{
			annotation.SizeUnit: "1", annotation.Hostname: "web.example.com", "other": "stays",
			v1.LastAppliedConfigAnnotation: `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"shop","annotations":{"` + annotation.Hostname + `":"web.example.com"}}}`,
		})
		services, err := s.cluster.Applied("f.yaml", []byte(`
apiVersion: v1
kind: Service
metadata:
  name: web
  annotations: {`+annotation.SizeUnit+`: "2"}
spec:
  type: LoadBalancer
  ports: [{name: http, port: 80, protocol: TCP}]
---
kind: ConfigMap
apiVersion: v1
---
apiVersion: v1
kind: Service
metadata: {name: new}
spec:
  type: LoadBalancer
  ports: [{port: 443, protocol: TCP}]
`), "shop", time.Now())
		if err != nil || len(services) != 2 {
			t.Fatalf("%v, %d Services", err, len(services))
		}
		web := services[0]
		if web.Annotations[annotation.SizeUnit] != "2" || web.Annotations["other"] != "stays" || web.Annotations[annotation.Hostname] != "" {
			t.Errorf("annotations %v", web.Annotations)
		}
		if web.UID != "uid-web" || web.Spec.Ports[0].NodePort != 30080 || web.Namespace != "shop" {
			t.Errorf("what exists is lost: %+v", web)
		}
		s.cluster = s.cluster.With(services...)
		s.check("manifest.txt", s.foretell(), TextOptions{})
	})
}

func TestOrphansAreThoseOfThisClusterAlone(t *testing.T) {
	inStand(t, func(s *stand) {
		s.add("web", nil)
		s.add("gone", nil)
		s.perform()
		s.settings.ClusterID = "another"
		s.add("theirs", nil)
		s.perform()
		s.settings.ClusterID = "c1"
		s.cluster.Services = slices.DeleteFunc(s.cluster.Services, func(svc v1.Service) bool { return svc.Name != "web" })
		orphans, err := s.preview().Orphans(s.t.Context())
		if err != nil || len(orphans) != 1 || orphans[0].Name != "auidgone" {
			t.Errorf("%v, %+v", err, orphans)
		}
	})
}

func TestAnAPIThatIsAwayIsAnErrorAndNoPlan(t *testing.T) {
	inStand(t, func(s *stand) {
		svc := s.add("web", nil)
		s.sim.RejectTokens(true)
		if _, err := s.preview().Of(s.t.Context(), svc); err == nil || !strings.Contains(err.Error(), "service shop/web: ") {
			t.Errorf("%v", err)
		}
	})
}

func TestAWriteIsStoppedBeforeItIsSent(t *testing.T) {
	inStand(t, func(s *stand) {
		s.sim.ResetRequests()
		_, err := s.client(NoWrites).LoadBalancers.Delete(s.t.Context(), "00000000-0000-4000-8000-000000000000")
		if !errors.Is(err, ErrWrite) || len(s.sim.Requests()) > 0 {
			t.Errorf("%v, %d requests", err, len(s.sim.Requests()))
		}
	})
	sent := false
	next := roundTripper(func(*http.Request) (*http.Response, error) { sent = true; return &http.Response{}, nil })
	for method, want := range map[string]bool{"GET": true, "HEAD": true, "POST": false, "PUT": false, "PATCH": false, "DELETE": false} {
		sent = false
		req, err := http.NewRequestWithContext(t.Context(), method, "https://cluster.invalid/api", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ReadOnly(next).RoundTrip(req)
		if sent != want || want == errors.Is(err, ErrWrite) {
			t.Errorf("%s: sent %t, %v", method, sent, err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
