package simulator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/simulator"
)

func TestAddedDropletsAreReadAsTheAPIShowsThem(t *testing.T) {
	w := newWorld(t)
	added := w.AddDroplet(simulator.DropletSpec{
		Name: "node", IPv6: true, Tags: []string{"k8s"}, CreatedAt: start.Add(-time.Hour),
	})
	got := must[*godo.Droplet](t)(w.client.Droplets.Get(t.Context(), added.ID))
	public, _ := got.PublicIPv4()
	private, _ := got.PrivateIPv4()
	public6, _ := got.PublicIPv6()
	if public == "" || private == "" || public6 == "" {
		t.Errorf("addresses %q, %q, %q", public, private, public6)
	}
	if got.Name != "node" || got.Status != "active" || got.Locked || got.Region.Slug != "nyc3" || got.SizeSlug != "s-2vcpu-4gb" ||
		got.Memory != 4096 || got.Vcpus != 2 || got.Disk != 80 || got.Image.Slug != "ubuntu-24-04-x64" ||
		got.Created != "2026-03-01T11:00:00Z" || !slices.Equal(got.Tags, []string{"k8s"}) || got.VPCUUID == "" {
		t.Errorf("droplet %+v", got)
	}
	// What the API always shows, be it null or empty.
	var body struct {
		Droplet map[string]any `json:"droplet"`
	}
	w.do("GET", fmt.Sprintf("/v2/droplets/%d", added.ID), "").decode(t, &body)
	for _, field := range []string{"kernel", "next_backup_window", "backup_ids", "snapshot_ids", "volume_ids", "features"} {
		if _, ok := body.Droplet[field]; !ok {
			t.Errorf("no %s", field)
		}
	}
}

func TestAddressesAreUniqueForTenThousandDroplets(t *testing.T) {
	sim := simulator.New()
	seen := map[string]bool{}
	for range 10_000 {
		d := sim.AddDroplet(simulator.DropletSpec{IPv6: true})
		for _, n := range d.Networks.V4 {
			seen[n.IPAddress] = true
		}
		seen[d.Networks.V6[0].IPAddress] = true
	}
	if len(seen) != 30_000 {
		t.Errorf("%d different addresses, want 30000", len(seen))
	}
}

func TestChosenAddressesAreNotGivenToOthers(t *testing.T) {
	sim := simulator.New()
	first := sim.AddDroplet(simulator.DropletSpec{}).Networks
	chosen := simulator.DropletSpec{PrivateIPv4: "10.116.0.3", PublicIPv4: "203.0.113.3"}
	sim.AddDroplet(chosen)
	next := sim.AddDroplet(simulator.DropletSpec{}).Networks
	want := []string{"10.116.0.2", "203.0.113.2", "10.116.0.4", "203.0.113.4"}
	got := []string{first.V4[0].IPAddress, first.V4[1].IPAddress, next.V4[0].IPAddress, next.V4[1].IPAddress}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

func TestListFilters(t *testing.T) {
	w := newWorld(t)
	plain := w.AddDroplet(simulator.DropletSpec{Name: "Web", Tags: []string{"x"}}).ID
	gpu := w.AddDroplet(simulator.DropletSpec{Name: "web", GPU: true, Tags: []string{"x"}}).ID
	sized := w.AddDroplet(simulator.DropletSpec{Size: "gpu-mi300x1-192gb"}).ID
	twin := w.AddDroplet(simulator.DropletSpec{Name: "wEB"}).ID
	type list = func(context.Context, *godo.ListOptions) ([]godo.Droplet, *godo.Response, error)
	for name, tc := range map[string]struct {
		list list
		want []int
	}{
		"plain":       {w.client.Droplets.List, []int{twin, plain}},
		"gpus":        {w.client.Droplets.ListWithGPUs, []int{sized, gpu}},
		"tag":         {byName(w.client.Droplets.ListByTag, "X"), []int{gpu, plain}},
		"unknown tag": {byName(w.client.Droplets.ListByTag, "y"), []int{}},
		"name":        {byName(w.client.Droplets.ListByName, "WEB"), []int{twin, plain}},
		"no match":    {byName(w.client.Droplets.ListByName, "we"), []int{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, dropletIDs(everyPage(t, 1, tc.list))); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
		})
	}
	for _, query := range []string{"tag_name=x&name=y", "tag_name=x&type=gpus", "type=other"} {
		if got := w.do("GET", "/v2/droplets?"+query, ""); got.status != 422 {
			t.Errorf("%s: %d", query, got.status)
		}
	}
}

func byName(list func(context.Context, string, *godo.ListOptions) ([]godo.Droplet, *godo.Response, error), name string) func(context.Context, *godo.ListOptions) ([]godo.Droplet, *godo.Response, error) {
	return func(ctx context.Context, opt *godo.ListOptions) ([]godo.Droplet, *godo.Response, error) {
		return list(ctx, name, opt)
	}
}

func dropletRequest(name string) *godo.DropletCreateRequest {
	return &godo.DropletCreateRequest{
		Name: name, Region: "fra1", Size: "s-1vcpu-1gb", Image: godo.DropletCreateImage{Slug: "debian-12-x64"},
	}
}

func TestLifeOfACreatedDroplet(t *testing.T) {
	w := newWorld(t, simulator.WithDropletActivation(20*time.Second))
	req := dropletRequest("n1")
	req.Tags, req.IPv6 = []string{"fresh"}, true
	made, resp, err := w.client.Droplets.Create(t.Context(), req)
	if err != nil || resp.StatusCode != 202 {
		t.Fatal(resp, err)
	}
	check := func(stage string, d *godo.Droplet, status string, locked bool, v4, v6 int) {
		t.Helper()
		if d.Status != status || d.Locked != locked || len(d.Networks.V4) != v4 || len(d.Networks.V6) != v6 {
			t.Errorf("%s: %s, locked %v, %+v", stage, d.Status, d.Locked, d.Networks)
		}
	}
	check("created", made, "new", true, 0, 0)
	if len(resp.Links.Actions) != 1 || resp.Links.Actions[0].Rel != "create" {
		t.Fatalf("links %+v", resp.Links)
	}
	action := must[*godo.Action](t)(w.client.Actions.Get(t.Context(), resp.Links.Actions[0].ID))
	if action.Status != "in-progress" || action.CompletedAt != nil {
		t.Errorf("action %+v", action)
	}
	get := func() *godo.Droplet { return must[*godo.Droplet](t)(w.client.Droplets.Get(t.Context(), made.ID)) }
	w.advance(19 * time.Second)
	check("young", get(), "new", true, 0, 0)
	w.advance(time.Second)
	check("ready", get(), "active", false, 2, 1)
	if action := must[*godo.Action](t)(w.client.Actions.Get(t.Context(), action.ID)); action.Status != "completed" {
		t.Errorf("action %+v", action)
	}
	if tagged := everyPage(t, 0, byName(w.client.Droplets.ListByTag, "fresh")); len(tagged) != 1 {
		t.Errorf("%d tagged droplets", len(tagged))
	}
	ok(t)(w.client.Droplets.Delete(t.Context(), made.ID))
	_, _, err = w.client.Droplets.Get(t.Context(), made.ID)
	wantRefusal(t, err, 404, "The resource you were accessing could not be found.")
	_, err = w.client.Droplets.Delete(t.Context(), made.ID)
	wantRefusal(t, err, 404, "")
}

func TestPublicAddressesMayComeLate(t *testing.T) {
	w := newWorld(t, simulator.WithDropletActivation(20*time.Second), simulator.WithPublicAddressDelay(5*time.Second))
	req := dropletRequest("n1")
	req.IPv6 = true
	made := must[*godo.Droplet](t)(w.client.Droplets.Create(t.Context(), req))
	check := func(stage, status string, v4, v6 int) {
		t.Helper()
		d := must[*godo.Droplet](t)(w.client.Droplets.Get(t.Context(), made.ID))
		if private, err := d.PrivateIPv4(); err != nil || (private == "") != (v4 == 0) {
			t.Errorf("%s: private address %q, %v", stage, private, err)
		}
		if d.Status != status || len(d.Networks.V4) != v4 || len(d.Networks.V6) != v6 {
			t.Errorf("%s: %s, %+v", stage, d.Status, d.Networks)
		}
	}
	check("young", "new", 0, 0)
	w.advance(24 * time.Second)
	check("active", "active", 1, 0)
	var saved bytes.Buffer
	if err := w.Save(&saved); err != nil {
		t.Fatal(err)
	}
	if err := w.Restore(&saved); err != nil {
		t.Fatal(err)
	}
	check("restored", "active", 1, 0)
	w.advance(time.Second)
	check("whole", "active", 2, 1)
	second := must[*godo.Droplet](t)(w.client.Droplets.Create(t.Context(), req))
	if err := w.StartDroplet(second.ID); err != nil {
		t.Fatal(err)
	}
	if d, _ := w.Droplet(second.ID); len(d.Networks.V4) != 2 {
		t.Errorf("started by hand: %+v", d.Networks)
	}
}

func TestSeveralDropletsAreCreatedAtOnce(t *testing.T) {
	w := newWorld(t)
	public := false
	made, resp, err := w.client.Droplets.CreateMultiple(t.Context(), &godo.DropletMultiCreateRequest{
		Names: []string{"a", "b"}, Region: "nyc", Size: "s-1vcpu-1gb",
		Image: godo.DropletCreateImage{Slug: "debian-12-x64"}, PublicNetworking: &public,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(made) != 2 || made[0].Name != "a" || made[1].Name != "b" || len(resp.Links.Actions) != 2 || made[0].Region.Slug != "nyc1" {
		t.Errorf("made %+v, links %+v", made, resp.Links)
	}
	if got, _ := w.Droplet(made[0].ID); len(got.Networks.V4) != 1 || got.Networks.V4[0].Type != "private" {
		t.Errorf("networks %+v", got.Networks)
	}
}

func TestInvalidDropletsAreRefused(t *testing.T) {
	w := newWorld(t)
	public := false
	for name, tc := range map[string]struct {
		change func(*godo.DropletCreateRequest)
		status int
		text   string
	}{
		"no name":        {func(r *godo.DropletCreateRequest) { r.Name = "" }, 422, "Name can't be blank"},
		"bad name":       {func(r *godo.DropletCreateRequest) { r.Name = "a_b" }, 422, "Only valid hostname characters are allowed"},
		"bad size":       {func(r *godo.DropletCreateRequest) { r.Size = "huge" }, 422, "You specified an invalid size for Droplet creation."},
		"bad image":      {func(r *godo.DropletCreateRequest) { r.Image.Slug = "none" }, 422, "You specified an invalid image for Droplet creation."},
		"bad region":     {func(r *godo.DropletCreateRequest) { r.Region = "xyz" }, 422, "Region is not available"},
		"size elsewhere": {func(r *godo.DropletCreateRequest) { r.Size = "gpu-h100x1-80gb" }, 422, "Size is not available in this region."},
		"bad VPC":        {func(r *godo.DropletCreateRequest) { r.VPCUUID = "none" }, 422, "vpc_uuid"},
		"IPv6 alone":     {func(r *godo.DropletCreateRequest) { r.IPv6, r.PublicNetworking = true, &public }, 422, "ipv6"},
		"unknown key":    {func(r *godo.DropletCreateRequest) { r.SSHKeys = []godo.DropletCreateSSHKey{{ID: 7}} }, 422, "are invalid key identifiers"},
		"bad tag":        {func(r *godo.DropletCreateRequest) { r.Tags = []string{"a/b"} }, 422, "is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			req := dropletRequest("n1")
			tc.change(req)
			_, _, err := w.client.Droplets.Create(t.Context(), req)
			wantRefusal(t, err, tc.status, tc.text)
		})
	}
	if n := len(w.Droplets()); n != 0 {
		t.Errorf("%d droplets were made", n)
	}
}

func TestPowerActions(t *testing.T) {
	w := newWorld(t, simulator.WithActionDuration(10*time.Second))
	actions := w.client.DropletActions
	type act = func(context.Context, int) (*godo.Action, *godo.Response, error)
	for name, tc := range map[string]struct {
		off     bool
		act     act
		kind    string
		want    string // status when completed
		refused string
	}{
		"power on":            {true, actions.PowerOn, "power_on", "active", ""},
		"power on again":      {false, actions.PowerOn, "power_on", "active", ""},
		"power off":           {false, actions.PowerOff, "power_off", "off", ""},
		"power off again":     {true, actions.PowerOff, "", "off", "Droplet is already powered off"},
		"shutdown":            {false, actions.Shutdown, "shutdown", "off", ""},
		"reboot":              {false, actions.Reboot, "reboot", "active", ""},
		"reboot while off":    {true, actions.Reboot, "", "off", "Droplet is currently off"},
		"power cycle":         {false, actions.PowerCycle, "power_cycle", "active", ""},
		"power cycle to life": {true, actions.PowerCycle, "power_cycle", "active", ""},
	} {
		t.Run(name, func(t *testing.T) {
			id := w.AddDroplet(simulator.DropletSpec{}).ID
			if tc.off {
				if err := w.StopDroplet(id); err != nil {
					t.Fatal(err)
				}
			}
			before, _ := w.Droplet(id)
			action, resp, err := tc.act(t.Context(), id)
			if tc.refused != "" {
				wantRefusal(t, err, 422, tc.refused)
			} else {
				if err != nil || resp.StatusCode != 201 || action.Type != tc.kind || action.Status != "in-progress" || action.ResourceID != id {
					t.Fatal(action, resp, err)
				}
				if during, _ := w.Droplet(id); !during.Locked || during.Status != before.Status {
					t.Errorf("during the action: %s, locked %v", during.Status, during.Locked)
				}
				_, _, err = actions.Reboot(t.Context(), id)
				wantRefusal(t, err, 422, "Droplet already has a pending event.")
				w.advance(10 * time.Second)
				if done := must[*godo.Action](t)(actions.Get(t.Context(), id, action.ID)); done.Status != "completed" || done.CompletedAt == nil {
					t.Errorf("action %+v", done)
				}
			}
			if after, _ := w.Droplet(id); after.Status != tc.want || after.Locked || !cmp.Equal(after.Networks, before.Networks) {
				t.Errorf("afterwards: %s, locked %v, %+v", after.Status, after.Locked, after.Networks)
			}
		})
	}
}

func TestResizeNeedsPowerOffAndKeepsTheDiskUnlessAsked(t *testing.T) {
	w := newWorld(t)
	id := w.AddDroplet(simulator.DropletSpec{}).ID
	resize := func(size string, disk bool) error {
		_, _, err := w.client.DropletActions.Resize(t.Context(), id, size, disk)
		return err
	}
	wantRefusal(t, resize("s-4vcpu-8gb", false), 422, "Droplet is currently on. Please power it off to run this event.")
	if err := w.StopDroplet(id); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, resize("none", false), 422, "invalid size")
	wantRefusal(t, resize("s-1vcpu-1gb", true), 422, "Size can not decrease size of Droplet's disk image")
	for _, tc := range []struct {
		disk bool
		want int
	}{{false, 80}, {true, 160}} {
		if err := resize("s-4vcpu-8gb", tc.disk); err != nil {
			t.Fatal(err)
		}
		got := must[*godo.Droplet](t)(w.client.Droplets.Get(t.Context(), id))
		if got.SizeSlug != "s-4vcpu-8gb" || got.Size.Slug != "s-4vcpu-8gb" || got.Memory != 8192 || got.Disk != tc.want || got.Status != "off" {
			t.Errorf("with disk %v: %+v", tc.disk, got)
		}
	}
}

func TestRenameShowsInTheAPIOnly(t *testing.T) {
	w := newWorld(t)
	d := w.AddDroplet(simulator.DropletSpec{Name: "old"})
	_, _, err := w.client.DropletActions.Rename(t.Context(), d.ID, "bad name")
	wantRefusal(t, err, 422, "Only valid hostname characters")
	must[*godo.Action](t)(w.client.DropletActions.Rename(t.Context(), d.ID, "new"))
	if got, _ := w.Droplet(d.ID); got.Name != "new" {
		t.Errorf("name %s", got.Name)
	}
	if got := w.do("GET", "/metadata/v1/hostname", ""); got.body != "old" {
		t.Errorf("hostname %s", got.body)
	}
}

func TestActionsAndDeletionByTag(t *testing.T) {
	w := newWorld(t)
	a := w.AddDroplet(simulator.DropletSpec{Tags: []string{"x"}}).ID
	b := w.AddDroplet(simulator.DropletSpec{Tags: []string{"x"}}).ID
	other := w.AddDroplet(simulator.DropletSpec{}).ID
	if done := must[[]godo.Action](t)(w.client.DropletActions.PowerOffByTag(t.Context(), "x")); len(done) != 2 {
		t.Errorf("actions %v", done)
	}
	for id, want := range map[int]string{a: "off", b: "off", other: "active"} {
		if got, _ := w.Droplet(id); got.Status != want {
			t.Errorf("droplet %d is %s, want %s", id, got.Status, want)
		}
	}
	ok(t)(w.client.Droplets.DeleteByTag(t.Context(), "x"))
	if got := dropletIDs(everyPage(t, 0, w.client.Droplets.List)); !slices.Equal(got, []int{other}) {
		t.Errorf("left are %v", got)
	}
	// Without a tag nothing must be deleted.
	if got := w.do("DELETE", "/v2/droplets", ""); got.status != 400 || len(w.Droplets()) != 1 {
		t.Errorf("without tag: %d, %d droplets left", got.status, len(w.Droplets()))
	}
}

func TestPendingDropletsHaveNoAddresses(t *testing.T) {
	for name, end := range map[string]func(*world, int) error{
		"until started": func(w *world, id int) error { return w.StartDroplet(id) },
		"until one is given": func(w *world, id int) error {
			address := "198.51.100.77"
			return w.PatchDroplet(id, simulator.DropletPatch{PublicIPv4: &address})
		},
		"until patched": func(w *world, id int) error {
			return w.PatchDroplet(id, simulator.DropletPatch{Pending: new(bool)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			id := w.AddDroplet(simulator.DropletSpec{Pending: true}).ID
			if got, _ := w.Droplet(id); got.Status != "new" || len(got.Networks.V4) != 0 {
				t.Errorf("pending: %s, %+v", got.Status, got.Networks)
			}
			if err := end(w, id); err != nil {
				t.Fatal(err)
			}
			if got, _ := w.Droplet(id); got.Status != "active" || len(got.Networks.V4) != 2 {
				t.Errorf("then: %s, %+v", got.Status, got.Networks)
			}
		})
	}
}

func TestUnknownDropletsAreNotFound(t *testing.T) {
	sim := simulator.New()
	for name, err := range map[string]error{
		"stop": sim.StopDroplet(1), "start": sim.StartDroplet(1), "delete": sim.DeleteDroplet(1),
		"patch": sim.PatchDroplet(1, simulator.DropletPatch{}),
		"edit":  sim.EditLoadBalancer("x", func(*simulator.LoadBalancer) {}),
	} {
		if !errors.Is(err, simulator.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, found := sim.Droplet(1); found {
		t.Error("found")
	}
}

func BenchmarkFiveThousandDropletsByPages(b *testing.B) {
	sim := simulator.New(simulator.WithRateLimit(0, 0))
	for range 5000 {
		sim.AddDroplet(simulator.DropletSpec{Tags: []string{"k8s"}})
	}
	for b.Loop() {
		for page := 1; page <= 25; page++ {
			if got := serve(sim, fmt.Sprintf("/v2/droplets?per_page=200&page=%d", page)); got != 200 {
				b.Fatal(got)
			}
		}
	}
}
