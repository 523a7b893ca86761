package limits

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// Other is another Service than the one that is checked.
type Other struct {
	Service *v1.Service
	// Has tells whether it has a load balancer, or had one that is made again.
	// Else it waits for its first one.
	Has  bool
	Spec annotation.Spec
}

// Others are the Services of all, but for svc, that have load balancers or wait
// for one. One that can't get any, as it is invalid or not the manager's, holds
// nobody up. has tells of Services that have one beside those whose status says
// so; it may be nil.
func Others(svc *v1.Service, all []*v1.Service, defaults annotation.Defaults, has func(*v1.Service) bool) []Other {
	var others []Other
	for _, other := range all {
		if isSame(other, svc) || other.Spec.Type != v1.ServiceTypeLoadBalancer || other.Spec.LoadBalancerClass != nil {
			continue
		}
		o := Other{Service: other}
		if o.Has = len(other.Status.LoadBalancer.Ingress) > 0 || has != nil && has(other); o.Has {
			others = append(others, o)
			continue
		}
		var problems []annotation.Problem
		if o.Spec, problems = annotation.Parse(other, defaults); len(problems) == 0 && o.mayGet() {
			others = append(others, o)
		}
	}
	return others
}

// mayGet tells whether the Service asks for a load balancer now.
func (o Other) mayGet() bool {
	return !o.Spec.Disowned && !o.Spec.DryRun && o.Service.DeletionTimestamp == nil
}

// isSame tells whether both are states of one Service. One that is only about to
// be made has no UID yet.
func isSame(a, b *v1.Service) bool {
	return a.Namespace == b.Namespace && a.Name == b.Name
}

func (l Limit) counts() bool { return l.Max != nil || l.MaxPerNamespace != nil }

// tally counts the load balancers under each limit.
type tally struct {
	limits   Limits
	labelsOf func(string) labels.Set
	all      []int
	inside   []map[string]int
}

// checkCounts refuses a Service that has no load balancer yet where there are
// as many as may be, or where older Services that wait will have the last.
func (l Limits) checkCounts(r Request) []annotation.Problem {
	if !l.NeedOthers() {
		return nil
	}
	t := &tally{limits: l, labelsOf: r.Namespace, all: make([]int, len(l)), inside: make([]map[string]int, len(l))}
	var waiting []Other
	for _, other := range r.Others {
		switch {
		case other.Has:
			t.take(other.Service.Namespace)
		case precedes(other.Service, r.Service):
			waiting = append(waiting, other)
		}
	}
	slices.SortFunc(waiting, func(a, b Other) int {
		if precedes(a.Service, b.Service) {
			return -1
		}
		return 1
	})
	for _, other := range waiting {
		if t.admits(other, r) {
			t.take(other.Service.Namespace)
		}
	}
	return t.problems(r.Service.Namespace)
}

// precedes tells whether a comes before b. A Service that is only about to be
// made comes last.
func precedes(a, b *v1.Service) bool {
	if a.CreationTimestamp.IsZero() != b.CreationTimestamp.IsZero() {
		return b.CreationTimestamp.IsZero()
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return cmp.Or(cmp.Compare(a.UID, b.UID), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)) < 0
}

func (t *tally) take(namespace string) {
	for i, limit := range t.limits {
		if !limit.counts() || !limit.concerns(namespace, t.labelsOf) {
			continue
		}
		t.all[i]++
		if t.inside[i] == nil {
			t.inside[i] = map[string]int{}
		}
		t.inside[i][namespace]++
	}
}

// admits tells whether another Service that waits gets its load balancer: one
// that is refused itself must not hold up those of other namespaces.
func (t *tally) admits(other Other, r Request) bool {
	if len(t.problems(other.Service.Namespace)) > 0 {
		return false
	}
	its := Request{Service: other.Service, Spec: other.Spec, Defaults: r.Defaults, Namespace: r.Namespace}
	return !slices.ContainsFunc(t.limits, func(limit Limit) bool {
		return limit.concerns(other.Service.Namespace, t.labelsOf) && len(limit.check(its)) > 0
	})
}

// problems tells why no further load balancer may be made in the namespace.
func (t *tally) problems(namespace string) []annotation.Problem {
	var problems []annotation.Problem
	refuse := func(limit Limit, most int, where string) {
		problems = append(problems, annotation.Problem{Field: FieldType, Value: string(v1.ServiceTypeLoadBalancer), Allowed: fmt.Sprintf(
			"must be another type until another load balancer goes: there may be at most %d in %s, and there are as many, or older Services wait for them", most, where) + limit.whose()})
	}
	for i, limit := range t.limits {
		if !limit.concerns(namespace, t.labelsOf) {
			continue
		}
		if most := limit.MaxPerNamespace; most != nil && t.inside[i][namespace] >= *most {
			refuse(limit, *most, "the namespace "+namespace)
		}
		if most := limit.Max; most != nil && t.all[i] >= *most {
			refuse(limit, *most, limit.scope())
		}
	}
	return problems
}

// FieldType is the field that refusals for the number of load balancers name.
const FieldType = "spec.type"

// scope names the limit's namespaces for people.
func (l Limit) scope() string {
	if l.Namespaces == nil {
		return "the cluster"
	}
	return fmt.Sprintf("the namespaces with the labels %q", l.Namespaces)
}
