package tagging

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/doapi"
)

// API is the part of DigitalOcean's API that is written to.
type API interface {
	Create(context.Context, *godo.TagCreateRequest) (*godo.Tag, *godo.Response, error)
	Delete(context.Context, string) (*godo.Response, error)
	TagResources(context.Context, string, *godo.TagResourcesRequest) (*godo.Response, error)
}

// maxTagCalls bounds the calls of a pass for tagging. One is the rule, three are
// needed when the tag is new, and the others find what can't be tagged.
const maxTagCalls = 16

// tagging is one pass's work on the cluster's tag.
type tagging struct {
	api   API
	tag   string
	calls int
	// tagged and refused are the ids, as DigitalOcean took them or not.
	tagged, refused []string
}

// all puts the tag on the load balancers, in one call unless the tag is missing
// or one of them is.
func (t *tagging) all(ctx context.Context, ids []string) error {
	err := t.put(ctx, ids)
	if !doapi.IsNotFound(err) {
		return err
	}
	// Either the tag or a load balancer doesn't exist; the answer is the same.
	if _, _, err := t.api.Create(ctx, &godo.TagCreateRequest{Name: t.tag}); err != nil {
		return fmt.Errorf("create tag %s: %w", t.tag, err)
	}
	klog.FromContext(ctx).Info("Made sure that the cluster's tag exists", "tag", t.tag)
	return t.halve(ctx, ids)
}

// halve tags what can be, and finds the load balancers that DigitalOcean doesn't
// find: it refuses all for one.
func (t *tagging) halve(ctx context.Context, ids []string) error {
	if t.calls >= maxTagCalls {
		return fmt.Errorf("too many load balancers are not found to be tagged with %s; the next pass goes on", t.tag)
	}
	err := t.put(ctx, ids)
	if !doapi.IsNotFound(err) {
		return err
	}
	if len(ids) == 1 {
		t.refused = append(t.refused, ids[0])
		return nil
	}
	middle := len(ids) / 2
	if err := t.halve(ctx, ids[:middle]); err != nil {
		return err
	}
	return t.halve(ctx, ids[middle:])
}

func (t *tagging) put(ctx context.Context, ids []string) error {
	resources := make([]godo.Resource, len(ids))
	for i, id := range ids {
		resources[i] = godo.Resource{ID: id, Type: godo.LoadBalancerResourceType}
	}
	t.calls++
	_, err := t.api.TagResources(ctx, t.tag, &godo.TagResourcesRequest{Resources: resources})
	if errors.Is(err, doapi.ErrRehearsed) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("tag load balancers with %s: %w", t.tag, err)
	}
	t.tagged = append(t.tagged, ids...)
	return nil
}

// tagAll puts the cluster's tag on the load balancers.
func (c *Controller) tagAll(ctx context.Context, tag string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	t := &tagging{api: c.options.API, tag: tag}
	err := t.all(ctx, ids)
	now := c.options.Clock.Now()
	for _, id := range t.tagged {
		c.memory.tagged[id] = now
	}
	for _, id := range t.refused {
		c.memory.refused[id] = now
	}
	c.options.Metrics.tagged(len(t.tagged))
	logger := klog.FromContext(ctx)
	if len(t.tagged) > 0 {
		logger.Info("Tagged load balancers", "tag", tag, "ids", t.tagged)
	}
	if len(t.refused) > 0 {
		logger.Info("Load balancers are listed, but not found to be tagged; left out for a while", "tag", tag, "ids", t.refused)
	}
	return err
}

// unmark removes the tag of one Service from everything, and the tag itself: it
// is on this Service's load balancer alone.
func (c *Controller) unmark(ctx context.Context, mark string, svc *v1.Service) error {
	_, err := c.options.API.Delete(ctx, mark)
	if errors.Is(err, doapi.ErrRehearsed) {
		return nil
	}
	if err != nil && !doapi.IsNotFound(err) {
		return fmt.Errorf("delete tag %s: %w", mark, err)
	}
	c.memory.unmarked[strings.ToLower(mark)] = c.options.Clock.Now()
	if err == nil {
		c.options.Metrics.unmarked()
		klog.FromContext(ctx).Info("Deleted the tag that a Service's load balancer was found by", "tag", mark, "service", klog.KObj(svc))
	}
	return nil
}
