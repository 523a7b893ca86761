package instances

import (
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// ignores tells whether the Node is to be left alone altogether.
func (i *Instances) ignores(node *v1.Node) bool { return isIgnored(node, i.settings.Ignore) }

func isIgnored(node *v1.Node, ignore labels.Selector) bool {
	return ignore != nil && ignore.Matches(labels.Set(node.Labels))
}

// nothing has the framework leave the Node as it is. Nil keeps the taint of a
// Node that is not initialised, without being asked again and again; for any
// other Node the framework takes no nil.
func nothing(node *v1.Node) *cloudprovider.InstanceMetadata {
	if isUninitialized(node) {
		return nil
	}
	return &cloudprovider.InstanceMetadata{}
}

// Unignored is the lister without the Nodes that are to be ignored: whoever goes
// by it neither looks them up nor counts them. A nil selector ignores none.
func Unignored(nodes corelisters.NodeLister, ignore labels.Selector) corelisters.NodeLister {
	if ignore == nil {
		return nodes
	}
	return unignored{nodes, ignore}
}

type unignored struct {
	nodes  corelisters.NodeLister
	ignore labels.Selector
}

func (u unignored) List(selector labels.Selector) ([]*v1.Node, error) {
	all, err := u.nodes.List(selector)
	if err != nil {
		return nil, err
	}
	left := make([]*v1.Node, 0, len(all))
	for _, node := range all {
		if !isIgnored(node, u.ignore) {
			left = append(left, node)
		}
	}
	return left, nil
}

func (u unignored) Get(name string) (*v1.Node, error) {
	node, err := u.nodes.Get(name)
	if err == nil && isIgnored(node, u.ignore) {
		return nil, apierrors.NewNotFound(v1.Resource("nodes"), name)
	}
	return node, err
}
