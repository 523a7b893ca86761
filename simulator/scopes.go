package simulator

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
)

// owner is whom a token belongs to and what it may do.
type owner struct {
	team string
	// scopes is empty for a token that may do everything.
	scopes []string
}

// scopeResources names what scopes call the resource of a path's first segment.
var scopeResources = map[string]string{
	"account": "account", "actions": "actions", "certificates": "certificate", "droplets": "droplet",
	"firewalls": "firewall", "images": "image", "volumes": "block_storage", "snapshots": "snapshot", "load_balancers": "load_balancer", "projects": "project", "regions": "regions",
	"reserved_ips": "reserved_ip", "floating_ips": "reserved_ip", "reserved_ipv6": "reserved_ip", "sizes": "sizes", "tags": "tag", "vpcs": "vpc",
}

// scopeVerbs maps methods to verbs for whole objects.
var scopeVerbs = map[string]string{
	http.MethodGet: "read", http.MethodHead: "read", http.MethodPost: "create",
	http.MethodPut: "update", http.MethodPatch: "update", http.MethodDelete: "delete",
}

// scopeFor is the scope that an operation needs.
func scopeFor(method, requestPath string) string {
	segments := strings.Split(strings.TrimPrefix(requestPath, "/v2/"), "/")
	resource, verb, last := scopeResources[segments[0]], scopeVerbs[method], segments[len(segments)-1]
	switch {
	case segments[0] == "account" && len(segments) > 1:
		return "ssh_key:" + verb
	case segments[0] == "volumes" && slices.Contains(segments, "snapshots"):
		return "block_storage_snapshot:" + verb
	case resource == "block_storage" && slices.Contains(segments, "actions"):
		return "block_storage_action:" + verb
	case verb == "read" && segments[0] == "droplets" && last == "firewalls" && len(segments) == 3:
		resource = "firewall"
	case verb == "read":
	case resource == "project" && last == "resources":
		verb = "assign_resource"
	case resource == "tag" || resource == "load_balancer" && last == "cache":
		// Tagging is creating, untagging is deleting.
	case len(segments) > 2 || resource == "droplet" && last == "actions":
		// What changes a part of an object is an update of it.
		verb = "update"
	}
	return resource + ":" + verb
}

// may tells whether the token has a scope.
func (o owner) may(scope string) bool {
	return len(o.scopes) == 0 || slices.ContainsFunc(o.scopes, func(pattern string) bool {
		ok, err := path.Match(pattern, scope)
		return ok && err == nil
	})
}

// readOnly tells whether the token can do nothing but read.
func (o owner) readOnly() bool {
	return len(o.scopes) > 0 && !slices.ContainsFunc(o.scopes, func(scope string) bool { return !strings.HasSuffix(scope, ":read") })
}

// authorize refuses an operation that the token has no scope for.
func (c *call) authorize() error {
	scope := scopeFor(c.method, c.path)
	switch {
	case c.s.settings.AccountStatus == accountLocked && scopeVerbs[c.method] != "read":
		return forbidden("Your account is locked. Please contact support.")
	case c.owner.may(scope):
		return nil
	case c.owner.readOnly() && scopeVerbs[c.method] != "read":
		return forbidden("You do not have access for the attempted action.")
	}
	return notAuthorized()
}

func notAuthorized() error { return forbidden("You are not authorized to perform this operation") }

// authorizeFirewall refuses to write a firewall that names what the token may
// not even read.
func (c *call) authorizeFirewall(f *Firewall) error {
	droplets, tags, balancers := len(f.DropletIDs), len(f.Tags), 0
	for _, r := range rulesOf(f.InboundRules, f.OutboundRules) {
		if r.target != nil {
			droplets += len(r.target.DropletIDs)
			tags += len(r.target.Tags)
			balancers += len(r.target.LoadBalancerUIDs)
		}
	}
	if droplets > 0 && !c.owner.may("droplet:read") || tags > 0 && !c.owner.may("tag:read") ||
		balancers > 0 && !c.owner.may("load_balancer:read") {
		return notAuthorized()
	}
	return nil
}

// showDroplet leaves out what the token may not read.
func (c *call) showDroplet(d *droplet) Droplet {
	v := d.show(c.now)
	if !c.owner.may("tag:read") {
		v.Tags = []string{}
	}
	return v
}

// readDroplet is showDroplet for what counts as a read.
func (c *call) readDroplet(d *droplet) Droplet {
	v := c.showDroplet(d)
	c.countRead(&d.reads)
	if d.pendingAction != nil {
		c.countRead(&d.pendingAction.reads)
	}
	return v
}

// validateScopes refuses what would silently never match.
func validateScopes(scopes []string) error {
	for _, scope := range scopes {
		if _, err := path.Match(scope, ""); err != nil || strings.Count(scope, ":") != 1 {
			return fmt.Errorf("scope %q is not like resource:verb", scope)
		}
	}
	return nil
}
