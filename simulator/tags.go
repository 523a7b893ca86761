package simulator

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

var tagName = regexp.MustCompile(`^[a-zA-Z0-9_\-:]{1,255}$`)

// tag is a tag with its canonical spelling, which is the first one used.
type tag struct {
	name string
	// Paths of what was tagged last, of each kind that has a count.
	lastDroplet, lastVolume, lastSnapshot, last string
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

// inTagForm gives a refusal the form of this service.
func inTagForm(err error) error {
	var refused *apiError
	if !errors.As(err, &refused) {
		return err
	}
	formed := *refused
	formed.tagForm = true
	return &formed
}

// validateTags refuses names in the form of the services that make tags on the
// way.
func validateTags(names []string) error {
	for _, name := range names {
		if !tagName.MatchString(name) {
			return unprocessable("tag %q is invalid", name)
		}
	}
	return nil
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
	v.Resources.Droplets = tagCount(len(t.dropletsTagged(from.name)), from.lastDroplet, base)
	volumes, snapshots, balancers := 0, 0, 0
	for found := range t.volumes.all() {
		volumes += count(found.Tags, from.name)
	}
	for found := range t.snapshots.all() {
		snapshots += count(found.Tags, from.name)
	}
	for found := range t.loadBalancers.all() {
		balancers += count(found.Tags, from.name)
	}
	v.Resources.Volumes = tagCount(volumes, from.lastVolume, base)
	v.Resources.VolumeSnapshots = tagCount(snapshots, from.lastSnapshot, base)
	all := tagCount(v.Resources.Droplets.Count+volumes+snapshots+balancers, from.last, base)
	v.Resources.Count, v.Resources.LastTaggedURI = all.Count, all.LastTaggedURI
	return v
}

func count(names []string, name string) int {
	if slices.Contains(names, name) {
		return 1
	}
	return 0
}

func tagCount(count int, last, base string) TagCount {
	v := TagCount{Count: count}
	if count > 0 && last != "" {
		v.LastTaggedURI = base + last
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
		return reply{}, inTagForm(parameterMissing("name"))
	}
	if err := c.decode(&req); err != nil {
		return reply{}, inTagForm(err)
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
	for v := range c.team.volumes.all() {
		v.Tags = without(v.Tags, found.name)
	}
	for s := range c.team.snapshots.all() {
		s.Tags = without(s.Tags, found.name)
	}
	c.team.tags.remove(strings.ToLower(found.name))
	return noContent()
}
