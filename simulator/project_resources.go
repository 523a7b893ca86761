package simulator

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ProjectResource is a resource of a project as the API shows it.
type ProjectResource struct {
	URN        string            `json:"urn"`
	AssignedAt time.Time         `json:"assigned_at,omitzero"`
	Links      map[string]string `json:"links"`
	Status     string            `json:"status"` // ok, already_assigned or not_found
}

// assignable is what a project can hold.
type assignable struct {
	urn, path string
	// project is where the resource keeps its project's id; empty: the default.
	project *string
	since   time.Time
}

func (d *droplet) assignable() assignable {
	return assignable{fmt.Sprintf("do:droplet:%d", d.ID), fmt.Sprintf("/v2/droplets/%d", d.ID), &d.project, d.CreatedAt}
}

func (lb *loadBalancer) assignable() assignable {
	return assignable{"do:loadbalancer:" + lb.ID, "/v2/load_balancers/" + lb.ID, &lb.ProjectID, lb.CreatedAt}
}

func (r *reservedIP) assignable() assignable {
	if r.v6() {
		return assignable{"do:reservedipv6:" + r.ip, "/v2/reserved_ipv6/" + r.ip, &r.project, r.createdAt}
	}
	return assignable{"do:reservedip:" + r.ip, "/v2/reserved_ips/" + r.ip, &r.project, r.createdAt}
}

func (v *volume) assignable() assignable {
	return assignable{"do:volume:" + v.ID, "/v2/volumes/" + v.ID, &v.project, v.CreatedAt}
}

func (c *call) showAssignable(a assignable, status string) ProjectResource {
	return ProjectResource{
		URN: a.urn, AssignedAt: a.since, Status: status, Links: map[string]string{"self": c.base + a.path},
	}
}

// projectResources lists everything that is in a project.
func (c *call) projectResources(p *Project) []assignable {
	found, standard := []assignable{}, c.team.defaultProjectID()
	collect := func(a assignable) {
		if cmp.Or(*a.project, standard) == p.ID {
			found = append(found, a)
		}
	}
	for d := range c.team.droplets.all() {
		collect(d.assignable())
	}
	for lb := range c.team.loadBalancers.all() {
		collect(lb.assignable())
	}
	for r := range c.team.reservedIPs.all() {
		collect(r.assignable())
	}
	for v := range c.team.volumes.all() {
		collect(v.assignable())
	}
	return found
}

func listProjectResources(c *call) (reply, error) {
	p, err := c.project()
	if err != nil {
		return reply{}, err
	}
	return list(c, "resources", c.projectResources(p), func(a assignable) ProjectResource { return c.showAssignable(a, "ok") })
}

// assignProjectResources moves resources into a project; unknown ones are told
// in the answer, which is no error.
func assignProjectResources(c *call) (reply, error) {
	p, err := c.project()
	if err != nil {
		return reply{}, err
	}
	var req struct {
		Resources []string `json:"resources"`
	}
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	shown := []ProjectResource{}
	for _, urn := range req.Resources {
		a, ok := c.findURN(urn)
		switch {
		case !ok:
			shown = append(shown, ProjectResource{URN: urn, Status: "not_found", Links: map[string]string{}})
		case cmp.Or(*a.project, c.team.defaultProjectID()) == p.ID:
			shown = append(shown, c.showAssignable(a, "already_assigned"))
		default:
			*a.project, a.since = p.ID, c.now.Truncate(time.Second)
			shown = append(shown, c.showAssignable(a, "ok"))
		}
	}
	return jsonReply(http.StatusOK, map[string]any{"resources": shown, "links": links{}, "meta": meta{Total: len(shown)}})
}

func (c *call) findURN(urn string) (assignable, bool) {
	kind, id, _ := strings.Cut(strings.TrimPrefix(urn, "do:"), ":")
	switch kind {
	case "droplet":
		number, err := strconv.Atoi(id)
		if d, ok := c.team.droplets.get(number); ok && err == nil {
			return d.assignable(), true
		}
	case "loadbalancer":
		if lb, ok := c.team.loadBalancers.get(id); ok {
			return lb.assignable(), true
		}
	case "volume":
		if v, ok := c.team.volumes.get(id); ok {
			return v.assignable(), true
		}
	case "reservedip", "reservedipv6", "floatingip":
		if r, ok := c.team.reservedIPs.get(id); ok {
			return r.assignable(), true
		}
	}
	return assignable{}, false
}
