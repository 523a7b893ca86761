package instances

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/providerid"
)

// ClusterOf tells the inventory which droplets are the cluster's, by the
// lister's Nodes.
func ClusterOf(nodes corelisters.NodeLister) inventory.Cluster {
	return inventory.Cluster{
		Known:   func() []int { return dropletIDs(nodes, anyNode) },
		Unready: func() []int { return dropletIDs(nodes, isUnready) },
		Unnamed: func() int { return countNodes(nodes, isUnnamed) },
	}
}

// all returns every Node. An informer's lister never fails.
func (i *Instances) all() []*v1.Node {
	all, err := i.nodes.List(labels.Everything())
	if err != nil {
		return nil
	}
	return all
}

func (i *Instances) known() []int         { return dropletIDs(i.nodes, anyNode) }
func (i *Instances) uninitialized() []int { return dropletIDs(i.nodes, isUninitialized) }

// dropletIDs returns the ids in the provider IDs of the Nodes that satisfy the
// condition.
func dropletIDs(nodes corelisters.NodeLister, condition func(*v1.Node) bool) []int {
	all, err := nodes.List(labels.Everything())
	if err != nil {
		return nil // an informer's lister returns none
	}
	var ids []int
	for _, node := range all {
		if id, err := providerid.Parse(node.Spec.ProviderID); err == nil && condition(node) {
			ids = append(ids, id)
		}
	}
	return ids
}

func countNodes(nodes corelisters.NodeLister, condition func(*v1.Node) bool) int {
	all, err := nodes.List(labels.Everything())
	if err != nil {
		return 0
	}
	n := 0
	for _, node := range all {
		if condition(node) {
			n++
		}
	}
	return n
}

func anyNode(*v1.Node) bool { return true }

func isUnnamed(node *v1.Node) bool { return node.Spec.ProviderID == "" }

func isOurs(node *v1.Node) bool {
	_, err := providerid.Parse(node.Spec.ProviderID)
	return err == nil
}

func isUnready(node *v1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == v1.NodeReady {
			return c.Status != v1.ConditionTrue
		}
	}
	return true
}

func isUninitialized(node *v1.Node) bool {
	for _, t := range node.Spec.Taints {
		if t.Key == cloudproviderapi.TaintExternalCloudProvider {
			return true
		}
	}
	return false
}
