package simulator_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/simulator"
)

func TestMetadataAsText(t *testing.T) {
	w := newWorld(t)
	d := w.AddDroplet(simulator.DropletSpec{
		Name: "node", IPv6: true, Tags: []string{"a", "b"},
		PrivateIPv4: "10.116.0.7", PublicIPv4: "203.0.113.7", PublicIPv6: "2001:db8:1::7",
	})
	for path, want := range map[string]string{
		"":                                   "id\nhostname\npublic-keys\nregion\ninterfaces/\ndns/\nfloating_ip/\nreserved_ip/\ntags/\nfeatures/\n",
		"/id":                                strconv.Itoa(d.ID),
		"/hostname":                          "node",
		"/region":                            "nyc3",
		"/tags":                              "a\nb\n",
		"/tags/":                             "a\nb\n",
		"/public-keys":                       "",
		"/dns/nameservers":                   "67.207.67.2\n67.207.67.3\n",
		"/interfaces/":                       "private/\npublic/\n",
		"/interfaces/public/":                "0/\n",
		"/interfaces/public/0/":              "mac\ntype\nipv4/\nipv6/\nanchor_ipv4/\n",
		"/interfaces/private/0/":             "mac\ntype\nipv4/\n",
		"/reserved_ip/ipv4/active":           "false",
		"/interfaces/private/0/type":         "private",
		"/interfaces/private/0/ipv4/address": "10.116.0.7",
		"/interfaces/private/0/ipv4/netmask": "255.255.0.0",
		"/interfaces/public/0/ipv4/address":  "203.0.113.7",
		"/interfaces/public/0/ipv4/gateway":  "203.0.113.1",
		"/interfaces/public/0/ipv6/address":  "2001:db8:1::7",
		"/interfaces/public/0/ipv6/cidr":     "64",
		"/interfaces/public/0/ipv6/gateway":  "2001:db8:1::1",
	} {
		for _, slash := range []string{"", "/"} {
			if path == "" || slash == "" {
				if got := w.doAs("", "GET", "/metadata/v1"+path+slash, ""); got.status != 200 || got.body != want {
					t.Errorf("%s%s: %d %q, want %q", path, slash, got.status, got.body, want)
				}
			}
		}
	}
	for _, path := range []string{"/metadata/v1/nothing", "/metadata/v1/user-data", "/metadata/v2/", "/metadata/v1x", "/metadata/v1/interfaces/private/0/ipv6/address"} {
		if got := w.doAs("", "GET", path, ""); got.status != 404 || got.body != "not found" {
			t.Errorf("%s: %d %q", path, got.status, got.body)
		}
	}
	if got := w.doAs("", "POST", "/metadata/v1/id", ""); got.status != 405 {
		t.Errorf("POST: %d", got.status)
	}
}

func TestMetadataAsJSON(t *testing.T) {
	w := newWorld(t)
	d := w.AddDroplet(simulator.DropletSpec{Name: "node", PrivateIPv4: "10.116.0.7", NoPublicIPv4: true})
	var got map[string]any
	w.doAs("", "GET", "/metadata/v1.json", "").decode(t, &got)
	inactive := map[string]any{"active": false}
	want := map[string]any{
		"droplet_id": float64(d.ID), "hostname": "node", "region": "nyc3", "public_keys": []any{}, "tags": nil,
		"interfaces": map[string]any{"private": []any{map[string]any{
			"ipv4": map[string]any{"ip_address": "10.116.0.7", "netmask": "255.255.0.0", "gateway": "10.116.0.1"},
			"mac":  fmt.Sprintf("04:02:%02x:%02x:%02x:%02x", d.ID>>24, d.ID>>16&255, d.ID>>8&255, d.ID&255), "type": "private",
		}}},
		"floating_ip": map[string]any{"ipv4": inactive},
		"reserved_ip": map[string]any{"ipv4": inactive, "ipv6": inactive},
		"dns":         map[string]any{"nameservers": []any{"67.207.67.2", "67.207.67.3"}},
		"features":    map[string]any{"dhcp_enabled": false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func TestMetadataTellsReservedAddresses(t *testing.T) {
	w := newWorld(t)
	d := w.AddDroplet(simulator.DropletSpec{IPv6: true})
	read := func(path string) string { return w.doAs("", "GET", "/metadata/v1/"+path, "").body }
	for _, path := range []string{"reserved_ip/ipv4/ip_address", "reserved_ip/ipv6/ip_address"} {
		if got := read(path); got != "not found" {
			t.Errorf("%s before: %s", path, got)
		}
	}
	v4, _, err := w.client.ReservedIPs.Create(t.Context(), &godo.ReservedIPCreateRequest{DropletID: d.ID})
	if err != nil {
		t.Fatal(err)
	}
	v6, _, err := w.client.ReservedIPV6s.Create(t.Context(), &godo.ReservedIPV6CreateRequest{Region: "nyc3"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.client.ReservedIPV6Actions.Assign(t.Context(), v6.IP, d.ID); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"reserved_ip/ipv4/active": "true", "reserved_ip/ipv4/ip_address": v4.IP, "reserved_ip/": "ipv4/\nipv6/\n",
		"floating_ip/ipv4/active": "true", "floating_ip/ipv4/ip_address": v4.IP,
		"reserved_ip/ipv6/active": "true", "reserved_ip/ipv6/ip_address": v6.IP,
	} {
		if got := read(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	var doc struct {
		ReservedIP map[string]map[string]any `json:"reserved_ip"`
	}
	w.doAs("", "GET", "/metadata/v1.json", "").decode(t, &doc)
	want := map[string]map[string]any{"ipv4": {"active": true, "ip_address": v4.IP}, "ipv6": {"active": true, "ip_address": v6.IP}}
	if diff := cmp.Diff(want, doc.ReservedIP); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func TestUserDataIsReadBackInMetadata(t *testing.T) {
	w := newWorld(t)
	req := dropletRequest("n1")
	req.UserData = "#cloud-config\n"
	if _, _, err := w.client.Droplets.Create(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if got := w.do("GET", "/metadata/v1/user-data", ""); got.body != req.UserData {
		t.Errorf("user data %q", got.body)
	}
}

func TestWhichDropletAnswers(t *testing.T) {
	newDroplets := func(t *testing.T, opts ...simulator.Option) (*world, int, int) {
		w := newWorld(t, append(opts, simulator.WithToken(token, "blue"), simulator.WithToken("t2", "green"))...)
		w.AddDroplet(simulator.DropletSpec{Team: "green"})
		first := w.AddDroplet(simulator.DropletSpec{}).ID
		second := w.AddDroplet(simulator.DropletSpec{}).ID
		return w, first, second
	}
	ask := func(w *world, header string) string {
		req, err := http.NewRequestWithContext(w.t.Context(), "GET", w.url+"/metadata/v1/id", nil)
		if err != nil {
			w.t.Fatal(err)
		}
		if header != "" {
			req.Header.Set(simulator.MetadataDropletHeader, header)
		}
		return w.send(req).body
	}
	w, first, second := newDroplets(t)
	if got, want := ask(w, ""), strconv.Itoa(first-1); got != want {
		t.Errorf("by default %s, want the oldest, %s", got, want)
	}
	if got := ask(w, strconv.Itoa(second)); got != strconv.Itoa(second) {
		t.Errorf("by header %s", got)
	}
	for _, header := range []string{"7", "x"} {
		if got := ask(w, header); got != "not found" {
			t.Errorf("by header %s: %s", header, got)
		}
	}
	w.ChangeSettings(simulator.SettingsPatch{MetadataDroplet: &first})
	if got := ask(w, strconv.Itoa(second)); got != strconv.Itoa(first) {
		t.Errorf("when set %s, want %d", got, first)
	}
	w, first, _ = newDroplets(t, simulator.WithMetadataDroplet(first))
	if got := ask(w, ""); got != strconv.Itoa(first) {
		t.Errorf("by option %s, want %d", got, first)
	}
	if got := newWorld(t).do("GET", "/metadata/v1/id", ""); got.status != 404 {
		t.Errorf("without droplets: %d", got.status)
	}
}
