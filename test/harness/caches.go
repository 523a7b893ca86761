package harness

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// object is one that clients see.
type object struct {
	resource             schema.GroupVersionResource
	namespace, name, uid string
}

// caches are what the API server serves from its memory.
type caches struct {
	client    metadata.Interface
	resources []schema.GroupVersionResource
}

func newCaches(config *rest.Config) (*caches, error) {
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{} // that a resource is deprecated
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("ask what resources there are: %w", err)
	}
	lists, err := found.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("ask what resources there are: %w", err)
	}
	c := &caches{}
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("ask what resources there are: %w", err)
		}
		for _, r := range list.APIResources {
			// Components are asked anew for each list of their statuses.
			if slices.Contains(r.Verbs, "list") && r.Name != "componentstatuses" {
				c.resources = append(c.resources, group.WithResource(r.Name))
			}
		}
	}
	if c.client, err = metadata.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return c, nil
}

// read returns all objects, as informers that start now see them first, and their
// revisions.
func (c *caches) read(ctx context.Context) (objects map[object]bool, revisions map[int64]bool, err error) {
	objects, revisions = map[object]bool{}, map[int64]bool{}
	for _, resource := range c.resources {
		list, err := c.client.Resource(resource).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return nil, nil, fmt.Errorf("list %s: %w", resource.Resource, err)
		}
		for _, item := range list.Items {
			objects[object{resource, item.Namespace, item.Name, string(item.UID)}] = true
			revision, err := strconv.ParseInt(item.ResourceVersion, 10, 64)
			if err != nil {
				return nil, nil, fmt.Errorf("read the version of %s %s: %w", resource.Resource, item.Name, err)
			}
			revisions[revision] = true
		}
	}
	return objects, revisions, nil
}
