package admission

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/loadbalancer/reconciler"
)

const (
	// balancerAge is how old the known state of a load balancer may be: several
	// edits one after the other cost one read.
	balancerAge = 10 * time.Second
	// listAge is the same of a list of all.
	listAge = time.Minute

	balancersPath = "v2/load_balancers"
)

// unchecked notes that DigitalOcean could not be asked.
func (v *Verdict) unchecked(err error) {
	if v.Unchecked == "" {
		v.Unchecked = string(doapi.Classify(err))
	}
}

// canAsk tells whether DigitalOcean's opinion matters still, and can be had.
func (v *Verdict) canAsk() bool { return len(v.Errors) == 0 && v.Unchecked == "" && !v.foreign }

// locate finds the load balancer that the Service will act on: the one that it
// names, the one that it named before, or the one that was made for it. It is
// nil where there is none, or where it is another Service's.
func (j *Judge) locate(ctx context.Context, v *Verdict, req request, spec annotation.Spec) (*godo.LoadBalancer, error) {
	id, isNew := spec.LoadBalancerID, true
	if req.old != nil {
		before, _ := annotation.Parse(req.old, j.defaults)
		isNew = id != before.LoadBalancerID
		if id == "" {
			id = before.LoadBalancerID
		}
	}
	if id == "" {
		if req.created {
			return nil, nil // nothing can have its UID
		}
		return j.ownOf(ctx, req.svc)
	}
	// That another Service names it needs no call.
	if j.belongsToAnother(v, req.svc, &godo.LoadBalancer{ID: id}, isNew) {
		return nil, nil
	}
	lb, err := j.balancers.Get(ctx, id, balancerAge, func() []string { return nil })
	if doapi.IsNotFound(err) {
		if isNew && spec.LoadBalancerID != "" {
			v.warn("%s: load balancer %s doesn't exist; a new one is made, with a new address", path(annotation.LoadBalancerID), id)
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if j.belongsToAnother(v, req.svc, lb, isNew) {
		return nil, nil
	}
	if isNew && !reconciler.IsOwn(req.svc, lb) {
		for _, p := range loadbalancer.CheckTakeOver(lb.ID, reconciler.SettingsOf(lb), j.cluster) {
			v.refuse(p)
		}
	}
	return lb, nil
}

// ownOf finds the load balancer that was made for the Service.
func (j *Judge) ownOf(ctx context.Context, svc *v1.Service) (*godo.LoadBalancer, error) {
	all, err := j.balancers.All(ctx, listAge)
	if err != nil {
		return nil, err
	}
	for _, lb := range all {
		if reconciler.IsOwn(svc, lb) {
			return lb, nil
		}
	}
	return nil, nil
}

// belongsToAnother refuses a load balancer that another Service has, if it is
// this request that names it.
func (j *Judge) belongsToAnother(v *Verdict, svc *v1.Service, lb *godo.LoadBalancer, isNew bool) bool {
	owner := reconciler.OwnerBefore(svc, lb, j.services)
	if owner == nil {
		return false
	}
	v.foreign = true
	if !isNew {
		v.warn("%s: load balancer %s belongs to Service %s/%s; the manager doesn't touch it for this one", path(annotation.LoadBalancerID), lb.ID, owner.Namespace, owner.Name)
		return true
	}
	v.forbid(annotation.LoadBalancerID, "load balancer %s belongs to Service %s/%s, and serves one Service: remove the annotation to get another, give one Service all the ports, or put an Ingress or Gateway in front of several",
		lb.ID, owner.Namespace, owner.Name)
	return true
}

// unresolved stands for a certificate that can't be looked up now, so that the
// other rules can be judged.
const unresolved = "unresolved"

// certificates are the ids of the Service's certificates as far as they can be
// told, of all ports and of those with their own.
func (j *Judge) certificates(ctx context.Context, v *Verdict, req request, lb *godo.LoadBalancer) loadbalancer.Inputs {
	spec, _ := annotation.Parse(req.svc, j.defaults)
	isOwn := func(port int) bool { _, own := spec.PortCertificates[port]; return own }
	in := loadbalancer.Inputs{Cluster: j.cluster, PortCertificateIDs: map[int]string{}}
	in.CertificateID = j.certificate(ctx, v, spec.Certificate(), certificateOf(lb, func(port int) bool { return !isOwn(port) }))
	for _, port := range slices.Sorted(maps.Keys(spec.PortCertificates)) {
		in.PortCertificateIDs[port] = j.certificate(ctx, v, spec.PortCertificates[port], certificateOf(lb, func(p int) bool { return p == port }))
	}
	return in
}

// certificate is the id of a certificate as far as it can be told; current is that
// of the one in use in its place.
func (j *Judge) certificate(ctx context.Context, v *Verdict, named annotation.Certificate, current string) string {
	switch {
	case named.ID != "" && current != "" && named.ID != current:
		return j.renewed(ctx, v, named.ID, current)
	case named.ID != "":
		return named.ID
	case named.Name == "":
		return ""
	case !v.canAsk():
		return unresolved
	}
	found, _, err := j.client.Certificates.ListByName(ctx, named.Name, nil)
	if err != nil {
		v.unchecked(err)
		return unresolved
	}
	for _, c := range found {
		if c.Name == named.Name {
			return c.ID
		}
	}
	return "" // which the rules that need it refuse
}

// renewed is the certificate in use where the one that the Service names is no
// more: an applied manifest still has the id from before a renewal, which the
// manager will put right.
func (j *Judge) renewed(ctx context.Context, v *Verdict, named, current string) string {
	if !v.canAsk() {
		return named
	}
	_, _, err := j.client.Certificates.Get(ctx, named)
	switch {
	case doapi.IsNotFound(err):
		return current
	case err != nil:
		v.unchecked(err)
	}
	return named
}

// certificateOf is the id of the certificate that the load balancer has at these
// entry ports.
func certificateOf(lb *godo.LoadBalancer, at func(port int) bool) string {
	if lb == nil {
		return ""
	}
	for _, rule := range lb.ForwardingRules {
		if rule.CertificateID != "" && at(rule.EntryPort) {
			return rule.CertificateID
		}
	}
	return ""
}

// askCreate asks whether DigitalOcean would make the load balancer.
func (j *Judge) askCreate(ctx context.Context, v *Verdict, desired loadbalancer.Desired) {
	j.ask(ctx, v, http.MethodPost, balancersPath, reconciler.CreateRequest(desired))
}

// askUpdate asks whether DigitalOcean would change the load balancer. Its
// backends stay as they are: they are not the Service's to say.
func (j *Judge) askUpdate(ctx context.Context, v *Verdict, lb *godo.LoadBalancer, desired loadbalancer.Desired) {
	actual := reconciler.SettingsOf(lb)
	for _, field := range []string{loadbalancer.FieldDroplets, loadbalancer.FieldTag} {
		desired.Settings = loadbalancer.Without(desired.Settings, actual, field)
	}
	j.ask(ctx, v, http.MethodPut, balancersPath+"/"+url.PathEscape(lb.ID), reconciler.UpdateRequest(lb, desired))
}

// ask has a request validated. The answer's body is of no interest, so nothing
// is made of it: it is not documented.
func (j *Judge) ask(ctx context.Context, v *Verdict, method, path string, body *godo.LoadBalancerRequest) {
	body.ValidateOnly = true
	req, err := j.client.NewRequest(ctx, method, path, body)
	if err == nil {
		_, err = j.client.Do(ctx, req, nil)
	}
	switch class := doapi.Classify(err); {
	case class == doapi.ClassNone:
	case class == doapi.ClassUser && isTemporary(err):
		v.warn("metadata.annotations: DigitalOcean refuses this for now, and the manager will try again: %s", doapi.Message(err))
	case class == doapi.ClassUser:
		v.forbid("metadata.annotations", "DigitalOcean refuses the load balancer: %s", doapi.Message(err))
	default:
		if class == doapi.ClassAccount {
			v.warn("DigitalOcean could not check the load balancer: %s", doapi.Message(err))
		}
		v.unchecked(err)
	}
}

// isTemporary recognises the refusal of a resize that comes too soon after the
// last one, of which only the text tells.
func isTemporary(err error) bool {
	return strings.Contains(strings.ToLower(doapi.Message(err)), "resize")
}
