package simulator

import (
	"strconv"
)

// tagTarget is a resource found by what a request says of it.
type tagTarget struct {
	droplet      *droplet
	loadBalancer *loadBalancer
	volume       *volume
	snapshot     *VolumeSnapshot
}

func (t *team) tag(target tagTarget, with *tag) {
	switch {
	case target.droplet != nil:
		t.tagDroplet(target.droplet, with)
	case target.loadBalancer != nil:
		t.tagLoadBalancer(target.loadBalancer, with)
	case target.volume != nil:
		with.lastVolume = "/v2/volumes/" + target.volume.ID
		with.last = with.lastVolume
		target.volume.Tags = append(without(target.volume.Tags, with.name), with.name)
	case target.snapshot != nil:
		with.lastSnapshot = "/v2/snapshots/" + target.snapshot.ID
		with.last = with.lastSnapshot
		target.snapshot.Tags = append(without(target.snapshot.Tags, with.name), with.name)
	}
}

func (t *team) untag(target tagTarget, name string) {
	switch {
	case target.droplet != nil:
		t.untagDroplet(target.droplet, name)
	case target.loadBalancer != nil:
		target.loadBalancer.Tags = without(target.loadBalancer.Tags, name)
	case target.volume != nil:
		target.volume.Tags = without(target.volume.Tags, name)
	case target.snapshot != nil:
		target.snapshot.Tags = without(target.snapshot.Tags, name)
	}
}

func tagResources(c *call) (reply, error) {
	found, targets, err := c.tagTargets()
	if err != nil {
		return reply{}, err
	}
	for _, target := range targets {
		c.team.tag(target, found)
	}
	return noContent()
}

func untagResources(c *call) (reply, error) {
	found, targets, err := c.tagTargets()
	if err != nil {
		return reply{}, err
	}
	for _, target := range targets {
		c.team.untag(target, found.name)
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
	case "volume":
		if v, ok := c.team.volumes.get(id); ok {
			return tagTarget{volume: v}, nil
		}
	case "volume_snapshot":
		if s, ok := c.team.snapshots.get(id); ok {
			return tagTarget{snapshot: s}, nil
		}
	case "image", "database":
		// Taggable, but there are none here.
	default:
		return tagTarget{}, unprocessable("%q is not a valid resource_type", kind)
	}
	return tagTarget{}, notFound()
}
