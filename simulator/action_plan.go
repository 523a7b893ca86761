package simulator

import (
	"slices"
)

// actionsByTag are those that every droplet of a tag can be asked for at once.
var actionsByTag = []string{
	"power_cycle", "power_on", "power_off", "shutdown", "enable_backups", "disable_backups", "enable_ipv6", "enable_private_networking",
}

// plan checks an action.
func (c *call) plan(d *droplet, req actionRequest) error {
	if d.pendingAction != nil || !d.ready(c.now) {
		return unprocessable(textPendingEvent)
	}
	off := d.Status == statusOff
	switch req.Type {
	case "power_on": // also of one that is on: clients do so after each creation
	case "power_off", "shutdown":
		if off {
			return unprocessable("Droplet is already powered off")
		}
	case "reboot":
		if off {
			return unprocessable("Droplet is currently off. Please power it on to run this event.")
		}
	case "power_cycle", "password_reset", "enable_private_networking":
	case "rename":
		if len(req.Name) > 255 || !dropletName.MatchString(req.Name) {
			return unprocessable("Name Only valid hostname characters are allowed. (a-z, A-Z, 0-9, . and -)")
		}
	case "resize":
		return c.planResize(d, req)
	case "rebuild":
		if _, ok := c.s.catalog.image(imageRef(req.Image)); !ok {
			return unprocessable("You specified an invalid image for Droplet creation.")
		}
	case "enable_ipv6", "enable_backups", "disable_backups", "change_backup_policy":
		return planFeature(d, req)
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
