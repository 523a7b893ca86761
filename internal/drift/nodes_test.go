package drift

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"digitalocean-cloud-controller-manager/simulator"
)

func TestNodesThatAreNotOursAreLeftAlone(t *testing.T) {
	tests := map[string]func(*v1.Node){
		"foreign":       func(n *v1.Node) { n.Spec.ProviderID = "aws:///i-1" },
		"no provider":   func(n *v1.Node) { n.Spec.ProviderID = "" },
		"uninitialized": func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}} },
		"being deleted": func(n *v1.Node) { n.DeletionTimestamp = &metav1.Time{Time: time.Now()} },
	}
	for name, edit := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newNodeWorld(t, nil)
				id := w.add("w0")
				node := w.index.List()[0].(*v1.Node).DeepCopy()
				edit(node)
				if err := w.kube.Tracker().Update(v1.SchemeGroupVersion.WithResource("nodes"), node, ""); err != nil {
					t.Fatal(err)
				}
				w.change(id, simulator.DropletPatch{Size: new("s-4vcpu-8gb")})
				if patches, calls, err := w.check(); err != nil || len(patches)+len(calls) > 0 {
					t.Errorf("patches %v, calls %v, error %v", patches, calls, err)
				}
			})
		})
	}
}

func TestAReadyNodeWithoutItsDropletIsTold(t *testing.T) {
	for name, replaced := range map[string]bool{"DropletGone": false, "DropletReplaced": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newNodeWorld(t, nil)
				w.add("w0")
				id := w.add("w1")
				if err := w.sim.DeleteDroplet(id); err != nil {
					t.Fatal(err)
				}
				if replaced {
					w.sim.AddDroplet(simulator.DropletSpec{Name: "w1"})
				}
				for range 3 {
					if patches, _, err := w.check(); err != nil || len(patches) > 0 {
						t.Errorf("%v %v", patches, err)
					}
				}
				if len(w.events.Events) != 1 {
					t.Fatalf("%d events in three looks, want one", len(w.events.Events))
				}
				if got := <-w.events.Events; !strings.Contains(got, name) {
					t.Error(got)
				}
			})
		})
	}
}

func TestLabelsThatCannotBeWritten(t *testing.T) {
	nodes := schema.GroupResource{Resource: "nodes"}
	tests := map[string]struct {
		err  error
		want string
	}{
		"the Node is gone":       {apierrors.NewNotFound(nodes, "w0"), ""},
		"the Node is another":    {apierrors.NewConflict(nodes, "w0", errors.New("uid")), ""},
		"the manager may not":    {apierrors.NewForbidden(nodes, "w0", errors.New("rbac")), "labels of 1 of 2 Nodes could not be written"},
		"the API server is away": {apierrors.NewInternalError(errors.New("etcd")), "labels of 1 of 2 Nodes could not be written"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newNodeWorld(t, nil)
				registry := metrics.NewKubeRegistry()
				w.nodes.options.Metrics = NewNodeMetrics(registry.MustRegister)
				for _, name := range []string{"w0", "w1"} {
					w.change(w.add(name), simulator.DropletPatch{Size: new("s-4vcpu-8gb")})
				}
				w.kube.PrependReactor("patch", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
					return a.(clienttesting.PatchAction).GetName() == "w0", nil, test.err
				})
				patches, _, err := w.check()
				if len(patches) != 2 {
					t.Errorf("patches %v: one Node's trouble must not stop the other", patches)
				}
				failed := "0"
				if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
					t.Errorf("error %v, want %q", err, test.want)
				}
				if test.want != "" {
					failed = "1"
				}
				got, metricErr := testutil.GetCounterMetricValue(w.nodes.options.Metrics.patches.WithLabelValues("error"))
				if metricErr != nil || fmt.Sprint(got) != failed {
					t.Errorf("%v failures counted, want %s: %v", got, failed, metricErr)
				}
			})
		})
	}
}

func TestAnAPIInTroubleIsAnErrorAndChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNodeWorld(t, []string{"pool:*"})
		for i := range 20 {
			w.add(fmt.Sprint("w", i), "pool:web")
		}
		w.sim.AddFault(simulator.Fault{Path: "/v2/droplets*", Status: http.StatusServiceUnavailable})
		patches, calls, err := w.check()
		if err == nil || len(patches) > 0 {
			t.Errorf("patches %v, error %v", patches, err)
		}
		if len(calls) > 20 {
			t.Errorf("%d calls to an API that doesn't work", len(calls))
		}
	})
}

// What the API leaves out for want of a right is no reason to write.
func TestMissingFactsChangeNoLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNodeWorld(t, nil)
		w.add("w0")
		node := w.index.List()[0].(*v1.Node)
		metadata, err := w.facts.InstanceMetadata(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		actual := map[string]string{}
		for key, value := range node.Labels {
			actual[key] = value
		}
		actual["digitalocean.com/gpu"] = "true"
		metadata.InstanceType, metadata.Region = "", ""
		delete(metadata.AdditionalLabels, "digitalocean.com/vpc")
		delete(metadata.AdditionalLabels, "digitalocean.com/image")
		if change := compareLabels(actual, metadata, true); !change.isEmpty() {
			t.Errorf("changes %+v", change)
		}
	})
}

// The labels that can go are named here as package instances names them.
func TestLabelsOfGPUsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNodeWorld(t, []string{"*"})
		gpu := w.sim.AddDroplet(simulator.DropletSpec{Name: "gpu", GPU: true, Tags: []string{"a:b"}, CreatedAt: time.Now().Add(-time.Hour)})
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "gpu", UID: "uid-gpu"}, Spec: v1.NodeSpec{ProviderID: fmt.Sprint("digitalocean://", gpu.ID)}}
		w.put(node)
		metadata, err := w.facts.InstanceMetadata(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{labelGPU, labelGPUModel, labelTag + "a"} {
			if _, ok := metadata.AdditionalLabels[key]; !ok {
				t.Errorf("package instances gives no label %s: %v", key, metadata.AdditionalLabels)
			}
		}
	})
}
