// Package inventory keeps what the manager has read from DigitalOcean, with
// the time of the reading, so that a question that was answered a moment ago
// costs no API call.
//
// It never answers "gone" from memory: see [Droplets.Get].
package inventory

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/digitalocean/godo"
)

// Droplet is what the manager knows of a droplet. Values are never changed
// after they were handed out.
type Droplet struct {
	ID      int
	Name    string
	Status  string
	Size    string
	Region  string
	VPC     string
	Image   string
	GPU     string
	Tags    []string
	Created time.Time
	// Addresses by kind, in the API's order. A droplet that just started may
	// have none yet.
	PrivateIPv4, PublicIPv4, PublicIPv6 []string
	// Read is when the API told this.
	Read time.Time
}

// Droplet states in which the machine doesn't run. Such a droplet exists.
const (
	statusOff     = "off"
	statusArchive = "archive"
)

// IsShutdown tells whether the droplet exists but doesn't run.
func (d Droplet) IsShutdown() bool { return d.Status == statusOff || d.Status == statusArchive }

// HasAddress tells whether the droplet has any address yet.
func (d Droplet) HasAddress() bool {
	return len(d.PrivateIPv4)+len(d.PublicIPv4)+len(d.PublicIPv6) > 0
}

// Addresses returns all addresses of the droplet.
func (d Droplet) Addresses() []string {
	return slices.Concat(d.PrivateIPv4, d.PublicIPv4, d.PublicIPv6)
}

// gpuPrefix starts the slug of every size with a GPU.
const gpuPrefix = "gpu-"

// fromAPI copies what is wanted and survives any field that the API leaves
// out.
func fromAPI(d *godo.Droplet, read time.Time) Droplet {
	droplet := Droplet{
		ID: d.ID, Name: d.Name, Status: d.Status, VPC: d.VPCUUID,
		Size: d.SizeSlug, Tags: slices.Clone(d.Tags), Read: read,
	}
	droplet.Created, _ = time.Parse(time.RFC3339, d.Created) // zero: unknown
	if d.Region != nil {
		droplet.Region = d.Region.Slug
	}
	if d.Size != nil {
		if droplet.Size == "" {
			droplet.Size = d.Size.Slug
		}
		if d.Size.GPUInfo != nil {
			droplet.GPU = d.Size.GPUInfo.Model
		}
	}
	if droplet.GPU == "" && strings.HasPrefix(droplet.Size, gpuPrefix) {
		droplet.GPU = droplet.Size
	}
	if d.Image != nil {
		droplet.Image = d.Image.Slug
	}
	if d.Networks != nil {
		droplet.setNetworks(d.Networks)
	}
	return droplet
}

func (d *Droplet) setNetworks(networks *godo.Networks) {
	for _, n := range networks.V4 {
		switch {
		case n.IPAddress == "":
		case n.Type == "private":
			d.PrivateIPv4 = append(d.PrivateIPv4, Canonical(n.IPAddress))
		case n.Type == "public":
			d.PublicIPv4 = append(d.PublicIPv4, Canonical(n.IPAddress))
		}
	}
	for _, n := range networks.V6 {
		if n.IPAddress != "" && n.Type == "public" {
			d.PublicIPv6 = append(d.PublicIPv6, Canonical(n.IPAddress))
		}
	}
}

// Canonical writes an IP address in its one canonical form, so that addresses
// can be compared as text. What is no address stays as it is.
func Canonical(ip string) string {
	if parsed, err := netip.ParseAddr(ip); err == nil {
		return parsed.Unmap().String()
	}
	return ip
}
