package simulator

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

func addDropletRoutes(t *router) {
	t.add(http.MethodGet, "/v2/droplets", lagging(listDroplets))
	t.add(http.MethodPost, "/v2/droplets", createDroplets)
	t.add(http.MethodDelete, "/v2/droplets", deleteDropletsByTag)
	// Literal paths first: "actions" is no id.
	t.add(http.MethodPost, "/v2/droplets/actions", postActionsByTag)
	t.add(http.MethodGet, "/v2/droplets/{id}", getDroplet)
	t.add(http.MethodDelete, "/v2/droplets/{id}", deleteDroplet)
	t.add(http.MethodGet, "/v2/droplets/{id}/backups/policy", getBackupPolicy)
}

// droplet finds the droplet that the path names among the team's.
func (c *call) droplet() (*droplet, error) {
	id, err := strconv.Atoi(c.params["id"])
	if err != nil {
		return nil, notFound()
	}
	return c.team.droplets.find(id)
}

func getDroplet(c *call) (reply, error) {
	d, err := c.droplet()
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, map[string]any{"droplet": c.readDroplet(d)})
}

func deleteDroplet(c *call) (reply, error) {
	d, err := c.droplet()
	if err != nil {
		return reply{}, err
	}
	c.s.removeDroplet(c.team, d)
	return noContent()
}

func deleteDropletsByTag(c *call) (reply, error) {
	name := c.query.Get("tag_name")
	if name == "" {
		return reply{}, parameterMissing("tag_name")
	}
	for _, d := range slices.Clone(c.team.dropletsTagged(name)) {
		c.s.removeDroplet(c.team, d)
	}
	return noContent()
}

func listDroplets(c *call) (reply, error) {
	matches, err := dropletFilter(c)
	if err != nil {
		return reply{}, err
	}
	found := make([]*droplet, 0, c.team.droplets.len())
	for d := range c.team.droplets.newest() {
		if matches(d) {
			found = append(found, d)
		}
	}
	return list(c, "droplets", found, c.readDroplet)
}

func dropletFilter(c *call) (func(*droplet) bool, error) {
	tagName, name, kind := c.query.Get("tag_name"), c.query.Get("name"), c.query.Get("type")
	switch {
	case tagName != "" && (name != "" || kind != ""):
		return nil, unprocessable("tag_name cannot be combined with name or type")
	case kind != "" && kind != "droplets" && kind != "gpus":
		return nil, unprocessable("type must be one of droplets, gpus")
	case tagName != "":
		// A set of droplets: the tag index has only those that carry the tag.
		tagged := map[int]bool{}
		for _, d := range c.team.dropletsTagged(tagName) {
			tagged[d.ID] = true
		}
		return func(d *droplet) bool { return tagged[d.ID] }, nil
	}
	gpu := kind == "gpus"
	return func(d *droplet) bool {
		return d.gpu == gpu && (name == "" || strings.EqualFold(d.Name, name))
	}, nil
}
