package sandbox

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

// NodeOptions are what a kubelet may be told on its command line.
type NodeOptions struct {
	// ProviderID is kubelet's --provider-id.
	ProviderID string
	// NodeIP is kubelet's --node-ip: one address, or one of each family with a
	// comma between them.
	NodeIP string
	Labels map[string]string
	// NotReady leaves the Node without the condition Ready=True.
	NotReady bool
}

// NewNode is a Node as kubelet with --cloud-provider=external registers it:
// tainted until a cloud controller manager has initialised it, without
// addresses but its host name.
func NewNode(name string, o NodeOptions) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:   name,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: "amd64",
			},
		},
		Spec: corev1.NodeSpec{
			ProviderID: o.ProviderID,
			Taints: []corev1.Taint{{
				Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule,
			}},
		},
		Status: nodeStatus(name, !o.NotReady),
	}
	for key, value := range o.Labels {
		node.Labels[key] = value
	}
	if o.NodeIP != "" {
		node.Annotations = map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: o.NodeIP}
	}
	return node
}

func nodeStatus(name string, ready bool) corev1.NodeStatus {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("2"),
		corev1.ResourceMemory: resource.MustParse("4Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	return corev1.NodeStatus{
		Capacity:    capacity,
		Allocatable: capacity,
		Addresses:   []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
		Conditions:  []corev1.NodeCondition{readyCondition(ready)},
	}
}

// readyCondition is what kubelet writes of itself, or what is written of it
// when it has fallen silent.
func readyCondition(ready bool) corev1.NodeCondition {
	now := metav1.Now()
	c := corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		Message: "kubelet is posting ready status", LastHeartbeatTime: now, LastTransitionTime: now,
	}
	if !ready {
		c.Status, c.Reason, c.Message = corev1.ConditionUnknown, "NodeStatusUnknown", "kubelet stopped posting node status"
	}
	return c
}

// RegisterNode creates the Node and then writes its status, which a create
// ignores, as kubelet does.
func RegisterNode(ctx context.Context, c kubernetes.Interface, node *corev1.Node) (*corev1.Node, error) {
	created, err := c.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("register Node %s: %w", node.Name, err)
	}
	return patchNodeStatus(ctx, c, created.Name, node.Status)
}

// SetNodeReady writes the Node's Ready condition, as kubelet or, when it has
// fallen silent, kube-controller-manager does.
func SetNodeReady(ctx context.Context, c kubernetes.Interface, name string, ready bool) error {
	_, err := patchNodeStatus(ctx, c, name, corev1.NodeStatus{Conditions: []corev1.NodeCondition{readyCondition(ready)}})
	return err
}
