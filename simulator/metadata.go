package simulator

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MetadataDropletHeader names the droplet, by id, whose metadata a request is
// for. In life it is the one that asks.
const MetadataDropletHeader = "X-Simulator-Droplet"

const metadataRoot = "/metadata/v1"

var nameservers = []string{"67.207.67.2", "67.207.67.3"}

// metadataLeaf is a value of the text form, with its path below the root.
type metadataLeaf struct {
	path, value string
	// slashed leaves are shown in an index as if they were directories.
	slashed bool
}

func (s *Simulator) serveMetadata(w http.ResponseWriter, r *http.Request) {
	answer := s.metadata(r)
	writeReply(w, answer)
}

func (s *Simulator) metadata(r *http.Request) reply {
	now := s.lock()
	defer s.mu.Unlock()
	missing := reply{status: http.StatusNotFound, body: []byte("not found"), contentType: "text/plain"}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return reply{status: http.StatusMethodNotAllowed, contentType: "text/plain"}
	}
	d, ok := s.metadataDroplet(r.Header.Get(MetadataDropletHeader))
	if !ok {
		return missing
	}
	if r.URL.Path == metadataRoot+".json" {
		return reply{status: http.StatusOK, body: encode(s.describe(d, now)), contentType: "application/json"}
	}
	below, ok := strings.CutPrefix(r.URL.Path, metadataRoot)
	if !ok || below != "" && below[0] != '/' {
		return missing
	}
	text, ok := metadataText(d.metadataLeaves(s.describe(d, now)), strings.Trim(below, "/"))
	if !ok {
		return missing
	}
	return reply{status: http.StatusOK, body: []byte(text), contentType: "text/plain; charset=utf-8"}
}

// metadataDroplet finds the droplet that asks.
func (s *Simulator) metadataDroplet(header string) (*droplet, bool) {
	id := s.settings.MetadataDroplet
	if id == 0 && header != "" {
		var err error
		if id, err = strconv.Atoi(header); err != nil {
			return nil, false
		}
	}
	if id != 0 {
		_, d, err := s.teamOfDroplet(id)
		return d, err == nil
	}
	var oldest *droplet
	for _, name := range s.teamOrder {
		for d := range s.teams[name].droplets.all() {
			if oldest == nil || d.ID < oldest.ID {
				oldest = d
			}
			break // the others of the team are younger
		}
	}
	return oldest, oldest != nil
}

// metadataText is a value, or the index of a directory.
func metadataText(leaves []metadataLeaf, path string) (string, bool) {
	if path != "" {
		for _, leaf := range leaves {
			if leaf.path == path {
				return leaf.value, true
			}
		}
		path += "/"
	}
	var entries []string
	seen := map[string]bool{}
	for _, leaf := range leaves {
		rest, ok := strings.CutPrefix(leaf.path, path)
		if !ok {
			continue
		}
		name, _, deeper := strings.Cut(rest, "/")
		if deeper || leaf.slashed {
			name += "/"
		}
		if !seen[name] {
			seen[name] = true
			entries = append(entries, name)
		}
	}
	if entries == nil {
		return "", false
	}
	return strings.Join(entries, "\n") + "\n", true
}

// metadataLeaves lists everything in the order of the indexes.
func (d *droplet) metadataLeaves(doc metadataDocument) []metadataLeaf {
	leaves := []metadataLeaf{
		{path: "id", value: strconv.Itoa(d.ID)},
		{path: "hostname", value: d.hostname},
	}
	if d.userData != "" {
		leaves = append(leaves, metadataLeaf{path: "user-data", value: d.userData})
	}
	leaves = append(leaves,
		metadataLeaf{path: "public-keys", value: lines(d.keys)},
		metadataLeaf{path: "region", value: d.Region.Slug},
	)
	leaves = append(leaves, doc.Interfaces.leaves()...)
	leaves = append(leaves, metadataLeaf{path: "dns/nameservers", value: lines(nameservers)})
	leaves = append(leaves, doc.FloatingIP.leaves("floating_ip/")...)
	leaves = append(leaves, doc.ReservedIP.leaves("reserved_ip/")...)
	return append(leaves,
		metadataLeaf{path: "tags", value: lines(d.Tags), slashed: true},
		metadataLeaf{path: "features/dhcp_enabled", value: "false"},
	)
}

// leaves tell whether there is an address, and which.
func (m metadataReserved) leaves(root string) []metadataLeaf {
	var leaves []metadataLeaf
	for _, family := range []struct {
		name  string
		state *metadataActive
	}{{"ipv4/", m.IPv4}, {"ipv6/", m.IPv6}} {
		if family.state == nil {
			continue
		}
		leaves = append(leaves, metadataLeaf{path: root + family.name + "active", value: strconv.FormatBool(family.state.Active)})
		if family.state.Active {
			leaves = append(leaves, metadataLeaf{path: root + family.name + "ip_address", value: family.state.IPAddress})
		}
	}
	return leaves
}

func (interfaces metadataInterfaces) leaves() []metadataLeaf {
	var leaves []metadataLeaf
	add := func(path string, value any) {
		leaves = append(leaves, metadataLeaf{path: "interfaces/" + path, value: fmt.Sprint(value)})
	}
	for _, group := range []struct {
		kind string
		list []metadataInterface
	}{{"private", interfaces.Private}, {"public", interfaces.Public}} {
		for i, n := range group.list {
			at := fmt.Sprintf("%s/%d/", group.kind, i)
			add(at+"mac", n.MAC)
			add(at+"type", n.Type)
			if v4 := n.IPv4; v4 != nil {
				add(at+"ipv4/address", v4.IPAddress)
				add(at+"ipv4/netmask", v4.Netmask)
				add(at+"ipv4/gateway", v4.Gateway)
			}
			if v6 := n.IPv6; v6 != nil {
				add(at+"ipv6/address", v6.IPAddress)
				add(at+"ipv6/cidr", v6.CIDR)
				add(at+"ipv6/gateway", v6.Gateway)
			}
			if anchor := n.AnchorIPv4; anchor != nil {
				add(at+"anchor_ipv4/address", anchor.IPAddress)
				add(at+"anchor_ipv4/netmask", anchor.Netmask)
				add(at+"anchor_ipv4/gateway", anchor.Gateway)
			}
		}
	}
	return leaves
}

func lines(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return strings.Join(values, "\n") + "\n"
}

// metadataDocument is /metadata/v1.json.
type metadataDocument struct {
	DropletID  int                 `json:"droplet_id"`
	Hostname   string              `json:"hostname"`
	UserData   string              `json:"user_data,omitempty"`
	PublicKeys []string            `json:"public_keys"`
	Region     string              `json:"region"`
	Interfaces metadataInterfaces  `json:"interfaces"`
	FloatingIP metadataReserved    `json:"floating_ip"`
	ReservedIP metadataReserved    `json:"reserved_ip"`
	DNS        map[string][]string `json:"dns"`
	Tags       []string            `json:"tags"`
	Features   map[string]bool     `json:"features"`
}

// metadataReserved tells of the reserved address of each family.
type metadataReserved struct {
	IPv4 *metadataActive `json:"ipv4,omitempty"`
	IPv6 *metadataActive `json:"ipv6,omitempty"`
}

type metadataActive struct {
	Active    bool   `json:"active"`
	IPAddress string `json:"ip_address,omitempty"`
}

type metadataInterfaces struct {
	Private []metadataInterface `json:"private,omitempty"`
	Public  []metadataInterface `json:"public,omitempty"`
}

type metadataInterface struct {
	IPv4 *metadataV4 `json:"ipv4,omitempty"`
	IPv6 *metadataV6 `json:"ipv6,omitempty"`
	// AnchorIPv4 is the address of the public interface to which traffic for a
	// reserved one comes.
	AnchorIPv4 *metadataV4 `json:"anchor_ipv4,omitempty"`
	MAC        string      `json:"mac"`
	Type       string      `json:"type"`
}

type metadataV4 struct {
	IPAddress string `json:"ip_address"`
	Netmask   string `json:"netmask"`
	Gateway   string `json:"gateway"`
}

type metadataV6 struct {
	IPAddress string `json:"ip_address"`
	CIDR      int    `json:"cidr"`
	Gateway   string `json:"gateway"`
}

// describe is a droplet's document, with the reserved addresses that it has.
func (s *Simulator) describe(d *droplet, now time.Time) metadataDocument {
	doc := d.metadata(now)
	v4, v6 := &metadataActive{}, &metadataActive{}
	if t, _, err := s.teamOfDroplet(d.ID); err == nil {
		for r := range t.reservedIPs.all() {
			switch {
			case r.dropletID != d.ID:
			case r.v6():
				*v6 = metadataActive{true, r.ip}
			default:
				*v4 = metadataActive{true, r.ip}
			}
		}
	}
	doc.FloatingIP, doc.ReservedIP = metadataReserved{IPv4: v4}, metadataReserved{v4, v6}
	return doc
}

// metadata is everything that the droplet itself knows.
func (d *droplet) metadata(now time.Time) metadataDocument {
	doc := metadataDocument{
		DropletID: d.ID, Hostname: d.hostname, UserData: d.userData, PublicKeys: append([]string{}, d.keys...), Region: d.Region.Slug,
		DNS:      map[string][]string{"nameservers": nameservers},
		Features: map[string]bool{"dhcp_enabled": false},
	}
	if len(d.Tags) > 0 {
		doc.Tags = d.Tags
	}
	// One interface of each kind: a droplet has no more.
	private, public := d.interfaceOf("private"), d.interfaceOf("public")
	for _, n := range d.show(now).Networks.V4 {
		at := public
		if n.Type == "private" {
			at = private
		} else {
			public.AnchorIPv4 = d.anchor()
		}
		at.IPv4 = &metadataV4{n.IPAddress, n.Netmask, n.Gateway}
	}
	for _, n := range d.show(now).Networks.V6 {
		public.IPv6 = &metadataV6{n.IPAddress, n.Netmask, n.Gateway}
	}
	if private.IPv4 != nil {
		doc.Interfaces.Private = []metadataInterface{*private}
	}
	if public.IPv4 != nil || public.IPv6 != nil {
		doc.Interfaces.Public = []metadataInterface{*public}
	}
	return doc
}

// anchor is an address that follows from the droplet's id, in a range that no
// VPC is given.
func (d *droplet) anchor() *metadataV4 {
	return &metadataV4{fmt.Sprintf("10.96.%d.%d", byte(d.ID>>8), byte(d.ID)), "255.255.0.0", "10.96.0.1"}
}

// interfaceOf makes an interface with a hardware address that follows from the
// droplet's id.
func (d *droplet) interfaceOf(kind string) *metadataInterface {
	last := 1
	if kind == "private" {
		last = 2
	}
	return &metadataInterface{Type: kind, MAC: fmt.Sprintf("04:%02x:%02x:%02x:%02x:%02x",
		last, byte(d.ID>>24), byte(d.ID>>16), byte(d.ID>>8), byte(d.ID))}
}
