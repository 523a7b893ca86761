package sandbox

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"digitalocean-cloud-controller-manager/simulator"
)

func TestNewNodeIsAsKubeletRegistersIt(t *testing.T) {
	node := NewNode("node-1", NodeOptions{NodeIP: "10.0.0.2", Labels: map[string]string{"pool": "a"}})
	wantTaints := []corev1.Taint{{
		Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule,
	}}
	if diff := cmp.Diff(wantTaints, node.Spec.Taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
	wantAddresses := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "node-1"}}
	if diff := cmp.Diff(wantAddresses, node.Status.Addresses); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	if node.Spec.ProviderID != "" {
		t.Errorf("provider ID %q, want none", node.Spec.ProviderID)
	}
	if !nodeIsReady(node) {
		t.Error("it is not ready")
	}
	if got := node.Annotations["alpha.kubernetes.io/provided-node-ip"]; got != "10.0.0.2" {
		t.Errorf("node IP %q", got)
	}
	if node.Labels["pool"] != "a" || node.Labels[corev1.LabelHostname] != "node-1" {
		t.Errorf("labels %v", node.Labels)
	}
	if nodeIsReady(NewNode("node-2", NodeOptions{NotReady: true})) {
		t.Error("a Node that is to be not ready is ready")
	}
}

func TestReadyFollowsTheDroplet(t *testing.T) {
	ctx := t.Context()
	cloud := simulator.New()
	off, gone, on := cloud.AddDroplet(simulator.DropletSpec{}), cloud.AddDroplet(simulator.DropletSpec{}), cloud.AddDroplet(simulator.DropletSpec{})
	client := fake.NewClientset()
	for _, name := range []string{"off", "gone", "on"} {
		if _, err := RegisterNode(ctx, client, NewNode(name, NodeOptions{})); err != nil {
			t.Fatal(err)
		}
	}
	k := newKubelets(client, cloud, map[int]string{off.ID: "off", gone.ID: "gone", on.ID: "on"})
	must(t, cloud.StopDroplet(off.ID))
	must(t, cloud.DeleteDroplet(gone.ID))
	k.follow(ctx)
	if diff := cmp.Diff(map[string]bool{"off": false, "gone": false, "on": true}, ready(ctx, t, client)); diff != "" {
		t.Errorf("ready (-want +got):\n%s", diff)
	}
	must(t, cloud.StartDroplet(off.ID))
	must(t, client.CoreV1().Nodes().Delete(ctx, "gone", metav1.DeleteOptions{}))
	k.follow(ctx)
	if diff := cmp.Diff(map[string]bool{"off": true, "on": true}, ready(ctx, t, client)); diff != "" {
		t.Errorf("ready (-want +got):\n%s", diff)
	}
	writes := len(client.Actions())
	k.follow(ctx)
	if extra := client.Actions()[writes:]; len(extra) != 0 {
		t.Errorf("nothing has changed, and yet: %v", extra)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func ready(ctx context.Context, t *testing.T, client kubernetes.Interface) map[string]bool {
	t.Helper()
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	must(t, err)
	got := map[string]bool{}
	for i := range nodes.Items {
		got[nodes.Items[i].Name] = nodeIsReady(&nodes.Items[i])
	}
	return got
}
