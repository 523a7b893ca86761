package preview

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Cluster is what a Kubernetes cluster holds and the manager decides by.
type Cluster struct {
	Services []v1.Service
	Nodes    []v1.Node
	// Namespaces are needed only where limits are for some of them.
	Namespaces []v1.Namespace
}

// ReadCluster lists a cluster's objects once each.
func ReadCluster(ctx context.Context, kube kubernetes.Interface, namespaces bool) (Cluster, error) {
	var c Cluster
	services, err := kube.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return c, fmt.Errorf("list Services: %w", err)
	}
	nodes, err := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return c, fmt.Errorf("list Nodes: %w", err)
	}
	c.Services, c.Nodes = services.Items, nodes.Items
	if !namespaces {
		return c, nil
	}
	all, err := kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return c, fmt.Errorf("list Namespaces, for the limits on some of them: %w", err)
	}
	c.Namespaces = all.Items
	return c, nil
}

// Service returns a Service of the cluster; nil: there is none.
func (c *Cluster) Service(namespace, name string) *v1.Service {
	for i := range c.Services {
		if svc := &c.Services[i]; svc.Namespace == namespace && svc.Name == name {
			return svc
		}
	}
	return nil
}

// With returns the cluster with the Services in place of those of their names.
func (c Cluster) With(services ...*v1.Service) Cluster {
	type name struct{ namespace, name string }
	replaced := make(map[name]bool, len(services))
	for _, svc := range services {
		replaced[name{svc.Namespace, svc.Name}] = true
	}
	var all []v1.Service
	for _, svc := range c.Services {
		if !replaced[name{svc.Namespace, svc.Name}] {
			all = append(all, svc)
		}
	}
	for _, svc := range services {
		all = append(all, *svc)
	}
	c.Services = all
	return c
}

func (c *Cluster) serviceLister() corelisters.ServiceLister {
	return corelisters.NewServiceLister(indexOf(c.Services, func(s *v1.Service) any { return s }))
}

func (c *Cluster) nodeLister() corelisters.NodeLister {
	return corelisters.NewNodeLister(indexOf(c.Nodes, func(n *v1.Node) any { return n }))
}

func (c *Cluster) namespaceLister() corelisters.NamespaceLister {
	return corelisters.NewNamespaceLister(indexOf(c.Namespaces, func(n *v1.Namespace) any { return n }))
}

// indexOf holds objects as an informer's cache does.
func indexOf[T any](objects []T, object func(*T) any) cache.Indexer {
	index := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for i := range objects {
		_ = index.Add(object(&objects[i])) // API objects have names
	}
	return index
}
