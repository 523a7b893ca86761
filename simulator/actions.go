package simulator

import (
	"encoding/json"
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
	ResourceID   *int       `json:"resource_id"` // nil for volumes
	ResourceType string     `json:"resource_type"`
	Region       *Region    `json:"region"`
	RegionSlug   string     `json:"region_slug"`
}

// action is an Action with what it does when its time has come.
type action struct {
	Action
	completeAt time.Time
	// reads is how often it has to be read before it completes.
	reads int
	// An action is a request on a droplet, or the assignment of a reserved
	// address or volume to the droplet assignee, 0 for none.
	droplet  *droplet
	request  actionRequest
	reserved *reservedIP
	volume   *volume
	// gigabytes is the volume's size when the action has completed.
	gigabytes int
	assignee  int
}

func (a *action) show(now time.Time) Action {
	v := a.Action
	if a.done(now) {
		v.Status = "completed"
		completed := a.completeAt.Truncate(time.Second)
		v.CompletedAt = &completed
	}
	return v
}

// done tells whether it has completed; a creation, whether the droplet is ready.
func (a *action) done(now time.Time) bool {
	creating := a.droplet != nil && a.Type == "create" && a.droplet.reads > 0
	return a.reads == 0 && !creating && !now.Before(a.completeAt)
}

// readAction is show for what counts as a read.
func (c *call) readAction(a *action) Action {
	v := a.show(c.now)
	c.countRead(&a.reads)
	if a.droplet != nil && a.Type == "create" {
		c.countRead(&a.droplet.reads)
	}
	return v
}

// countRead counts down how often something still has to be read.
func (c *call) countRead(left *int) {
	if *left == 0 || c.past {
		return
	}
	*left--
	c.s.mark(c.now)
}

func (s *Simulator) recordAction(t *team, d *droplet, kind string, now, completeAt time.Time) *action {
	s.lastActionID++
	a := &action{
		Action: Action{
			ID: s.lastActionID, Status: "in-progress", Type: kind, StartedAt: now.Truncate(time.Second),
			ResourceID: new(d.ID), ResourceType: "droplet", Region: d.Region, RegionSlug: d.Region.Slug,
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
		if !a.done(now) {
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
	// Image is a slug or an id.
	Image        json.RawMessage `json:"image,omitempty"`
	BackupPolicy *BackupPolicy   `json:"backup_policy,omitempty"`
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
	if !slices.Contains(actionsByTag, req.Type) {
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
	a.request, a.reads = req, c.s.settings.ActivationReads
	d.pendingAction = a
	c.s.running = append(c.s.running, a)
	return a.Action
}

// complete does what an action was begun for.
func (s *Simulator) complete(a *action) {
	if a.volume != nil {
		s.completeVolume(a)
		return
	}
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
	case "rebuild":
		d.Image = s.catalog.imageFor(imageRef(req.Image))
		d.Status = statusActive
	case "enable_ipv6":
		d.Networks.V6 = []NetworkV6{publicV6(s.addresses.take(dropletPrefix6))}
		d.setFeature(featureIPv6, true)
	case "enable_backups", "disable_backups", "change_backup_policy":
		d.setBackups(req)
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
	return list(c, "actions", found, c.readAction)
}

func getAction(c *call) (reply, error) {
	id, err := strconv.Atoi(c.params["action"])
	if err != nil {
		return reply{}, notFound()
	}
	a, ok := c.team.actions.get(id)
	if !ok || strings.HasPrefix(c.path, "/v2/droplets/") && (a.ResourceID == nil || strconv.Itoa(*a.ResourceID) != c.params["id"]) {
		return reply{}, notFound()
	}
	return jsonReply(http.StatusOK, map[string]any{"action": c.readAction(a)})
}

func getDropletAction(c *call) (reply, error) {
	if _, err := c.droplet(); err != nil {
		return reply{}, err
	}
	return getAction(c)
}
