package firewall

import (
	"context"
	"errors"
	"fmt"

	"github.com/digitalocean/godo"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/doapi"
)

// FirewallAPI is the part of DigitalOcean's API for firewalls that is used.
type FirewallAPI interface {
	Get(context.Context, string) (*godo.Firewall, *godo.Response, error)
	List(context.Context, *godo.ListOptions) ([]godo.Firewall, *godo.Response, error)
	Create(context.Context, *godo.FirewallRequest) (*godo.Firewall, *godo.Response, error)
	Update(context.Context, string, *godo.FirewallRequest) (*godo.Firewall, *godo.Response, error)
}

// TagAPI makes the tags that a firewall is put on.
type TagAPI interface {
	Get(context.Context, string) (*godo.Tag, *godo.Response, error)
	Create(context.Context, *godo.TagCreateRequest) (*godo.Tag, *godo.Response, error)
}

// LoadBalancerAPI tells whether a load balancer exists.
type LoadBalancerAPI interface {
	Get(context.Context, string) (*godo.LoadBalancer, *godo.Response, error)
}

// API is what of DigitalOcean's API is used.
type API struct {
	Firewalls     FirewallAPI
	Tags          TagAPI
	LoadBalancers LoadBalancerAPI
}

// requestError is a call that failed. Its text is for people: what DigitalOcean
// said, without request ids and URLs, so that the same trouble reads the same.
type requestError struct {
	operation string
	err       error
}

func (e *requestError) Error() string { return e.operation + ": " + doapi.Message(e.err) }
func (e *requestError) Unwrap() error { return e.err }

// calls measures every call, and gives its errors their text.
type calls struct {
	api     API
	metrics *Metrics
	clock   clock.PassiveClock
	lister  *doapi.Lister[godo.Firewall, string]
}

func newCalls(api API, m *Metrics, c clock.PassiveClock) *calls {
	k := &calls{api: api, metrics: m, clock: c}
	k.lister = doapi.NewLister(func(ctx context.Context, o *godo.ListOptions) ([]godo.Firewall, *godo.Response, error) {
		begun := k.clock.Now()
		page, resp, err := api.Firewalls.List(ctx, o)
		k.metrics.operated("list", resp, err, k.clock.Since(begun))
		return page, resp, err
	}, func(fw godo.Firewall) string { return fw.ID })
	return k
}

// measure makes one call. what says for people what it does.
func measure[T any](k *calls, operation, what string, call func() (T, *godo.Response, error)) (T, error) {
	begun := k.clock.Now()
	answer, resp, err := call()
	k.metrics.operated(operation, resp, err, k.clock.Since(begun))
	if err != nil {
		return answer, &requestError{what, err}
	}
	return answer, nil
}

func (k *calls) get(ctx context.Context, id string) (*godo.Firewall, error) {
	return k.firewall("get", "read firewall "+id, func() (*godo.Firewall, *godo.Response, error) { return k.api.Firewalls.Get(ctx, id) })
}

// named returns the ids of the firewalls of that name, all of the account's
// being read.
func (k *calls) named(ctx context.Context, name string) ([]string, error) {
	all, err := k.lister.All(ctx)
	if err != nil {
		return nil, &requestError{"list firewalls", err}
	}
	var ids []string
	for _, fw := range all {
		if fw.Name == name && fw.ID != "" {
			ids = append(ids, fw.ID)
		}
	}
	return ids, nil
}

func (k *calls) create(ctx context.Context, r *godo.FirewallRequest) (*godo.Firewall, error) {
	return k.firewall("create", "make firewall "+r.Name, func() (*godo.Firewall, *godo.Response, error) { return k.api.Firewalls.Create(ctx, r) })
}

func (k *calls) update(ctx context.Context, id string, r *godo.FirewallRequest) (*godo.Firewall, error) {
	return k.firewall("update", fmt.Sprintf("change firewall %s (%s)", r.Name, id), func() (*godo.Firewall, *godo.Response, error) { return k.api.Firewalls.Update(ctx, id, r) })
}

// errNoAnswer is a success that doesn't show the firewall that it is about.
var errNoAnswer = errors.New("DigitalOcean's API gave an answer without a firewall")

// firewall makes a call that is answered with a firewall.
func (k *calls) firewall(operation, what string, call func() (*godo.Firewall, *godo.Response, error)) (*godo.Firewall, error) {
	fw, err := measure(k, operation, what, call)
	if err == nil && (fw == nil || fw.ID == "") {
		return nil, &requestError{what, errNoAnswer}
	}
	return fw, err
}

// ensureTag makes the tag if it isn't there, and tells whether it did.
func (k *calls) ensureTag(ctx context.Context, name string) (made bool, err error) {
	_, err = measure(k, "get_tag", "read tag "+name, func() (*godo.Tag, *godo.Response, error) { return k.api.Tags.Get(ctx, name) })
	if !doapi.IsNotFound(err) {
		return false, err
	}
	_, err = measure(k, "create_tag", "make tag "+name, func() (*godo.Tag, *godo.Response, error) {
		return k.api.Tags.Create(ctx, &godo.TagCreateRequest{Name: name})
	})
	return err == nil, err
}

// isGone tells whether the API says that the load balancer doesn't exist.
func (k *calls) isGone(ctx context.Context, id string) (bool, error) {
	_, err := measure(k, "get_load_balancer", "read load balancer "+id, func() (*godo.LoadBalancer, *godo.Response, error) { return k.api.LoadBalancers.Get(ctx, id) })
	if doapi.IsNotFound(err) {
		return true, nil
	}
	return false, err
}
