package drift

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/providerid"
)

// NodeFacts tells what a Node is to be labelled with, from the snapshot of
// droplets, and tells people of Nodes whose droplet is gone or replaced.
type NodeFacts interface {
	InstanceMetadata(context.Context, *v1.Node) (*cloudprovider.InstanceMetadata, error)
}

// TagAPI is asked whether the token may read tags.
type TagAPI interface {
	List(context.Context, *godo.ListOptions) ([]godo.Tag, *godo.Response, error)
}

// NodesOptions are what a Nodes works with.
type NodesOptions struct {
	Facts NodeFacts
	Nodes corelisters.NodeLister
	Kube  kubernetes.Interface
	Tags  TagAPI
	// TagLabels tells whether any droplet tags become labels. Without it, labels
	// that look like ones made of tags are left alone.
	TagLabels bool
	// Metrics may be nil.
	Metrics *NodeMetrics
}

// Nodes keeps the labels of Nodes true: the framework writes them when it
// initialises a Node, and never again.
type Nodes struct{ options NodesOptions }

// NewNodes makes a Nodes.
func NewNodes(o NodesOptions) *Nodes { return &Nodes{o} }

// Check puts the labels of all Nodes right that differ from what their droplet
// is, each in one patch. It refreshes the snapshot of droplets when that is due,
// at the cost of a list at most, and asks once whether tags can be read when
// labels are about to go for the want of any.
func (n *Nodes) Check(ctx context.Context) error {
	all, err := n.options.Nodes.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list Nodes: %w", err)
	}
	found, err := n.find(ctx, all)
	if !found.tagsShown && mayLoseTagLabels(found.changes) {
		found.tagsShown = n.canReadTags(ctx)
	}
	return errors.Join(err, n.apply(ctx, found))
}

// findings are what is to be changed.
type findings struct {
	changes []nodeChange
	// tagsShown is true where DigitalOcean shows tags of any of the droplets.
	tagsShown bool
}

type nodeChange struct {
	node   *v1.Node
	change labelChange
}

// find compares all Nodes. The error is the first of those that are worth
// another try; the other Nodes are found all the same.
func (n *Nodes) find(ctx context.Context, all []*v1.Node) (found findings, failed error) {
	for _, node := range all {
		if !isInitialized(node) {
			continue // the framework will label it
		}
		if ctx.Err() != nil {
			return found, ctx.Err()
		}
		metadata, err := n.options.Facts.InstanceMetadata(ctx, node)
		if err != nil {
			if failed == nil && !isExpected(err) {
				failed = err
			}
			continue
		}
		found.tagsShown = found.tagsShown || hasTagLabel(metadata.AdditionalLabels)
		change := compareLabels(node.Labels, metadata, n.options.TagLabels)
		if !change.isEmpty() {
			found.changes = append(found.changes, nodeChange{node, change})
		}
	}
	return found, failed
}

// isInitialized tells whether the Node is a droplet's, and labelled before.
func isInitialized(node *v1.Node) bool {
	if _, err := providerid.Parse(node.Spec.ProviderID); err != nil || node.DeletionTimestamp != nil {
		return false
	}
	for _, taint := range node.Spec.Taints {
		if taint.Key == cloudproviderapi.TaintExternalCloudProvider {
			return false
		}
	}
	return true
}

// isExpected tells whether the error is told elsewhere, or is only a matter of
// the next time.
func isExpected(err error) bool {
	return inventory.IsGone(err) || errors.Is(err, inventory.ErrNotBelieved) || errors.Is(err, inventory.ErrNotNow)
}

func mayLoseTagLabels(changes []nodeChange) bool {
	for _, c := range changes {
		if len(c.change.removeTags) > 0 {
			return true
		}
	}
	return false
}

// canReadTags tells whether a droplet without tags has none: a token without the
// right to read tags sees none on any.
func (n *Nodes) canReadTags(ctx context.Context) bool {
	if n.options.Tags == nil {
		return false
	}
	_, _, err := n.options.Tags.List(ctx, &godo.ListOptions{Page: 1, PerPage: 1})
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Labels made of droplet tags are kept, as the token can't be seen to read tags", "reason", err)
	}
	return err == nil
}

// apply writes the changes. What fails is found again at the next look.
func (n *Nodes) apply(ctx context.Context, found findings) error {
	failures := 0
	var first error
	for _, c := range found.changes {
		if !found.tagsShown {
			c.change.removeTags = nil
		}
		if c.change.isEmpty() {
			continue
		}
		err := n.patch(ctx, c)
		n.options.Metrics.relabelled(err)
		if ctx.Err() != nil {
			return fmt.Errorf("labels of Nodes: %w; the next look goes on", ctx.Err())
		}
		if err != nil {
			failures++
			if first == nil {
				first = err
			}
		}
	}
	if failures > 0 {
		return fmt.Errorf("labels of %d of %d Nodes could not be written, the first: %w", failures, len(found.changes), first)
	}
	return nil
}

// patch writes a Node's labels. It holds the Node's UID, which keeps it from one
// that was registered anew meanwhile; that, and a Node that is gone, is no error.
func (n *Nodes) patch(ctx context.Context, c nodeChange) error {
	values := c.change.patch()
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": c.node.UID, "labels": values}})
	if err != nil {
		return fmt.Errorf("encode labels of node %q: %w", c.node.Name, err)
	}
	_, err = n.options.Kube.CoreV1().Nodes().Patch(ctx, c.node.Name, types.MergePatchType, body, metav1.PatchOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil
	case err != nil:
		return fmt.Errorf("patch labels of node %q: %w", c.node.Name, err)
	}
	klog.FromContext(ctx).Info("Put labels of Node right", "node", klog.KObj(c.node), "labels", values)
	return nil
}
