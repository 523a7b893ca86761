package simulator

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// addConsoleRoutes adds what the console's page needs beside what is there for
// everyone.
func addConsoleRoutes(t *router) {
	t.add(http.MethodGet, ControlPath+"overview", controlOverview)
	t.add(http.MethodGet, ControlPath+"catalog", controlCatalog)
	t.add(http.MethodGet, ControlPath+"requests/{sequence}", controlRequest)
	t.add(http.MethodDelete, ControlPath+"load_balancers/{id}/droplets/{droplet}", controlDropBackend)
}

func controlOverview(c *call) (reply, error) {
	view := overviewQuery{
		team: c.query.Get("team"), text: c.query.Get("q"),
		logText: c.query.Get("log"), logKind: c.query.Get("kind"),
	}
	now := c.s.look()
	defer c.s.mu.Unlock()
	return jsonReply(http.StatusOK, c.s.overview(view, now))
}

// controlCatalog lists what a droplet can be made of, to choose from.
func controlCatalog(c *call) (reply, error) {
	c.s.look()
	defer c.s.mu.Unlock()
	regions, sizes, images := []string{}, []string{}, []string{}
	for r := range c.s.catalog.regions.all() {
		if r.Available {
			regions = append(regions, r.Slug)
		}
	}
	for size := range c.s.catalog.sizes.all() {
		sizes = append(sizes, size.Slug)
	}
	for image := range c.s.catalog.images.all() {
		if image.Slug != nil {
			images = append(images, *image.Slug)
		}
	}
	return jsonReply(http.StatusOK, map[string]any{"regions": regions, "sizes": sizes, "images": images})
}

// controlRequest shows one entry of the log, with its body.
func controlRequest(c *call) (reply, error) {
	sequence, err := strconv.ParseInt(c.params["sequence"], 10, 64)
	if err != nil {
		return reply{}, fmt.Errorf("request %q: %w", c.params["sequence"], ErrNotFound)
	}
	c.s.look()
	defer c.s.mu.Unlock()
	i, found := slices.BinarySearchFunc(c.s.log.entries, sequence, func(r *Request, sequence int64) int {
		return int(r.Sequence - sequence)
	})
	if !found {
		return reply{}, fmt.Errorf("request %d: %w", sequence, ErrNotFound)
	}
	return jsonReply(http.StatusOK, map[string]any{"request": c.s.log.entries[i]})
}

// controlDropBackend takes one droplet off a load balancer, whatever else has
// changed since the list was read.
func controlDropBackend(c *call) (reply, error) {
	id, err := strconv.Atoi(c.params["droplet"])
	if err != nil {
		return reply{}, fmt.Errorf("droplet %q: %w", c.params["droplet"], ErrNotFound)
	}
	err = c.s.editLoadBalancer(c.params["id"], func(lb *LoadBalancer) error {
		if lb.Tag != "" {
			return errors.New("its droplets are those with the tag " + lb.Tag)
		}
		if !slices.Contains(lb.DropletIDs, id) {
			return fmt.Errorf("droplet %d: %w", id, ErrNotFound)
		}
		lb.DropletIDs = withoutID(lb.DropletIDs, id)
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return noContent()
}
