package simulator

import (
	"cmp"
	"net/http"
	"slices"
	"time"
)

const maxProjectText = 255

// Project is a group of resources as the API shows it.
type Project struct {
	ID          string    `json:"id"`
	OwnerUUID   string    `json:"owner_uuid"`
	OwnerID     int       `json:"owner_id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Purpose     string    `json:"purpose"`
	Environment string    `json:"environment"` // Development, Staging, Production or empty
	IsDefault   bool      `json:"is_default"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// purposes are the ones that are not shown as "Other: …".
var purposes = []string{
	"Just trying out DigitalOcean", "Class project / Educational purposes", "Website or blog", "Web Application",
	"Service or API", "Mobile Application", "Machine learning / AI / Data processing", "IoT", "Operational / Developer tooling",
}

// addDefaultProject gives a team the project that everything is in at first.
func (t *team) addDefaultProject(now time.Time) {
	created := now.Truncate(time.Second)
	t.projects.add(t.stableID("project/default"), &Project{
		ID: t.stableID("project/default"), OwnerUUID: t.stableID("account"), OwnerID: 1, Name: t.name,
		Purpose: purposes[0], IsDefault: true, CreatedAt: created, UpdatedAt: created,
	})
}

func (t *team) defaultProjectID() string {
	for p := range t.projects.all() {
		if p.IsDefault {
			return p.ID
		}
	}
	return ""
}

func addProjectRoutes(t *router) {
	t.add(http.MethodGet, "/v2/projects", func(c *call) (reply, error) {
		return list(c, "projects", c.team.projects.items, same[*Project])
	})
	t.add(http.MethodPost, "/v2/projects", createProject)
	t.add(http.MethodGet, "/v2/projects/{id}", getProject)
	t.add(http.MethodPut, "/v2/projects/{id}", updateProject)
	t.add(http.MethodPatch, "/v2/projects/{id}", updateProject)
	t.add(http.MethodDelete, "/v2/projects/{id}", deleteProject)
	t.add(http.MethodGet, "/v2/projects/{id}/resources", listProjectResources)
	t.add(http.MethodPost, "/v2/projects/{id}/resources", assignProjectResources)
}

// project finds the project that the path names, which may be "default".
func (c *call) project() (*Project, error) {
	id := c.params["id"]
	if id == "default" {
		id = c.team.defaultProjectID()
	}
	return c.team.projects.find(id)
}

// projectRequest is the body of POST, PUT and PATCH; nil was not sent.
type projectRequest struct {
	Name        *string `json:"name"`
	Description *string `json:"description"`
	Purpose     *string `json:"purpose"`
	Environment *string `json:"environment"`
	IsDefault   *bool   `json:"is_default"`
}

// apply returns the project as the request would make it.
func (req *projectRequest) apply(p Project) Project {
	set(&p.Name, req.Name)
	set(&p.Description, req.Description)
	set(&p.Environment, req.Environment)
	if req.Purpose != nil {
		p.Purpose = *req.Purpose
		if p.Purpose != "" && !slices.Contains(purposes, p.Purpose) {
			p.Purpose = "Other: " + p.Purpose
		}
	}
	set(&p.IsDefault, req.IsDefault)
	return p
}

func (c *call) validateProject(p, old *Project) error {
	switch {
	case p.Name == "" || len(p.Name) > 175:
		return unprocessable("name must have 1 to 175 characters")
	case len(p.Description) > maxProjectText:
		return unprocessable("description must have at most %d characters", maxProjectText)
	case p.Purpose == "" || len(p.Purpose) > maxProjectText:
		return unprocessable("purpose must have 1 to %d characters", maxProjectText)
	case old != nil && old.IsDefault && !p.IsDefault:
		return unprocessable("is_default cannot be unset; make another project the default")
	}
	for other := range c.team.projects.all() {
		if other.Name == p.Name && other != old {
			return unprocessable("name is not unique")
		}
	}
	return oneOf("environment", cmp.Or(p.Environment, "Development"), "Development", "Staging", "Production")
}

func createProject(c *call) (reply, error) {
	var req projectRequest
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	req.IsDefault = nil
	made := req.apply(Project{})
	if err := c.validateProject(&made, nil); err != nil {
		return reply{}, err
	}
	made.ID, made.OwnerUUID, made.OwnerID = c.s.ids.next(), c.team.stableID("account"), 1
	made.CreatedAt, made.UpdatedAt = c.now.Truncate(time.Second), c.now.Truncate(time.Second)
	c.team.projects.add(made.ID, &made)
	return jsonReply(http.StatusCreated, map[string]any{"project": made})
}

func getProject(c *call) (reply, error) {
	p, err := c.project()
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, map[string]any{"project": p})
}

// updateProject serves PUT, which needs every member, and PATCH.
func updateProject(c *call) (reply, error) {
	p, err := c.project()
	if err != nil {
		return reply{}, err
	}
	var req projectRequest
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	if c.method == http.MethodPut &&
		(req.Name == nil || req.Description == nil || req.Purpose == nil || req.Environment == nil || req.IsDefault == nil) {
		return reply{}, unprocessable("name, description, purpose, environment and is_default are required")
	}
	changed := req.apply(*p)
	if err := c.validateProject(&changed, p); err != nil {
		return reply{}, err
	}
	if changed.IsDefault {
		for other := range c.team.projects.all() {
			other.IsDefault = false
		}
	}
	changed.UpdatedAt = c.now.Truncate(time.Second)
	*p = changed
	return jsonReply(http.StatusOK, map[string]any{"project": p})
}

func deleteProject(c *call) (reply, error) {
	p, err := c.project()
	switch {
	case err != nil:
		return reply{}, err
	case p.IsDefault:
		return reply{}, forbidden("the default project cannot be deleted")
	case len(c.projectResources(p)) > 0:
		return reply{}, &apiError{
			status: http.StatusPreconditionFailed, id: "precondition_failed", message: "cannot delete a project with resources",
		}
	}
	c.team.projects.remove(p.ID)
	return noContent()
}
