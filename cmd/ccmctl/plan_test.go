package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/simulator"
)

// world of a test: an account, and a Kubernetes API of which there are only lists.
type testWorld struct {
	sim        *simulator.Simulator
	kubeconfig string

	mu     sync.Mutex
	writes []string
}

func (w *testWorld) wrote(method, path string) {
	if method == http.MethodGet {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes = append(w.writes, method+" "+path)
}

// newWorld has the settings of the environment point to it.
func newWorld(t *testing.T, services ...v1.Service) *testWorld {
	t.Helper()
	const token = "dop_v1_0123456789abcdef"
	w := &testWorld{sim: simulator.New(simulator.WithToken(token, "team"))}
	d := w.sim.AddDroplet(simulator.DropletSpec{Name: "w", Team: "team"})
	api := httptest.NewServer(w.sim)
	t.Cleanup(api.Close)
	node := v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w"}, Spec: v1.NodeSpec{ProviderID: fmt.Sprintf("digitalocean://%d", d.ID)}}
	kube := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.wrote(r.Method, r.URL.Path)
		out.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api/v1/services":
			_ = json.NewEncoder(out).Encode(v1.ServiceList{TypeMeta: metav1.TypeMeta{Kind: "ServiceList", APIVersion: "v1"}, Items: services})
		case "/api/v1/nodes":
			_ = json.NewEncoder(out).Encode(v1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}, Items: []v1.Node{node}})
		default:
			http.NotFound(out, r)
		}
	}))
	t.Cleanup(kube.Close)
	w.kubeconfig = write(t, "kubeconfig", fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, namespace: shop}}]
clusters: [{name: c, cluster: {server: %q}}]
`, kube.URL))
	for _, setting := range os.Environ() {
		if name, _, _ := strings.Cut(setting, "="); slices.Contains([]string{config.EnvTokenFile, config.EnvVPCID, config.EnvFirewallName, config.EnvFirewallTags}, name) {
			t.Setenv(name, "")
		}
	}
	t.Setenv(config.EnvToken, token)
	t.Setenv(config.EnvAPIURL, api.URL)
	t.Setenv(config.EnvRegion, "nyc3")
	t.Setenv(config.EnvClusterID, "c1")
	t.Cleanup(func() {
		for _, r := range w.sim.Requests() {
			if r.Method != http.MethodGet {
				t.Errorf("DigitalOcean was written to: %s %s", r.Method, r.Path)
			}
		}
		if len(w.writes) > 0 {
			t.Errorf("Kubernetes was written to: %v", w.writes)
		}
	})
	return w
}

func webService(annotations map[string]string) v1.Service {
	return v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "u1", Annotations: annotations},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{{Port: 80, NodePort: 30080, Protocol: v1.ProtocolTCP}}},
	}
}

const manifest = `apiVersion: v1
kind: Service
metadata:
  name: new
  annotations: {service.beta.kubernetes.io/do-loadbalancer-size-unit: "%s"}
spec:
  type: LoadBalancer
  ports: [{port: 80, protocol: TCP}]
`

func TestPlanEndsLikeTerraform(t *testing.T) {
	disowned := webService(map[string]string{annotation.Disown: "true"})
	for name, tc := range map[string]struct {
		service v1.Service
		in      string
		args    []string
		code    int
		says    string
	}{
		"changes":              {webService(nil), "", []string{"shop/web"}, 0, "shop/web: a load balancer will be created\n"},
		"changes, asked for":   {webService(nil), "", []string{"web", "--detailed-exitcode"}, 2, "Plan: 1 to create, 0 to change, 0 to destroy."},
		"nothing":              {disowned, "", []string{"--detailed-exitcode"}, 0, "No changes."},
		"refused":              {webService(map[string]string{"service.beta.kubernetes.io/do-loadbalancer-size-unit": "x"}), "", []string{"--detailed-exitcode"}, 1, "shop/web: refused\n"},
		"a file":               {webService(nil), fmt.Sprintf(manifest, "2"), []string{"-f", "-", "--detailed-exitcode"}, 2, "+ size unit 2\n"},
		"a file that is wrong": {webService(nil), fmt.Sprintf(manifest, "many"), []string{"-f", "-"}, 1, "must be a whole number"},
		"of the namespace":     {webService(nil), "", []string{"-n", "shop", "web"}, 0, "shop/web: a load balancer will be created\n"},
		"another namespace":    {webService(nil), "", []string{"-n", "other", "--detailed-exitcode"}, 0, "No changes."},
		"all of one":           {webService(nil), "", []string{"-n", "shop", "--detailed-exitcode"}, 2, "Plan: 1 to create"},
		"a file for one":       {webService(nil), fmt.Sprintf(manifest, "2"), []string{"-n", "other", "-f", "-"}, 0, "other/new: "},
		"json":                 {webService(nil), "", []string{"-o", "json"}, 0, `"action": "create"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.service)
			r := run(t, tc.in, append([]string{"plan", "--kubeconfig", w.kubeconfig}, tc.args...)...)
			if r.code != tc.code || !strings.Contains(r.out, tc.says) {
				t.Errorf("code %d, want %d; %v\n%s", r.code, tc.code, r.err, r.out)
			}
			if strings.Contains(r.out, "\x1b") {
				t.Errorf("colours without a terminal: %q", r.out)
			}
		})
	}
}

func TestPlanTellsWhatItCanNotDo(t *testing.T) {
	w := newWorld(t, webService(nil))
	for name, tc := range map[string]struct {
		args []string
		says string
	}{
		"both":       {[]string{"web", "-f", "-"}, "not both"},
		"no Service": {[]string{"shop/nowhere"}, "there is no Service shop/nowhere"},
		"no file":    {[]string{"-f", "./nowhere.yaml"}, "nowhere.yaml"},
		"output":     {[]string{"-o", "xml"}, "--output must be text or json"},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, "", append([]string{"plan", "--kubeconfig", w.kubeconfig}, tc.args...)...)
			if r.code != 1 || !strings.Contains(fmt.Sprint(r.err), tc.says) {
				t.Errorf("code %d, %v", r.code, r.err)
			}
		})
	}
	t.Setenv(config.EnvRegion, "nowhere1")
	if r := run(t, "", "plan", "--kubeconfig", w.kubeconfig); r.code != 1 || !strings.Contains(fmt.Sprint(r.err), "nowhere1") {
		t.Errorf("%v", r.err)
	}
	t.Setenv(config.EnvToken, "")
	if r := run(t, "", "plan", "--kubeconfig", w.kubeconfig); r.code != 1 || !strings.Contains(fmt.Sprint(r.err), config.EnvToken) {
		t.Errorf("%v", r.err)
	}
}

func TestAdoptOrphansAndDoctorOnlyRead(t *testing.T) {
	w := newWorld(t, webService(nil))
	if r := run(t, "", "adopt", "--kubeconfig", w.kubeconfig); r.err != nil || !strings.Contains(r.out, "a load balancer will be created") {
		t.Errorf("adopt: %v\n%s", r.err, r.out)
	}
	if r := run(t, "", "orphans", "--kubeconfig", w.kubeconfig); r.err != nil || r.out != "No load balancer of this cluster is without a Service.\n" {
		t.Errorf("orphans: %v\n%s", r.err, r.out)
	}
	if r := run(t, "", "orphans", "-o", "json", "--kubeconfig", w.kubeconfig); r.err != nil || !json.Valid([]byte(r.out)) || !strings.Contains(r.out, `"loadBalancers": []`) {
		t.Errorf("orphans: %v\n%s", r.err, r.out)
	}
	r := run(t, "", "doctor", "--kubeconfig", w.kubeconfig)
	if r.code != 1 || !strings.Contains(r.out, "error: cloud-controller-manager: No manager holds the lease") || !strings.Contains(r.out, "\n  cure: ") {
		t.Errorf("doctor: %v\n%s", r.err, r.out)
	}
	t.Setenv(config.EnvClusterID, "")
	if r := run(t, "", "orphans", "--kubeconfig", w.kubeconfig); r.code != 1 || !strings.Contains(r.err.Error(), config.EnvClusterID) {
		t.Errorf("orphans without a cluster's id: %v", r.err)
	}
}
