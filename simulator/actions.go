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
	completeAt time.Time
	// An action is either a request on a droplet, or the assignment of a
	// reserved address to the droplet assignee, 0 for none.
	droplet  *droplet
	request  actionRequest
	reserved *reservedIP
	assignee int
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
		s.remember(now)
		s.complete(a)
		s.mark(a.completeAt)
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
	Size string `json:"size,omitempty"`
	Disk bool   `json:"disk,omitempty"`
	Name string `json:"name,omitempty"`
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
	if err := c.plan(d, req); err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusCreated, map[string]any{"action": c.start(d, req)})
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
	for _, d := range droplets {
		if err := c.plan(d, req); err != nil {
			return reply{}, err
		}
	}
	shown := []Action{}
	for _, d := range droplets {
		shown = append(shown, c.start(d, req))
	}
	return jsonReply(http.StatusCreated, map[string]any{"actions": shown})
}

// start begins an action; the answer always shows it in progress.
func (c *call) start(d *droplet, req actionRequest) Action {
	a := c.s.recordAction(c.team, d, req.Type, c.now, c.now.Add(c.s.settings.ActionDuration))
	a.request = req
	d.pendingAction = a
	c.s.running = append(c.s.running, a)
	return a.Action
}

// plan checks an action.
func (c *call) plan(d *droplet, req actionRequest) error {
	if d.pendingAction != nil || !d.ready(c.now) {
		return unprocessable(textPendingEvent)
	}
	off := d.Status == statusOff
	switch req.Type {
	case "power_on":
		if !off {
			return unprocessable("Droplet is already powered on")
		}
	case "power_off", "shutdown":
		if off {
			return unprocessable("Droplet is already powered off")
		}
	case "reboot":
		if off {
			return unprocessable("Droplet is currently off. Please power it on to run this event.")
		}
	case "power_cycle":
	case "rename":
		if len(req.Name) > 255 || !dropletName.MatchString(req.Name) {
			return unprocessable("Name Only valid hostname characters are allowed. (a-z, A-Z, 0-9, . and -)")
		}
	case "resize":
		return c.planResize(d, req)
	default:
		return unprocessable("%s is not a valid action type", orElse(req.Type, "an empty type"))
	}
	return nil
}

func (c *call) planResize(d *droplet, req actionRequest) error {
	size, ok := c.s.catalog.sizes.get(req.Size)
	switch {
	case d.Status != statusOff:
		return unprocessable(textMustBeOff)
	case !ok:
		return unprocessable("You specified an invalid size for Droplet creation.")
	case !slices.Contains(size.Regions, d.Region.Slug):
		return unprocessable("Size is not available in this region.")
	case size.Disk < d.Disk:
		return unprocessable("Size can not decrease size of Droplet's disk image")
	}
	return nil
}

// complete does what an action was begun for.
func (s *Simulator) complete(a *action) {
	if a.reserved != nil {
		a.reserved.dropletID, a.reserved.pendingAction = a.assignee, nil
		return
	}
	d, req := a.droplet, a.request
	switch req.Type {
	case "power_on", "power_cycle":
		d.Status = statusActive
	case "power_off", "shutdown":
		d.Status = statusOff
	case "rename":
		d.Name = req.Name
	case "resize":
		d.resize(s.catalog.sizeFor(req.Size), req.Disk)
	}
	d.pendingAction = nil
}

func listActions(c *call) (reply, error) {
	return listActionsOf(c, func(*action) bool { return true })
}

func listDropletActions(c *call) (reply, error) {
	d, err := c.droplet()
	if err != nil {
		return reply{}, err
	}
	return listActionsOf(c, func(a *action) bool { return a.droplet == d })
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
