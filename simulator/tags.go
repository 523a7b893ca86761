package simulator

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var tagName = regexp.MustCompile(`^[a-zA-Z0-9_\-:]{1,255}$`)

// tag is a tag with its canonical spelling, which is the first one used.
type tag struct {
	name string
	// Paths of what was tagged last.
	lastDroplet, last string
}

// TagResources counts what carries a tag.
type TagResources struct {
	Count           int      `json:"count"`
	LastTaggedURI   string   `json:"last_tagged_uri,omitempty"`
	Droplets        TagCount `json:"droplets"`
	Images          TagCount `json:"images"`
	Volumes         TagCount `json:"volumes"`
	VolumeSnapshots TagCount `json:"volume_snapshots"`
	Databases       TagCount `json:"databases"`
}

// TagCount counts the resources of one kind that carry a tag.
type TagCount struct {
	Count         int    `json:"count"`
	LastTaggedURI string `json:"last_tagged_uri,omitempty"`
}

// Tag is a tag as the API shows it. Load balancers count in the total only;
// they have no member of their own.
type Tag struct {
	Name      string       `json:"name"`
	Resources TagResources `json:"resources"`
}

// validateTagName refuses in the form that only this service has.
func validateTagName(name string) error {
	if tagName.MatchString(name) {
		return nil
	}
	return &apiError{
		status: http.StatusBadRequest, tagForm: true,
		message: fmt.Sprintf("invalid tag name %q: letters, numbers, colons, dashes and underscores are allowed, at most 255", name),
	}
}

// ensureTag returns the tag, made if it does not exist. Case makes no other tag.
func (t *team) ensureTag(name string) *tag {
	key := strings.ToLower(name)
	found, ok := t.tags.get(key)
	if !ok {
		found = &tag{name: name}
		t.tags.add(key, found)
	}
	return found
}

func (t *team) tagDroplet(d *droplet, with *tag) {
	with.lastDroplet = fmt.Sprintf("/v2/droplets/%d", d.ID)
	with.last = with.lastDroplet
	if !slices.Contains(d.Tags, with.name) {
		d.Tags = append(slices.Clone(d.Tags), with.name)
		t.tagged = nil
	}
}

func (t *team) untagDroplet(d *droplet, name string) {
	d.Tags = without(d.Tags, name)
	t.tagged = nil
}

// retag replaces all tags of a droplet.
func (t *team) retag(d *droplet, names []string) {
	d.Tags = []string{}
	t.tagged = nil
	for _, name := range names {
		t.tagDroplet(d, t.ensureTag(name))
	}
}

// tagLoadBalancer is the same for a load balancer.
func (t *team) tagLoadBalancer(lb *loadBalancer, with *tag) {
	with.last = "/v2/load_balancers/" + lb.ID
	if !slices.Contains(lb.Tags, with.name) {
		lb.Tags = append(slices.Clone(lb.Tags), with.name)
	}
}

// without returns a new slice, for slices here are shared with answers.
func without(names []string, name string) []string {
	kept := []string{}
	for _, n := range names {
		if !strings.EqualFold(n, name) {
			kept = append(kept, n)
		}
	}
	return kept
}

// dropletsTagged returns the droplets that carry a tag, oldest first.
func (t *team) dropletsTagged(name string) []*droplet {
	if t.tagged == nil {
		t.tagged = map[string][]*droplet{}
		for d := range t.droplets.all() {
			for _, n := range d.Tags {
				key := strings.ToLower(n)
				t.tagged[key] = append(t.tagged[key], d)
			}
		}
	}
	return t.tagged[strings.ToLower(name)]
}

func (t *team) showTag(from *tag, base string) Tag {
	v := Tag{Name: from.name}
	droplets := len(t.dropletsTagged(from.name))
	v.Resources.Droplets = TagCount{Count: droplets}
	v.Resources.Count = droplets
	for lb := range t.loadBalancers.all() {
		if slices.Contains(lb.Tags, from.name) {
			v.Resources.Count++
		}
	}
	if droplets > 0 && from.lastDroplet != "" {
		v.Resources.Droplets.LastTaggedURI = base + from.lastDroplet
	}
	if v.Resources.Count > 0 && from.last != "" {
		v.Resources.LastTaggedURI = base + from.last
	}
	return v
}

func addTagRoutes(t *router) {
	t.add(http.MethodGet, "/v2/tags", listTags)
	t.add(http.MethodPost, "/v2/tags", createTag)
	t.add(http.MethodGet, "/v2/tags/{tag}", getTag)
	t.add(http.MethodDelete, "/v2/tags/{tag}", deleteTag)
	t.add(http.MethodPost, "/v2/tags/{tag}/resources", tagResources)
	t.add(http.MethodDelete, "/v2/tags/{tag}/resources", untagResources)
}

func listTags(c *call) (reply, error) {
	return list(c, "tags", c.team.tags.items, func(t *tag) Tag { return c.team.showTag(t, c.base) })
}

func createTag(c *call) (reply, error) {
	var req struct {
		Name string `json:"name"`
	}
	if len(c.body) == 0 {
		return reply{}, parameterMissing("name")
	}
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	if err := validateTagName(req.Name); err != nil {
		return reply{}, err
	}
	made := c.team.ensureTag(req.Name)
	return jsonReply(http.StatusCreated, map[string]any{"tag": c.team.showTag(made, c.base)})
}

// tag finds the tag that the path names, in whatever spelling.
func (c *call) tag() (*tag, error) {
	return c.team.tags.find(strings.ToLower(c.params["tag"]))
}

func getTag(c *call) (reply, error) {
	found, err := c.tag()
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, map[string]any{"tag": c.team.showTag(found, c.base)})
}

// deleteTag takes the tag from everything; a load balancer that selects its
// droplets by it keeps the dead name and so has none.
func deleteTag(c *call) (reply, error) {
	found, err := c.tag()
	if err != nil {
		return reply{}, err
	}
	for _, d := range slices.Clone(c.team.dropletsTagged(found.name)) {
		c.team.untagDroplet(d, found.name)
	}
	for lb := range c.team.loadBalancers.all() {
		lb.Tags = without(lb.Tags, found.name)
	}
	for f := range c.team.firewalls.all() {
		f.Tags = without(f.Tags, found.name)
	}
	c.team.tags.remove(strings.ToLower(found.name))
	return noContent()
}

// tagTarget is a resource found by what a request says of it.
type tagTarget struct {
	droplet      *droplet
	loadBalancer *loadBalancer
}

func tagResources(c *call) (reply, error) {
	found, targets, err := c.tagTargets()
	if err != nil {
		return reply{}, err
	}
	for _, target := range targets {
		if target.droplet != nil {
			c.team.tagDroplet(target.droplet, found)
		} else {
			c.team.tagLoadBalancer(target.loadBalancer, found)
		}
	}
	return noContent()
}

func untagResources(c *call) (reply, error) {
	found, targets, err := c.tagTargets()
	if err != nil {
		return reply{}, err
	}
	for _, target := range targets {
		if target.droplet != nil {
			c.team.untagDroplet(target.droplet, found.name)
		} else {
			target.loadBalancer.Tags = without(target.loadBalancer.Tags, found.name)
		}
	}
	return noContent()
}

// tagTargets finds the tag and all resources, so that one unknown id leaves the
// others untouched.
func (c *call) tagTargets() (*tag, []tagTarget, error) {
	found, err := c.tag()
	if err != nil {
		return nil, nil, err
	}
	var req struct {
		Resources []struct {
			ID   string `json:"resource_id"`
			Type string `json:"resource_type"`
		} `json:"resources"`
	}
	if len(c.body) > 0 {
		if err := c.decode(&req); err != nil {
			return nil, nil, err
		}
	}
	if len(req.Resources) == 0 {
		return nil, nil, parameterMissing("resources")
	}
	targets := []tagTarget{}
	for _, r := range req.Resources {
		target, err := c.tagTarget(r.Type, r.ID)
		if err != nil {
			return nil, nil, err
		}
		targets = append(targets, target)
	}
	return found, targets, nil
}

func (c *call) tagTarget(kind, id string) (tagTarget, error) {
	switch kind {
	case "droplet":
		number, err := strconv.Atoi(id)
		if err != nil {
			return tagTarget{}, notFound()
		}
		if d, ok := c.team.droplets.get(number); ok {
			return tagTarget{droplet: d}, nil
		}
	case "load_balancer":
		if lb, ok := c.team.loadBalancers.get(id); ok {
			return tagTarget{loadBalancer: lb}, nil
		}
	case "image", "volume", "volume_snapshot", "database":
		// Taggable, but there are none here.
	default:
		return tagTarget{}, unprocessable("%q is not a valid resource_type", kind)
	}
	return tagTarget{}, notFound()
}
