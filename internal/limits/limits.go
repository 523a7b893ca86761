// Package limits holds what an operator allows Services to ask for: which types
// of load balancers, how large, how many, and which annotations not at all. It is
// what keeps somebody who may only create Services from spending an account's
// money, and from taking over load balancers of others.
//
// The package is pure. The manager, the admission webhook and the linter go by
// the same [Limits.Check].
package limits

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// Limit is a set of restrictions on the Services of some namespaces. A zero
// field restricts nothing.
type Limit struct {
	// Name is how refusals call the limit.
	Name string
	// Namespaces selects namespaces by their labels; nil: all.
	Namespaces labels.Selector
	// Types, Networks and Projects are the only ones allowed.
	Types, Networks, Projects []string
	// MaxSizeUnit bounds a load balancer's size, in nodes; 0: no bound.
	MaxSizeUnit int
	// MaxPerNamespace bounds the load balancers of each namespace, and Max those
	// of all the limit's namespaces together; nil: no bound. Zero allows none.
	MaxPerNamespace, Max *int
	// Forbid are the keys of annotations that Services must not have.
	Forbid []string
}

// Limits are all restrictions; a Service must keep to each of them that
// concerns its namespace.
type Limits []Limit

// Standing is what is known of the load balancer that a Service names, or has.
type Standing int

const (
	// Unproven is one that exists, or may exist, and isn't known to be the
	// Service's own.
	Unproven Standing = iota
	// None is where there is no such load balancer: an id leads nowhere, and
	// nothing can be taken over by it.
	None
	// Own is one that is the Service's by something that only a manager, or
	// somebody with access to the DigitalOcean account, can have written: the
	// mark or default name with the Service's UID on the load balancer, or the
	// load balancer's address in the Service's status.
	Own
)

// Request is a Service to be checked, and what it is judged by.
type Request struct {
	Service *v1.Service
	// Spec is the Service's, as [annotation.Parse] reads it with Defaults, or,
	// where its load balancer exists, with those for an existing one.
	Spec     annotation.Spec
	Defaults annotation.Defaults
	// Standing is that of the Service's load balancer.
	Standing Standing
	// Namespace returns the labels of a namespace. Nil: they are not known, and
	// limits for selected namespaces are left out.
	Namespace func(name string) labels.Set
	// Others are the other Services that have load balancers or wait for one;
	// see [Others].
	Others []Other
}

// NeedNamespaces tells whether any limit is for selected namespaces.
func (l Limits) NeedNamespaces() bool {
	return slices.ContainsFunc(l, func(limit Limit) bool { return limit.Namespaces != nil })
}

// NeedOthers tells whether any limit counts load balancers.
func (l Limits) NeedOthers() bool { return slices.ContainsFunc(l, Limit.counts) }

// Check returns everything that the Service asks for and the limits don't allow.
// A Service that has a load balancer is never refused for the number of them.
func (l Limits) Check(r Request) []annotation.Problem {
	var problems []annotation.Problem
	for _, limit := range l {
		if limit.concerns(r.Service.Namespace, r.Namespace) {
			problems = append(problems, limit.check(r)...)
		}
	}
	if !r.holds() {
		problems = append(problems, l.checkCounts(r)...)
	}
	return r.Spec.Attribute(problems)
}

// ForbidsTakeOver tells whether the Service must not have a load balancer by its
// id unless that is its own, and the name of the limit that says so. namespace
// is as in [Request].
func (l Limits) ForbidsTakeOver(svc *v1.Service, namespace func(string) labels.Set) (limit string, forbidden bool) {
	for _, limit := range l {
		if slices.Contains(limit.Forbid, annotation.LoadBalancerID) && limit.concerns(svc.Namespace, namespace) {
			return limit.Name, true
		}
	}
	return "", false
}

// concerns tells whether the limit is for the Services of a namespace.
func (l Limit) concerns(namespace string, labelsOf func(string) labels.Set) bool {
	if l.Namespaces == nil {
		return true
	}
	return labelsOf != nil && l.Namespaces.Matches(labelsOf(namespace))
}

// holds tells whether the Service has a load balancer, or had one that is made
// again. Only a manager writes the status.
func (r Request) holds() bool {
	return r.Standing == Own || len(r.Service.Status.LoadBalancer.Ingress) > 0
}

// check checks everything but the number of load balancers.
func (l Limit) check(r Request) []annotation.Problem {
	var problems []annotation.Problem
	refuse := func(field, value, allowed string) {
		problems = append(problems, annotation.Problem{Field: field, Value: value, Allowed: allowed + l.whose()})
	}
	only := func(field, value string, allowed []string) {
		if len(allowed) > 0 && !slices.Contains(allowed, value) {
			refuse(field, value, "must be "+alternatives(allowed))
		}
	}
	only(annotation.Type, r.Spec.Type, l.Types)
	only(annotation.Network, r.Spec.Network, l.Networks)
	if r.Standing != Own { // it decides at creation only
		only(annotation.ProjectID, r.Spec.ProjectID, l.Projects)
	}
	if l.MaxSizeUnit > 0 && r.Spec.SizeUnit > l.MaxSizeUnit {
		field, value := annotation.SizeUnit, fmt.Sprint(r.Spec.SizeUnit)
		if r.Spec.SizeSlug != "" {
			field, value = annotation.SizeSlug, r.Spec.SizeSlug
		}
		refuse(field, value, fmt.Sprintf("must be at most %d nodes", l.MaxSizeUnit))
	}
	for _, key := range l.Forbid {
		for _, found := range r.forbidden(key) {
			refuse(found, r.Service.Annotations[found], "must be absent"+explain(found))
		}
	}
	return problems
}

// explain says why a refusal is not what it seems.
func explain(key string) string {
	if key == annotation.LoadBalancerID {
		return ", unless it is the id of the load balancer that was made for this very Service"
	}
	return ""
}

// whose names the limit, at the end of a refusal.
func (l Limit) whose() string {
	return fmt.Sprintf(" (limit %q of the manager's configuration)", l.Name)
}

// alternatives lists values for people.
func alternatives(values []string) string {
	last := len(values) - 1
	if last == 0 {
		return values[0]
	}
	return strings.Join(values[:last], ", ") + " or " + values[last]
}
