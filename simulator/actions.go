package simulator

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	textPendingEvent = "Droplet already has a pending event."
	textMustBeOff    = "Droplet is currently on. Please power it off to run this event."
)

// Action is a piece of work on a droplet as the API shows it.
type Action struct {
	ID           int        `json:"id"`
	Status       string     `json:"status"` // in-progress, completed or errored
	Type         string     `json:"type"`
	StartedAt    time.Time  `json:"started_at"`
	CompletedAt  *time.Time `json:"completed_at"`
	ResourceID   int        `json:"resource_id"`
	ResourceType string     `json:"resource_type"`
	Region       *Region    `json:"region"`
	RegionSlug   string     `json:"region_slug"`
}

// action is an Action with what it does when its time has come.
type action struct {
	Action
	droplet    *droplet
	completeAt time.Time
	effect     func(*droplet)
}

func (a *action) show(now time.Time) Action {
	v := a.Action
	if !now.Before(a.completeAt) {
		v.Status = "completed"
		completed := a.completeAt.Truncate(time.Second)
		v.CompletedAt = &completed
	}
	return v
}

func (s *Simulator) recordAction(t *team, d *droplet, kind string, now, completeAt time.Time) *action {
	s.lastActionID++
	a := &action{
		Action: Action{
			ID: s.lastActionID, Status: "in-progress", Type: kind, StartedAt: now.Truncate(time.Second),
			ResourceID: d.ID, ResourceType: "droplet", Region: d.Region, RegionSlug: d.Region.Slug,
		},
		droplet: d, completeAt: completeAt,
	}
	t.actions.add(a.ID, a)
	return a
}

// settleActions lets the actions take effect whose time has come.
func (s *Simulator) settleActions(now time.Time) {
	if len(s.running) == 0 {
		return
	}
	s.running = slices.DeleteFunc(s.running, func(a *action) bool {
		if now.Before(a.completeAt) {
			return false
		}
		a.effect(a.droplet)
		a.droplet.pendingAction = nil
		return true
	})
}

func addActionRoutes(t *router) {
	t.add(http.MethodPost, "/v2/droplets/{id}/actions", postAction)
	t.add(http.MethodGet, "/v2/droplets/{id}/actions", listDropletActions)
	t.add(http.MethodGet, "/v2/droplets/{id}/actions/{action}", getDropletAction)
	t.add(http.MethodGet, "/v2/actions", listActions)
	t.add(http.MethodGet, "/v2/actions/{action}", getAction)
}

// actionRequest is the body of a POST to a droplet's actions.
type actionRequest struct {
	Type string `json:"type"`
	Size string `json:"size"`
	Disk bool   `json:"disk"`
	Name string `json:"name"`
}

func postAction(c *call) (reply, error) {
	d, err := c.droplet()
	if err != nil {
		return reply{}, err
	}
	var req actionRequest
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	effect, err := c.plan(d, req)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusCreated, map[string]any{"action": c.start(d, req.Type, effect)})
}

// postActionsByTag acts on every droplet of a tag, or on none.
func postActionsByTag(c *call) (reply, error) {
	name := c.query.Get("tag_name")
	if name == "" {
		return reply{}, parameterMissing("tag_name")
	}
	var req actionRequest
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	if !slices.Contains([]string{"power_cycle", "power_on", "power_off", "shutdown"}, req.Type) {
		return reply{}, unprocessable("type %q is not available by tag", req.Type)
	}
	droplets := c.team.dropletsTagged(name)
	effects := make([]func(*droplet), len(droplets))
	for i, d := range droplets {
		effect, err := c.plan(d, req)
		if err != nil {
			return reply{}, err
		}
		effects[i] = effect
	}
	shown := []Action{}
	for i, d := range droplets {
		shown = append(shown, c.start(d, req.Type, effects[i]))
	}
	return jsonReply(http.StatusCreated, map[string]any{"actions": shown})
}

// start begins an action; the answer always shows it in progress.
func (c *call) start(d *droplet, kind string, effect func(*droplet)) Action {
	a := c.s.recordAction(c.team, d, kind, c.now, c.now.Add(c.s.settings.ActionDuration))
	a.effect = effect
	d.pendingAction = a
	c.s.running = append(c.s.running, a)
	return a.Action
}

// plan checks an action and returns what it will do.
func (c *call) plan(d *droplet, req actionRequest) (func(*droplet), error) {
	if d.pendingAction != nil || !d.ready(c.now) {
		return nil, unprocessable(textPendingEvent)
	}
	off := d.Status == statusOff
	switch req.Type {
	case "power_on":
		if !off {
			return nil, unprocessable("Droplet is already powered on")
		}
		return func(d *droplet) { d.Status = statusActive }, nil
	case "power_off", "shutdown":
		if off {
			return nil, unprocessable("Droplet is already powered off")
		}
		return func(d *droplet) { d.Status = statusOff }, nil
	case "reboot":
		if off {
			return nil, unprocessable("Droplet is currently off. Please power it on to run this event.")
		}
		return func(*droplet) {}, nil
	case "power_cycle":
		return func(d *droplet) { d.Status = statusActive }, nil
	case "rename":
		return planRename(req.Name)
	case "resize":
		return c.planResize(d, req)
	}
	return nil, unprocessable("%s is not a valid action type", orElse(req.Type, "an empty type"))
}

func planRename(name string) (func(*droplet), error) {
	if len(name) > 255 || !dropletName.MatchString(name) {
		return nil, unprocessable("Name Only valid hostname characters are allowed. (a-z, A-Z, 0-9, . and -)")
	}
	return func(d *droplet) { d.Name = name }, nil
}

func (c *call) planResize(d *droplet, req actionRequest) (func(*droplet), error) {
	size, ok := c.s.catalog.sizes.get(req.Size)
	switch {
	case d.Status != statusOff:
		return nil, unprocessable(textMustBeOff)
	case !ok:
		return nil, unprocessable("You specified an invalid size for Droplet creation.")
	case !slices.Contains(size.Regions, d.Region.Slug):
		return nil, unprocessable("Size is not available in this region.")
	case size.Disk < d.Disk:
		return nil, unprocessable("Size can not decrease size of Droplet's disk image")
	}
	return func(d *droplet) { d.resize(size, req.Disk) }, nil
}

func listActions(c *call) (reply, error) {
	return listActionsOf(c, func(*action) bool { return true })
}

func listDropletActions(c *call) (reply, error) {
	d, err := c.droplet()
	if err != nil {
		return reply{}, err
	}
	return listActionsOf(c, func(a *action) bool { return a.ResourceID == d.ID })
}

func listActionsOf(c *call, matches func(*action) bool) (reply, error) {
	found := []*action{}
	for a := range c.team.actions.newest() {
		if matches(a) {
			found = append(found, a)
		}
	}
	return list(c, "actions", found, func(a *action) Action { return a.show(c.now) })
}

func getAction(c *call) (reply, error) {
	id, err := strconv.Atoi(c.params["action"])
	if err != nil {
		return reply{}, notFound()
	}
	a, ok := c.team.actions.get(id)
	if !ok || strings.HasPrefix(c.path, "/v2/droplets/") && strconv.Itoa(a.ResourceID) != c.params["id"] {
		return reply{}, notFound()
	}
	return jsonReply(http.StatusOK, map[string]any{"action": a.show(c.now)})
}

func getDropletAction(c *call) (reply, error) {
	if _, err := c.droplet(); err != nil {
		return reply{}, err
	}
	return getAction(c)
}
