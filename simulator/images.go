package simulator

import "net/http"

func addImageRoutes(t *router) {
	t.add(http.MethodGet, "/v2/images", listImages)
	t.add(http.MethodGet, "/v2/images/{image}", getImage)
}

// listImages lists the public images of distributions, for there are no others:
// neither applications nor the user's own.
func listImages(c *call) (reply, error) {
	kind := c.query.Get("type")
	if kind != "" {
		if err := oneOf("type", kind, "distribution", "application"); err != nil {
			return reply{}, err
		}
	}
	found := []*Image{}
	for image := range c.s.catalog.images.all() {
		if image.shown(kind, c.query.Get("private") == "true", c.query.Get("tag_name")) {
			found = append(found, image)
		}
	}
	return list(c, "images", found, same[*Image])
}

// shown tells whether a list with these filters shows the image.
func (i *Image) shown(kind string, private bool, tag string) bool {
	return (kind == "" || kind == "distribution" && i.Type == "base") && private != i.Public && (tag == "" || len(without(i.Tags, tag)) < len(i.Tags))
}

// getImage takes an id or a slug.
func getImage(c *call) (reply, error) {
	image, ok := c.s.catalog.image(c.params["image"])
	if !ok {
		return reply{}, notFound()
	}
	return jsonReply(http.StatusOK, map[string]any{"image": image})
}
