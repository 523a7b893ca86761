package simulator_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/simulator"
)

func TestWhatIsReadOftenEnoughArrives(t *testing.T) {
	w := newWorld(t, simulator.WithActivationReads(2))
	ctx := t.Context()
	lb := createLB(t, w, lbRequest("lb"))
	made, resp, err := w.client.Droplets.Create(ctx, dropletRequest("d"))
	if err != nil {
		t.Fatal(err)
	}
	cert := must[*godo.Certificate](t)(w.client.Certificates.Create(ctx, &godo.CertificateRequest{Name: "c", DNSNames: []string{"example.com"}}))
	for _, tc := range []struct {
		what string
		read func() string
		want []string
	}{
		{"load balancer", func() string { return getLB(t, w, lb.ID).Status }, []string{"new", "new", "active", "active"}},
		{"droplet, by its action", func() string {
			return must[*godo.Action](t)(w.client.DropletActions.GetByURI(ctx, resp.Links.Actions[0].HREF)).Status
		}, []string{"in-progress", "in-progress", "completed"}},
		{"droplet", func() string { return must[*godo.Droplet](t)(w.client.Droplets.Get(ctx, made.ID)).Status }, []string{"active"}},
		{"certificate, in lists", func() string {
			return must[[]godo.Certificate](t)(w.client.Certificates.List(ctx, nil))[0].State
		}, []string{"pending", "pending", "verified"}},
		{"certificate", func() string { return must[*godo.Certificate](t)(w.client.Certificates.Get(ctx, cert.ID)).State }, []string{"verified"}},
	} {
		for i, want := range tc.want {
			if got := tc.read(); got != want {
				t.Errorf("%s is %s at read %d, want %s", tc.what, got, i+1, want)
			}
		}
	}
	must[*godo.Action](t)(w.client.DropletActions.PowerOff(ctx, made.ID))
	var seen []string
	for range 4 {
		seen = append(seen, must[*godo.Droplet](t)(w.client.Droplets.Get(ctx, made.ID)).Status)
	}
	if !slices.Equal(seen, []string{"active", "active", "off", "off"}) {
		t.Errorf("turned off it is %v", seen)
	}
}

func TestReadsThatAreLeftOutliveASnapshot(t *testing.T) {
	w := newWorld(t, simulator.WithActivationReads(3))
	lb := createLB(t, w, lbRequest("lb"))
	getLB(t, w, lb.ID)
	var saved bytes.Buffer
	if err := w.Save(&saved); err != nil {
		t.Fatal(err)
	}
	other := newWorld(t)
	if err := other.Restore(&saved); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"new", "new", "active"} {
		if got := getLB(t, other, lb.ID).Status; got != want {
			t.Errorf("read %d: %s, want %s", i+2, got, want)
		}
	}
}

func TestAListThatLagsIsNoRead(t *testing.T) {
	w := newWorld(t, simulator.WithActivationReads(1), simulator.WithListLag(time.Minute))
	lb := createLB(t, w, lbRequest("lb"))
	w.advance(2 * time.Minute)
	for range 3 {
		must[[]godo.LoadBalancer](t)(w.client.LoadBalancers.List(t.Context(), nil))
	}
	if got := getLB(t, w, lb.ID).Status; got != "new" {
		t.Errorf("status %s", got)
	}
}

func TestLimitsOfTheAccount(t *testing.T) {
	w := newWorld(t, simulator.WithLimits(simulator.Limits{Droplets: 1, LoadBalancers: 1, Firewalls: 1, ReservedIPs: 1, Volumes: 1}))
	ctx := t.Context()
	for name, tc := range map[string]struct {
		create func(n int) (*godo.Response, error)
		status int
		text   string
	}{
		"droplets": {func(n int) (*godo.Response, error) {
			_, resp, err := w.client.Droplets.Create(ctx, dropletRequest(fmt.Sprint("d", n)))
			return resp, err
		}, 422, "exceed your droplet limit"},
		"load balancers": {func(n int) (*godo.Response, error) {
			_, resp, err := w.client.LoadBalancers.Create(ctx, lbRequest(fmt.Sprint("lb", n)))
			return resp, err
		}, 429, "load balancer limit reached"},
		"firewalls": {func(n int) (*godo.Response, error) {
			_, resp, err := w.client.Firewalls.Create(ctx, firewallRequest(fmt.Sprint("fw", n)))
			return resp, err
		}, 422, "firewall limit reached"},
		"reserved IPs": {func(int) (*godo.Response, error) {
			_, resp, err := w.client.ReservedIPs.Create(ctx, &godo.ReservedIPCreateRequest{Region: "nyc3"})
			return resp, err
		}, 422, "reserved IP limit"},
		"volumes": {func(n int) (*godo.Response, error) {
			_, resp, err := w.client.Storage.CreateVolume(ctx, &godo.VolumeCreateRequest{Region: "nyc3", Name: fmt.Sprint("v", n), SizeGigaBytes: 1})
			return resp, err
		}, 403, "capacity limit exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tc.create(1); err != nil {
				t.Fatal(err)
			}
			resp, err := tc.create(2)
			wantRefusal(t, err, tc.status, tc.text)
			// It is no rate limit.
			if resp.Rate.Remaining == 0 || resp.Header.Get("Retry-After") != "" {
				t.Errorf("it looks like the rate limit: %v", resp.Header)
			}
		})
	}
	if got := account(t, w); got.DropletLimit != 1 || got.VolumeLimit != 1 || got.ReservedIPLimit != 1 {
		t.Errorf("account %+v", got)
	}
}

func TestALockedAccountOnlyReads(t *testing.T) {
	w := newWorld(t)
	w.control("PATCH", "settings", `{"account_status":"locked"}`, 200)
	if got := account(t, w).Status; got != "locked" {
		t.Errorf("status %s", got)
	}
	_, _, err := w.client.Tags.Create(t.Context(), &godo.TagCreateRequest{Name: "x"})
	wantRefusal(t, err, 403, "locked")
	must[[]godo.Tag](t)(w.client.Tags.List(t.Context(), nil))
	w.control("PATCH", "settings", `{"account_status":"closed"}`, 400)
	for _, settings := range []string{
		`{"activation_reads":-1}`, `{"rate_limit_per_hour":-1}`, `{"rate_limit_per_minute":-1}`, `{"limits":{"volumes":-1}}`,
	} {
		w.control("PATCH", "settings", settings, 400)
	}
}

func TestBackupsAreMadeByThePolicy(t *testing.T) {
	w := newWorld(t)
	req := dropletRequest("d")
	hour := 8
	req.Backups, req.Monitoring = true, true
	req.BackupPolicy = &godo.DropletBackupPolicyRequest{Plan: "weekly", Weekday: "TUE", Hour: &hour}
	d := must[*godo.Droplet](t)(w.client.Droplets.Create(t.Context(), req))
	got := must[*godo.Droplet](t)(w.client.Droplets.Get(t.Context(), d.ID))
	// The first of March 2026 is a Sunday.
	if want := time.Date(2026, time.March, 3, 8, 0, 0, 0, time.UTC); got.NextBackupWindow == nil || !got.NextBackupWindow.Start.Time.Equal(want) {
		t.Errorf("next backup %+v, want %s", got.NextBackupWindow, want)
	}
	if !slices.Contains(got.Features, "backups") || !slices.Contains(got.Features, "monitoring") {
		t.Errorf("features %v", got.Features)
	}
	must[*godo.Action](t)(w.client.DropletActions.DisableBackups(t.Context(), d.ID))
	got = must[*godo.Droplet](t)(w.client.Droplets.Get(t.Context(), d.ID))
	if got.NextBackupWindow != nil || slices.Contains(got.Features, "backups") {
		t.Errorf("without backups %+v", got)
	}
	_, _, err := w.client.DropletActions.DisableBackups(t.Context(), d.ID)
	wantRefusal(t, err, 422, "does not have backups")
	for _, bad := range []godo.DropletBackupPolicyRequest{{Plan: "monthly", Hour: &hour}, {Plan: "weekly", Hour: &hour}, {Plan: "daily", Weekday: "MON", Hour: &hour}} {
		_, _, err := w.client.DropletActions.EnableBackupsWithPolicy(t.Context(), d.ID, &bad)
		wantRefusal(t, err, 422, "backup_policy")
	}
}

func TestVolumesFollowTheirDroplets(t *testing.T) {
	w := newWorld(t, simulator.WithActionDuration(time.Second))
	ctx, actions := t.Context(), w.client.StorageActions
	d, other, far := w.AddDroplet(simulator.DropletSpec{}), w.AddDroplet(simulator.DropletSpec{}), w.AddDroplet(simulator.DropletSpec{Region: "fra1"})
	v := must[*godo.Volume](t)(w.client.Storage.CreateVolume(ctx, &godo.VolumeCreateRequest{Region: "nyc3", Name: "data", SizeGigaBytes: 10}))
	get := func() *godo.Volume { return must[*godo.Volume](t)(w.client.Storage.GetVolume(ctx, v.ID)) }
	_, _, err := actions.Attach(ctx, v.ID, far.ID)
	wantRefusal(t, err, 422, "region")
	must[*godo.Action](t)(actions.Attach(ctx, v.ID, d.ID))
	if got := get(); len(got.DropletIDs) != 0 {
		t.Errorf("attached at once: %+v", got)
	}
	_, _, err = actions.Attach(ctx, v.ID, d.ID)
	wantRefusal(t, err, 422, "pending event")
	w.advance(time.Second)
	_, _, err = actions.Attach(ctx, v.ID, other.ID)
	wantRefusal(t, err, 422, "This volume is already attached")
	_, _, err = actions.DetachByDropletID(ctx, v.ID, other.ID)
	wantRefusal(t, err, 422, "Attachment not found")
	_, err = w.client.Storage.DeleteVolume(ctx, v.ID)
	wantRefusal(t, err, 409, "attached")
	if _, _, err := w.client.Storage.CreateVolume(ctx, &godo.VolumeCreateRequest{Region: "nyc3", Name: "data", SizeGigaBytes: 10}); err == nil {
		t.Error("two volumes of one name")
	}
	ok(t)(w.client.Droplets.Delete(ctx, d.ID))
	if got := get(); len(got.DropletIDs) != 0 {
		t.Errorf("still attached to what is gone: %+v", got)
	}
	must[*godo.Tag](t)(w.client.Tags.Create(ctx, &godo.TagCreateRequest{Name: "vol"}))
	ok(t)(w.client.Tags.TagResources(ctx, "vol", &godo.TagResourcesRequest{Resources: []godo.Resource{{ID: v.ID, Type: godo.VolumeResourceType}}}))
	if tag := must[*godo.Tag](t)(w.client.Tags.Get(ctx, "vol")); tag.Resources.Volumes.Count != 1 {
		t.Errorf("tag %+v", tag.Resources)
	}
	req := dropletRequest("with-volume")
	req.Region = "nyc3"
	req.Volumes = []godo.DropletCreateVolume{{ID: v.ID}}
	made := must[*godo.Droplet](t)(w.client.Droplets.Create(ctx, req))
	if got := get(); !slices.Equal(got.DropletIDs, []int{made.ID}) {
		t.Errorf("attached to %v, want %d", got.DropletIDs, made.ID)
	}
	_, _, err = w.client.Droplets.Create(ctx, req)
	wantRefusal(t, err, 422, "already attached")
}
