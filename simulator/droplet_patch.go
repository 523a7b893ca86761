package simulator

import (
	"fmt"
	"net/netip"
	"slices"
)

// DropletPatch changes of a droplet what is not nil, as if it happened by
// itself: no power-off is needed for another size.
type DropletPatch struct {
	Name *string `json:"name,omitempty"`
	// Size is a slug; an unknown one is made up.
	Size *string `json:"size,omitempty"`
	// Tags replaces all tags.
	Tags *[]string `json:"tags,omitempty"`
	// An address of "" is taken away. Any other makes a pending droplet active.
	PrivateIPv4 *string `json:"private_ipv4,omitempty"`
	PublicIPv4  *string `json:"public_ipv4,omitempty"`
	PublicIPv6  *string `json:"public_ipv6,omitempty"`
	// Pending true takes a droplet back to status new, without addresses.
	Pending *bool `json:"pending,omitempty"`
}

// PatchDroplet changes a droplet. The error wraps ErrNotFound, or tells which
// address is none.
func (s *Simulator) PatchDroplet(id int, p DropletPatch) error {
	if err := p.validate(); err != nil {
		return fmt.Errorf("patch droplet %d: %w", id, err)
	}
	return s.changeDroplet(id, func(t *team, d *droplet) error {
		set(&d.Name, p.Name)
		if p.Size != nil {
			d.resize(s.catalog.sizeFor(*p.Size), true)
			d.gpu = d.gpu || d.GPUInfo != nil
		}
		if p.Tags != nil {
			t.retag(d, *p.Tags)
		}
		s.patchAddresses(d, p)
		set(&d.pending, p.Pending)
		return nil
	})
}

func (p DropletPatch) validate() error {
	for _, address := range []struct {
		text *string
		v6   bool
	}{{p.PrivateIPv4, false}, {p.PublicIPv4, false}, {p.PublicIPv6, true}} {
		if address.text == nil || *address.text == "" {
			continue
		}
		a, err := netip.ParseAddr(*address.text)
		if err != nil {
			return err
		}
		if a.Is6() != address.v6 {
			return fmt.Errorf("address %s is of the other family", a)
		}
	}
	return nil
}

func (s *Simulator) patchAddresses(d *droplet, p DropletPatch) {
	before := d.addresses()
	if p.PrivateIPv4 != nil {
		d.Networks.V4 = replaceV4(d.Networks.V4, privateV4(*p.PrivateIPv4))
	}
	if p.PublicIPv4 != nil {
		d.Networks.V4 = replaceV4(d.Networks.V4, publicV4(*p.PublicIPv4))
	}
	if p.PublicIPv6 != nil {
		d.Networks.V6 = []NetworkV6{}
		if *p.PublicIPv6 != "" {
			d.Networks.V6 = []NetworkV6{publicV6(*p.PublicIPv6)}
		}
		d.setFeature(featureIPv6, *p.PublicIPv6 != "")
	}
	for _, given := range []*string{p.PrivateIPv4, p.PublicIPv4, p.PublicIPv6} {
		if given != nil && *given != "" {
			d.arrive()
		}
	}
	s.addresses.release(before)
	s.addresses.reserve(d.addresses()...)
}

// replaceV4 returns the addresses with the one of n's type replaced by n, or
// taken away when n has no address.
func replaceV4(addresses []NetworkV4, n NetworkV4) []NetworkV4 {
	kept := slices.DeleteFunc(slices.Clone(addresses), func(old NetworkV4) bool { return old.Type == n.Type })
	if n.IPAddress != "" {
		kept = append(kept, n)
	}
	return kept
}
