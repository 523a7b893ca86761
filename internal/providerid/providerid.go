// Package providerid reads and writes spec.providerID of DigitalOcean's Nodes.
package providerid

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// prefix starts the provider ID of every droplet; the public manager's and the
// managed product's Nodes have it too.
const prefix = "digitalocean://"

// ErrNotOurs is any provider ID that doesn't name a droplet.
var ErrNotOurs = errors.New("not a droplet's provider ID")

// ForDroplet is the provider ID of a droplet.
func ForDroplet(id int) string { return prefix + strconv.Itoa(id) }

// Parse returns the droplet's id. The error is [ErrNotOurs] for everything
// that isn't exactly of the form digitalocean://<id>, another cloud's provider
// ID and a bare number among it.
func Parse(providerID string) (int, error) {
	digits, ok := strings.CutPrefix(providerID, prefix)
	id, err := strconv.Atoi(digits)
	// Comparing with the canonical form refuses "+1", "007" and the like.
	if !ok || err != nil || id <= 0 || strconv.Itoa(id) != digits {
		return 0, fmt.Errorf("%w: %q, must be %s<droplet id>", ErrNotOurs, providerID, prefix)
	}
	return id, nil
}
