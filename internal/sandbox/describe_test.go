package sandbox

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// initialised is a Node as the manager leaves it.
func initialised() *corev1.Node {
	node := NewNode("node-1", NodeOptions{ProviderID: "digitalocean://7"})
	node.Spec.Taints = nil
	node.Labels[corev1.LabelInstanceTypeStable] = "s-2vcpu-4gb"
	node.Labels[corev1.LabelTopologyRegion] = "nyc3"
	node.Status.Addresses = append(node.Status.Addresses,
		corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "10.0.0.2"},
		corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "203.0.113.2"})
	return node
}

func TestSeeNode(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.Node)
		want   sight
	}{
		"as kubelet registers it": {
			func(n *corev1.Node) { *n = *NewNode("node-1", NodeOptions{}) },
			sight{text: "registered; tainted until it is initialised"},
		},
		"before its addresses are written": {
			func(n *corev1.Node) { n.Status.Addresses = n.Status.Addresses[:1] },
			sight{text: "initialised as digitalocean://7, without an address yet"},
		},
		"with everything": {
			func(*corev1.Node) {},
			sight{done: true, text: "initialised as digitalocean://7, InternalIP 10.0.0.2, ExternalIP 203.0.113.2, s-2vcpu-4gb in nyc3"},
		},
		"without a provider ID": {
			func(n *corev1.Node) { n.Spec.ProviderID = "" },
			sight{text: "initialised as , InternalIP 10.0.0.2, ExternalIP 203.0.113.2, s-2vcpu-4gb in nyc3"},
		},
		"when its kubelet has fallen silent": {
			func(n *corev1.Node) { n.Status.Conditions = []corev1.NodeCondition{readyCondition(false)} },
			sight{text: "not ready; its droplet will be looked at"},
		},
		"when its droplet is off": {
			func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: cloudproviderapi.TaintNodeShutdown}} },
			sight{text: "tainted, as its droplet is off"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			node := initialised()
			tc.change(node)
			tc.want.key = "Node node-1"
			if diff := cmp.Diff(tc.want, seeNode(node), cmp.AllowUnexported(sight{})); diff != "" {
				t.Errorf("sight (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSeeService(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.Service)
		want   sight
	}{
		"new":         {func(*corev1.Service) {}, sight{text: "waiting for a load balancer"}},
		"made":        {withID, sight{text: "load balancer 4de7 made; waiting for its address"}},
		"active":      {func(s *corev1.Service) { withID(s); withIngress(s) }, sight{done: true, text: "reachable at 192.0.2.1, lb.example.com"}},
		"no id":       {withIngress, sight{text: "reachable at 192.0.2.1, lb.example.com"}},
		"terminating": {func(s *corev1.Service) { withIngress(s); s.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, sight{text: "being deleted, once its load balancer is"}},
	} {
		t.Run(name, func(t *testing.T) {
			service := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "example"},
				Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
			}
			tc.change(service)
			tc.want.key = "Service default/example"
			got, ok := seeService(service)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(sight{})); !ok || diff != "" {
				t.Errorf("told: %t, sight (-want +got):\n%s", ok, diff)
			}
		})
	}
	if _, ok := seeService(&corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP}}); ok {
		t.Error("a Service without a load balancer is told of")
	}
}

func withID(s *corev1.Service) {
	s.Annotations = map[string]string{annotation.LoadBalancerID: "4de7"}
}

func withIngress(s *corev1.Service) {
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}, {Hostname: "lb.example.com"}}
}

func TestOnlyWarningsAmongEventsAreTold(t *testing.T) {
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{UID: "u1"},
		Type:           corev1.EventTypeWarning,
		Reason:         "SyncLoadBalancerFailed",
		Message:        "no such size",
		InvolvedObject: corev1.ObjectReference{Kind: "Service", Namespace: "default", Name: "example"},
	}
	want := sight{key: "Event u1", text: "Service default/example: SyncLoadBalancerFailed: no such size", warning: true}
	got, ok := see(event)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sight{})); !ok || diff != "" {
		t.Errorf("told: %t, sight (-want +got):\n%s", ok, diff)
	}
	if _, ok := seeDeleted(event); ok {
		t.Error("an expired event is told of")
	}
	event.Type = corev1.EventTypeNormal
	if _, ok := see(event); ok {
		t.Error("a normal event is told of")
	}
}

func TestDeletionIsToldAlsoWhenTheWatchMissedIt(t *testing.T) {
	want := sight{key: "Node node-1", text: "deleted"}
	for _, object := range []any{initialised(), cache.DeletedFinalStateUnknown{Obj: initialised()}} {
		got, ok := seeDeleted(object)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(sight{})); !ok || diff != "" {
			t.Errorf("%T: told: %t, sight (-want +got):\n%s", object, ok, diff)
		}
	}
}

func TestGoalIsReachedOnceAndNewsAreToldOnce(t *testing.T) {
	g := newGoal("Node a", "Service b")
	steps := []struct {
		seen    sight
		news    bool
		missing string
	}{
		{sight{key: "Node a", text: "tainted"}, true, "Node a: tainted; Service b: not seen yet"},
		{sight{key: "Node a", text: "tainted"}, false, "Node a: tainted; Service b: not seen yet"},
		{sight{key: "Node stranger", text: "tainted"}, true, "Node a: tainted; Service b: not seen yet"},
		{sight{key: "Node a", text: "up", done: true}, true, "Service b: not seen yet"},
		{sight{key: "Service b", text: "up", done: true}, true, ""},
		{sight{key: "Node a", text: "deleted"}, true, ""},
	}
	for i, step := range steps {
		if news := g.note(step.seen); news != step.news {
			t.Errorf("step %d: news %t, want %t", i, news, step.news)
		}
		if diff := cmp.Diff(step.missing, g.missing()); diff != "" {
			t.Errorf("step %d: missing (-want +got):\n%s", i, diff)
		}
		if g.reached() != (step.missing == "") {
			t.Errorf("step %d: reached %t", i, g.reached())
		}
	}
}
