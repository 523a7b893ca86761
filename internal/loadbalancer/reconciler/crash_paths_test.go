package reconciler

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/simulator"
)

// crashPath is something that takes the manager writes.
type crashPath struct {
	// before makes the world in which the path begins; nil: there is nothing.
	before func(*crashing)
	walk   func(*crashing)
	// writes are those of an undisturbed process.
	writes []string
	// balancers is how many there are in the end, but for the stranger's.
	balancers   int
	keepMissing bool
}

// user changes the Service "web", or makes it.
func (c *crashing) user(change func(*v1.Service)) {
	c.t.Helper()
	api := c.kube.CoreV1().Services("default")
	svc, err := api.Get(c.t.Context(), "web", metav1.GetOptions{})
	if err == nil {
		if change(svc); svc.Spec.Type != v1.ServiceTypeLoadBalancer {
			svc.Status.LoadBalancer = v1.LoadBalancerStatus{} // the API server's work
		}
		_, err = api.Update(c.t.Context(), svc, metav1.UpdateOptions{})
	} else {
		svc = webService(map[string]string{})
		change(svc)
		_, err = api.Create(c.t.Context(), svc, metav1.CreateOptions{})
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// annotated sets annotations, and removes those that are empty.
func annotated(pairs ...string) func(*crashing) {
	return func(c *crashing) {
		c.t.Helper()
		c.user(func(svc *v1.Service) {
			for i := 0; i < len(pairs); i += 2 {
				svc.Annotations[pairs[i]] = pairs[i+1]
			}
			maps.DeleteFunc(svc.Annotations, func(_, value string) bool { return value == "" })
		})
	}
}

func deleted(c *crashing) {
	c.t.Helper()
	now := metav1.Now()
	c.user(func(svc *v1.Service) { svc.DeletionTimestamp = &now })
}

func retyped(c *crashing) {
	c.t.Helper()
	c.user(func(svc *v1.Service) { svc.Spec.Type = v1.ServiceTypeClusterIP })
}

// both does one thing after the other.
func both(first, then func(*crashing)) func(*crashing) {
	return func(c *crashing) {
		c.t.Helper()
		first(c)
		then(c)
	}
}

func joined(c *crashing) {
	c.addNode(simulator.DropletSpec{Name: "w2"})
	c.nodesChanged()
}

func left(c *crashing) {
	c.removeNode("w")
	c.nodesChanged()
}

// nodesChanged is told by the framework.
func (c *crashing) nodesChanged() {
	if err := c.UpdateLoadBalancer(c.ctx, "", c.web(), nil); err != nil {
		c.t.Fatal(err)
	}
}

// others has a load balancer made by others taken up.
func others(pairs ...string) func(*crashing) {
	return func(c *crashing) {
		c.t.Helper()
		lb, _ := c.terraform()
		annotated(append(pairs, annotation.LoadBalancerID, lb.ID)...)(c)
	}
}

// targeting has the next process use a tag, or droplets' ids.
func targeting(tag bool) func(*crashing) {
	return func(c *crashing) {
		c.t.Helper()
		c.byTag = tag
		c.again()
	}
}

// stripped leaves "web" as the public manager would, whose load balancer differs.
func stripped(c *crashing) {
	c.t.Helper()
	c.byHand(c.mine().ID, func(lb *simulator.LoadBalancer) { lb.Tags, lb.SizeUnit = []string{"k8s:c1"}, 3 })
	annotated(annotation.DefaultsVersion, "")(c)
	c.again()
}

// Writes.
const (
	post   = "POST load_balancers"
	put    = "PUT load_balancers/*"
	remove = "DELETE load_balancers/*"
	add    = "POST load_balancers/*/droplets"
	take   = "DELETE load_balancers/*/droplets"
	tag    = "POST tags/*/resources"
	untag  = "DELETE tags/*/resources"
	// patch is the manager's, status also the framework's, finalizers with it.
	patch  = "patch services"
	status = "patch services/status"
)

func crashPaths() map[string]crashPath {
	web, retained := annotated(), annotated(annotation.RetainOnDelete, "true")
	disowned := settled(web, annotated(annotation.Disown, "true", annotation.SizeUnit, "3"))
	managed := others(annotation.Manage, annotation.ManageBackends)
	again := []string{status, post, patch, remove, patch, post, patch, status}
	return map[string]crashPath{
		"created":             {nil, web, []string{status, post, patch, status}, 1, false},
		"errored":             {nil, both(errored, web), again, 1, false},
		"errored, strict":     {nil, both(errored, web), again, 1, true},
		"settings changed":    {web, annotated(annotation.DenyRules, "ip:203.0.113.9", annotation.Name, "shop"), []string{put}, 1, false},
		"resized":             {web, annotated(annotation.SizeUnit, "3"), []string{put}, 1, false},
		"changed by hand":     {web, resizedByHand, []string{put}, 1, false},
		"deleted by hand":     {web, deletedByHand, []string{post, patch, status}, 1, false},
		"backend added":       {web, joined, []string{add}, 1, false},
		"backend removed":     {both(joinedFirst, web), left, []string{take}, 1, false},
		"backends exchanged":  {web, both(joined, left), []string{put}, 1, false},
		"certificate renewed": {secured, renewed, []string{patch}, 1, false},

		"retyped":            {web, retyped, []string{remove, patch, status}, 0, false},
		"retyped and back":   {settled(web, retyped), typedBack, []string{status, post, patch, status}, 1, false},
		"retyped, retained":  {retained, retyped, []string{take, untag, untag, status}, 1, false},
		"retyped, disowned":  {disowned, retyped, []string{status}, 1, false},
		"deleted":            {web, deleted, []string{remove, status, status}, 0, false},
		"deleted while made": {nil, both(web, deletedWhileMade), []string{status, post, patch, remove, status}, 0, false},
		"deleted, retained":  {retained, deleted, []string{take, untag, untag, status, status}, 1, false},
		"deleted, disowned":  {disowned, deleted, []string{status, status}, 1, false},
		"disowned":           {web, both(annotated(annotation.Disown, "true", annotation.SizeUnit, "3"), joined), nil, 1, false},
		"disowned no more":   {disowned, annotated(annotation.Disown, ""), []string{put}, 1, false},

		"taken over":        {nil, others(), []string{status, patch, put, patch, status}, 1, false},
		"backends managed":  {nil, managed, []string{status, patch, add, status}, 1, false},
		"backends released": {managed, deleted, []string{take, status, status}, 1, false},
		"first contact":     {web, stripped, []string{put, patch}, 1, false},
		"id stripped":       {web, annotated(annotation.LoadBalancerID, ""), []string{patch}, 1, false},
		"all stripped":      {web, annotated(annotation.LoadBalancerID, "", annotation.Type, "", annotation.DefaultsVersion, ""), []string{patch}, 1, false},

		"tag targeted":            {web, targeting(true), []string{tag, "POST tags", tag, put}, 1, false},
		"tag targeted, new Node":  {both(targeting(true), web), joined, []string{tag}, 1, false},
		"tag targeted, Node goes": {both(joinedFirst, both(targeting(true), web)), left, []string{untag}, 1, false},
		"tag targeted no more":    {both(targeting(true), web), targeting(false), []string{put, "DELETE tags/*"}, 1, false},

		"ciphers asked for":         {secured, annotated(annotation.TLSCipherPolicy, annotation.CiphersStrong), []string{patch, put}, 1, false},
		"ciphers asked for no more": {both(secured, annotated(annotation.TLSCipherPolicy, annotation.CiphersStrong)), annotated(annotation.TLSCipherPolicy, ""), []string{put, patch}, 1, false},
		"dry run":                   {web, annotated(annotation.DryRun, "true", annotation.SizeUnit, "3"), []string{patch}, 1, false},
		"dry run is over":           {settled(web, annotated(annotation.DryRun, "true", annotation.SizeUnit, "3")), annotated(annotation.DryRun, ""), []string{patch, put}, 1, false},
	}
}

// settled does one thing, and the other when all has come of it.
func settled(first, then func(*crashing)) func(*crashing) {
	return func(c *crashing) {
		c.t.Helper()
		first(c)
		c.live()
		then(c)
	}
}

func typedBack(c *crashing) {
	c.t.Helper()
	c.user(func(svc *v1.Service) { svc.Spec.Type = v1.ServiceTypeLoadBalancer })
}

func deletedWhileMade(c *crashing) {
	c.t.Helper()
	c.framework()
	deleted(c)
}

func joinedFirst(c *crashing) { c.addNode(simulator.DropletSpec{Name: "w2"}) }

func errored(c *crashing) {
	c.sim.AddFault(simulator.Fault{Method: "POST", Path: "/v2/load_balancers", Count: 1, Errored: true})
}

func resizedByHand(c *crashing) { c.byHand(c.mine().ID, resized) }

func deletedByHand(c *crashing) {
	if err := c.sim.DeleteLoadBalancer(c.mine().ID); err != nil {
		c.t.Fatal(err)
	}
}

func secured(c *crashing) {
	annotated(annotation.Type, annotation.TypeRegional, annotation.TLSPorts, "443", annotation.CertificateID, c.letsEncrypt("shop"))(c)
}

func renewed(c *crashing) { c.renew(c.web().Annotations[annotation.CertificateID]) }
