package doctor

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/preview"
	"digitalocean-cloud-controller-manager/simulator"
)

// gather reads a cluster of one Node and one Service, and an account whose token
// has the scopes.
func gather(t *testing.T, scopes ...string) (*Facts, *simulator.Simulator, *fake.Clientset) {
	t.Helper()
	return gatherFrom(t, nil, nil, scopes...)
}

// gatherFrom does so from a simulator with more options, and with a Node for each
// of the droplets that are added too.
func gatherFrom(t *testing.T, options []simulator.Option, more []simulator.DropletSpec, scopes ...string) (*Facts, *simulator.Simulator, *fake.Clientset) {
	t.Helper()
	const token = "dop_v1_0123456789abcdef"
	sim := simulator.New(append(options, simulator.WithToken(token, "team", scopes...))...)
	d := sim.AddDroplet(simulator.DropletSpec{Name: "w", Team: "team"})
	settings, err := config.Read(func(name string) (string, bool) {
		value, ok := map[string]string{
			config.EnvToken: token, config.EnvRegion: "nyc3", config.EnvClusterID: "c1",
			config.EnvVPCID: "11111111-1111-4111-8111-111111111111", config.EnvFirewallName: "fw", config.EnvFirewallTags: "k8s",
		}[name]
		return value, ok
	}, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	client, err := doapi.New(doapi.Options{TokenSource: doapi.StaticToken(settings.API.Token), Version: "test", Transport: sim.Transport(), EnterWrite: preview.NoWrites})
	if err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientset(
		&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w"}, Spec: v1.NodeSpec{ProviderID: fmt.Sprintf("digitalocean://%d", d.ID)}},
		&v1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "u"},
			Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{{Port: 80, NodePort: 30080, Protocol: v1.ProtocolTCP}}},
		},
	)
	for _, spec := range more {
		spec.Team = "team"
		added := sim.AddDroplet(spec)
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: added.Name}, Spec: v1.NodeSpec{ProviderID: fmt.Sprintf("digitalocean://%d", added.ID)}}
		if err := kube.Tracker().Add(node); err != nil {
			t.Fatal(err)
		}
	}
	return Gather(t.Context(), Options{Settings: settings, Client: client, Kube: kube, Clock: clock.RealClock{}}), sim, kube
}

func TestGatheringOnlyReads(t *testing.T) {
	f, sim, kube := gather(t)
	for _, r := range f.Reads {
		if r.Err != nil {
			t.Errorf("%s: %v", r.What, r.Err)
		}
	}
	if len(f.Entries) != 1 || f.Entries[0].Action != "create" || f.Quota.Limit == 0 || len(f.Droplets) != 1 {
		t.Errorf("%+v", f)
	}
	for _, r := range sim.Requests() {
		if r.Method != http.MethodGet {
			t.Errorf("DigitalOcean was written to: %s %s", r.Method, r.Path)
		}
	}
	for _, a := range kube.Actions() {
		if a.GetVerb() != "get" && a.GetVerb() != "list" {
			t.Errorf("Kubernetes was written to: %v", a)
		}
	}
	want := []string{"vpc error DO_CLUSTER_VPC_ID", "manager error cloud-controller-manager", "pods warning Service shop/web"}
	if diff := cmp.Diff(want, brief(Examine(f))); diff != "" {
		t.Error(diff)
	}
}

func TestDropletsThatThePlainListLacksAreFound(t *testing.T) {
	for name, tc := range map[string]struct {
		options []simulator.Option
		spec    simulator.DropletSpec
	}{
		"with a GPU":         {nil, simulator.DropletSpec{Name: "g", GPU: true}},
		"late in every list": {[]simulator.Option{simulator.WithListLag(time.Hour, "/v2/droplets")}, simulator.DropletSpec{Name: "late"}},
	} {
		t.Run(name, func(t *testing.T) {
			f, _, _ := gatherFrom(t, tc.options, []simulator.DropletSpec{tc.spec})
			for _, found := range Examine(f) {
				if found.Check == "droplets" || found.Check == "access" {
					t.Errorf("%+v", found)
				}
			}
			if len(f.Droplets) != 2 || len(f.Nodes) != 2 {
				t.Errorf("%d droplets of %d Nodes", len(f.Droplets), len(f.Nodes))
			}
		})
	}
}

func TestEndpointsAreCountedByService(t *testing.T) {
	slice := func(service string, ready ...*bool) discoveryv1.EndpointSlice {
		s := discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelServiceName: service}}}
		for _, r := range ready {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Conditions: discoveryv1.EndpointConditions{Ready: r}})
		}
		return s
	}
	got := count([]discoveryv1.EndpointSlice{slice("web", new(true), new(false)), slice("web", nil), slice("db", new(false)), slice("none")})
	want := map[string]Endpoints{"web": {Ready: 2, All: 3}, "db": {All: 1}, "none": {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEndpointsThatCanNotBeReadAreToldOnce(t *testing.T) {
	kube := fake.NewClientset()
	kube.PrependReactor("list", "endpointslices", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("forbidden")
	})
	f := &Facts{Pods: map[string]Endpoints{}, Entries: []preview.Entry{{Service: "a/web"}, {Service: "b/web"}}}
	gatherer{f}.pods(t.Context(), kube)
	if len(f.Reads) != 1 || f.Reads[0].Err == nil || len(f.Pods) > 0 {
		t.Errorf("%+v, %v", f.Reads, f.Pods)
	}
}

func TestARefusedTokenIsToldOnce(t *testing.T) {
	f, _, _ := gatherFrom(t, []simulator.Option{simulator.WithFault(simulator.Fault{Status: http.StatusUnauthorized})}, nil)
	var found []string
	for _, one := range Examine(f) {
		if one.Check == "access" {
			found = append(found, one.Object)
		}
	}
	if diff := cmp.Diff([]string{"API token"}, found); diff != "" {
		t.Error(diff)
	}
}

func TestScopesThatLackAreNamed(t *testing.T) {
	f, _, _ := gather(t, "account:read", "regions:read", "droplet:read", "load_balancer:read", "certificate:read", "vpc:read")
	var cures []string
	for _, found := range Examine(f) {
		if found.Check == "access" {
			cures = append(cures, found.Cure)
		}
	}
	want := []string{"Give the token the scope tag:read.", "Give the token the scope firewall:read."}
	if diff := cmp.Diff(want, cures); diff != "" {
		t.Error(diff)
	}
}
