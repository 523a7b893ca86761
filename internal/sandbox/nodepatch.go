package sandbox

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// patchNodeStatus merges the status's fields into the Node's, conditions and
// addresses by their type, so that nothing is lost which others wrote.
func patchNodeStatus(ctx context.Context, c kubernetes.Interface, name string, status corev1.NodeStatus) (*corev1.Node, error) {
	patch, err := json.Marshal(struct {
		Status corev1.NodeStatus `json:"status"`
	}{status})
	if err != nil {
		return nil, fmt.Errorf("encode the status of Node %s: %w", name, err)
	}
	node, err := c.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return nil, fmt.Errorf("write the status of Node %s: %w", name, err)
	}
	return node, nil
}
