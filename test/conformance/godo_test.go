package conformance

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/simulator"
)

// notInGodo are operations that the client has no method for.
var notInGodo = []string{"PUT /v2/projects/{id}", "DELETE /v2/volumes"}

func TestTheClientCanDoEveryOperation(t *testing.T) {
	sim := simulator.New(simulator.WithRateLimit(0, 0))
	client := newClient(t, sim,
		// The client sends these although they are not described.
		"enable_private_networking", `"weekday":""`, `"purpose":null`)
	for _, group := range []func(*testing.T, *simulator.Simulator, *godo.Client){
		everyCatalogueCall, everyKeyCall, everyTagCall, everyVPCCall, everyDropletCall, everyDropletAction, everyVolumeCall,
		everyCertificateCall, everyBalancerCall, everyFirewallCall, everyReservedIPCall, everyProjectCall,
	} {
		group(t, sim, client)
	}
	asked := map[string]bool{}
	for _, r := range sim.Requests() {
		if r.Status >= 200 && r.Status < 300 {
			asked[operationOf(r)] = true
		}
	}
	for _, operation := range simulator.Operations() {
		if !asked[operation] && !slices.Contains(notInGodo, operation) {
			t.Errorf("%s was not done", operation)
		}
	}
}

// operationOf finds the operation of a request; literal paths come first.
func operationOf(r simulator.Request) string {
	if literal := r.Method + " " + r.Path; slices.Contains(simulator.Operations(), literal) {
		return literal
	}
	for _, operation := range simulator.Operations() {
		method, pattern, _ := strings.Cut(operation, " ")
		segments := strings.Split(pattern, "/")
		for i, s := range segments {
			if strings.HasPrefix(s, "{") {
				segments[i] = "*"
			}
		}
		if ok, err := path.Match(strings.Join(segments, "/"), r.Path); ok && err == nil && method == r.Method {
			return operation
		}
	}
	return ""
}

func everyCatalogueCall(t *testing.T, _ *simulator.Simulator, c *godo.Client) {
	ctx := t.Context()
	account := done[*godo.Account](t, 200)(c.Account.Get(ctx))
	if account.Status != "active" || account.Team == nil {
		t.Errorf("account %+v", account)
	}
	listed[godo.Region](t, 16)(c.Regions.List(ctx, nil))
	done[[]godo.Size](t, 200)(c.Sizes.List(ctx, &godo.ListOptions{PerPage: 200}))
	images := listed[godo.Image](t, 6)(c.Images.List(ctx, nil))
	listed[godo.Image](t, 6)(c.Images.ListDistribution(ctx, nil))
	listed[godo.Image](t, 0)(c.Images.ListApplication(ctx, nil))
	listed[godo.Image](t, 0)(c.Images.ListUser(ctx, nil))
	listed[godo.Image](t, 0)(c.Images.ListByTag(ctx, "none", nil))
	byID := done[*godo.Image](t, 200)(c.Images.GetByID(ctx, images[0].ID))
	if bySlug := done[*godo.Image](t, 200)(c.Images.GetBySlug(ctx, images[0].Slug)); bySlug.ID != byID.ID {
		t.Errorf("image %d by slug, %d by id", bySlug.ID, byID.ID)
	}
}

const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ9ZmDNzZBGRnLEDVJDN8iaXsWBlqvWlf7tqkBqkBqkB me"

func everyKeyCall(t *testing.T, sim *simulator.Simulator, c *godo.Client) {
	ctx := t.Context()
	k := done[*godo.Key](t, 201)(c.Keys.Create(ctx, &godo.KeyCreateRequest{Name: "me", PublicKey: publicKey}))
	if got := done[*godo.Key](t, 200)(c.Keys.GetByFingerprint(ctx, k.Fingerprint)); *got != *k {
		t.Errorf("key %+v, made %+v", got, k)
	}
	done[*godo.Key](t, 200)(c.Keys.GetByID(ctx, k.ID))
	done[*godo.Key](t, 200)(c.Keys.UpdateByID(ctx, k.ID, &godo.KeyUpdateRequest{Name: "you"}))
	done[*godo.Key](t, 200)(c.Keys.UpdateByFingerprint(ctx, k.Fingerprint, &godo.KeyUpdateRequest{Name: "them"}))
	if all := listed[godo.Key](t, 1)(c.Keys.List(ctx, nil)); all[0].Name != "them" {
		t.Errorf("keys %+v", all)
	}
	d := done[*godo.Droplet](t, 202)(c.Droplets.Create(ctx, &godo.DropletCreateRequest{
		Name: "with-key", Region: "nyc3", Size: "s-1vcpu-1gb", Image: godo.DropletCreateImage{Slug: "debian-13-x64"},
		SSHKeys: []godo.DropletCreateSSHKey{{ID: k.ID}, {Fingerprint: k.Fingerprint}},
	}))
	if err := sim.DeleteDroplet(d.ID); err != nil {
		t.Error(err)
	}
	gone(t)(c.Keys.DeleteByID(ctx, k.ID))
	k = done[*godo.Key](t, 201)(c.Keys.Create(ctx, &godo.KeyCreateRequest{Name: "me", PublicKey: publicKey}))
	gone(t)(c.Keys.DeleteByFingerprint(ctx, k.Fingerprint))
}

func everyTagCall(t *testing.T, sim *simulator.Simulator, c *godo.Client) {
	ctx := t.Context()
	d := sim.AddDroplet(simulator.DropletSpec{})
	done[*godo.Tag](t, 201)(c.Tags.Create(ctx, &godo.TagCreateRequest{Name: "kept"}))
	resources := []godo.Resource{{ID: fmt.Sprint(d.ID), Type: godo.DropletResourceType}}
	gone(t)(c.Tags.TagResources(ctx, "kept", &godo.TagResourcesRequest{Resources: resources}))
	if got := done[*godo.Tag](t, 200)(c.Tags.Get(ctx, "kept")); got.Resources.Droplets.Count != 1 || got.Resources.Count != 1 {
		t.Errorf("tag %+v", got.Resources)
	}
	listed[godo.Droplet](t, 1)(c.Droplets.ListByTag(ctx, "kept", nil))
	gone(t)(c.Tags.UntagResources(ctx, "kept", &godo.UntagResourcesRequest{Resources: resources}))
	listed[godo.Tag](t, 1)(c.Tags.List(ctx, nil))
	gone(t)(c.Tags.Delete(ctx, "kept"))
}

func everyVPCCall(t *testing.T, _ *simulator.Simulator, c *godo.Client) {
	ctx := t.Context()
	v := done[*godo.VPC](t, 201)(c.VPCs.Create(ctx, &godo.VPCCreateRequest{Name: "own", RegionSlug: "fra1", IPRange: "10.10.0.0/20"}))
	first := done[*godo.VPC](t, 201)(c.VPCs.Create(ctx, &godo.VPCCreateRequest{Name: "second", RegionSlug: "fra1"}))
	done[*godo.VPC](t, 200)(c.VPCs.Get(ctx, v.ID))
	done[*godo.VPC](t, 200)(c.VPCs.Update(ctx, v.ID, &godo.VPCUpdateRequest{Name: "mine", Description: "d"}))
	if got := done[*godo.VPC](t, 200)(c.VPCs.Set(ctx, v.ID, godo.VPCSetDescription(""))); got.Name != "mine" || got.Description != "" {
		t.Errorf("VPC %+v", got)
	}
	listed[*godo.VPC](t, 3)(c.VPCs.List(ctx, nil))
	listed[*godo.VPCMember](t, 0)(c.VPCs.ListMembers(ctx, v.ID, &godo.VPCListMembersRequest{ResourceType: "droplet"}, nil))
	s := done[*godo.VPCSubnet](t, 201)(c.VPCs.CreateSubnet(ctx, v.ID, &godo.VPCSubnetCreateRequest{Name: "part"}))
	if s.IPRange != "10.10.0.0/24" {
		t.Errorf("subnet %+v", s)
	}
	done[*godo.VPCSubnet](t, 200)(c.VPCs.GetSubnet(ctx, v.ID, s.ID))
	done[*godo.VPCSubnet](t, 200)(c.VPCs.UpdateSubnet(ctx, v.ID, s.ID, &godo.VPCSubnetUpdateRequest{Name: "other"}))
	if all := listed[*godo.VPCSubnet](t, 1)(c.VPCs.ListSubnets(ctx, v.ID, nil)); all[0].Name != "other" {
		t.Errorf("subnets %+v", all[0])
	}
	gone(t)(c.VPCs.DeleteSubnet(ctx, v.ID, s.ID))
	gone(t)(c.VPCs.Delete(ctx, first.ID))
}

func newDroplet(name string, tags ...string) *godo.DropletCreateRequest {
	return &godo.DropletCreateRequest{
		Name: name, Region: "nyc3", Size: "s-2vcpu-4gb", Image: godo.DropletCreateImage{Slug: "ubuntu-24-04-x64"}, Tags: tags,
	}
}

func everyDropletCall(t *testing.T, sim *simulator.Simulator, c *godo.Client) {
	ctx := t.Context()
	d := done[*godo.Droplet](t, 202)(c.Droplets.Create(ctx, newDroplet("single", "group")))
	done[[]godo.Droplet](t, 202)(c.Droplets.CreateMultiple(ctx, &godo.DropletMultiCreateRequest{
		Names: []string{"one", "two"}, Region: "nyc3", Size: "s-1vcpu-1gb", Image: godo.DropletCreateImage{ID: 150_000_001},
		SSHKeys: []godo.DropletCreateSSHKey{}, Tags: []string{"group"},
	}))
	sim.AddDroplet(simulator.DropletSpec{GPU: true})
	done[*godo.Droplet](t, 200)(c.Droplets.Get(ctx, d.ID))
	done[[]godo.Droplet](t, 200)(c.Droplets.List(ctx, nil))
	listed[godo.Droplet](t, 1)(c.Droplets.ListWithGPUs(ctx, nil))
	listed[godo.Droplet](t, 1)(c.Droplets.ListByName(ctx, "SINGLE", nil))
	listed[godo.Droplet](t, 3)(c.Droplets.ListByTag(ctx, "group", nil))
	listed[godo.Action](t, 1)(c.Droplets.Actions(ctx, d.ID, nil))
	gone(t)(c.Droplets.Delete(ctx, d.ID))
	gone(t)(c.Droplets.DeleteByTag(ctx, "group"))
	listed[godo.Droplet](t, 0)(c.Droplets.ListByTag(ctx, "group", nil))
}

func everyDropletAction(t *testing.T, _ *simulator.Simulator, c *godo.Client) {
	ctx, actions := t.Context(), c.DropletActions
	made, resp, err := c.Droplets.Create(ctx, newDroplet("acted-on", "acted"))
	if err != nil {
		t.Fatal(err)
	}
	id := made.ID
	if a := done[*godo.Action](t, 200)(actions.GetByURI(ctx, resp.Links.Actions[0].HREF)); a.Type != "create" || a.Status != "completed" {
		t.Errorf("creation %+v", a)
	}
	done[*godo.Action](t, 201)(actions.Shutdown(ctx, id))
	done[*godo.Action](t, 201)(actions.Resize(ctx, id, "s-4vcpu-8gb", true))
	done[*godo.Action](t, 201)(actions.PowerOn(ctx, id))
	done[*godo.Action](t, 201)(actions.Reboot(ctx, id))
	done[*godo.Action](t, 201)(actions.PowerCycle(ctx, id))
	done[*godo.Action](t, 201)(actions.PowerOff(ctx, id))
	done[*godo.Action](t, 201)(actions.Rename(ctx, id, "renamed"))
	done[*godo.Action](t, 201)(actions.RebuildByImageSlug(ctx, id, "debian-13-x64"))
	done[*godo.Action](t, 201)(actions.RebuildByImageID(ctx, id, 150_000_001))
	done[*godo.Action](t, 201)(actions.PasswordReset(ctx, id))
	done[*godo.Action](t, 201)(actions.EnableIPv6(ctx, id))
	done[*godo.Action](t, 201)(actions.EnablePrivateNetworking(ctx, id))
	done[*godo.Action](t, 201)(actions.EnableBackups(ctx, id))
	done[*godo.Action](t, 201)(actions.DisableBackups(ctx, id))
	hour := 8
	done[*godo.Action](t, 201)(actions.EnableBackupsWithPolicy(ctx, id, &godo.DropletBackupPolicyRequest{Plan: "daily", Hour: &hour}))
	done[*godo.Action](t, 201)(actions.ChangeBackupPolicy(ctx, id, &godo.DropletBackupPolicyRequest{Plan: "weekly", Weekday: "SUN", Hour: &hour}))
	if p := done[*godo.DropletBackupPolicy](t, 200)(c.Droplets.GetBackupPolicy(ctx, id)); p.BackupPolicy == nil || p.BackupPolicy.Weekday != "SUN" {
		t.Errorf("policy %+v", p)
	}
	for _, byTag := range []func() ([]godo.Action, *godo.Response, error){
		func() ([]godo.Action, *godo.Response, error) { return actions.DisableBackupsByTag(ctx, "acted") },
		func() ([]godo.Action, *godo.Response, error) { return actions.EnableBackupsByTag(ctx, "acted") },
		func() ([]godo.Action, *godo.Response, error) { return actions.PowerOffByTag(ctx, "acted") },
		func() ([]godo.Action, *godo.Response, error) { return actions.PowerOnByTag(ctx, "acted") },
		func() ([]godo.Action, *godo.Response, error) { return actions.PowerCycleByTag(ctx, "acted") },
		func() ([]godo.Action, *godo.Response, error) { return actions.ShutdownByTag(ctx, "acted") },
		func() ([]godo.Action, *godo.Response, error) {
			return actions.EnablePrivateNetworkingByTag(ctx, "acted")
		},
	} {
		if got := done[[]godo.Action](t, 201)(byTag()); len(got) != 1 {
			t.Errorf("actions %+v", got)
		}
	}
	all := done[[]godo.Action](t, 200)(c.Actions.List(ctx, nil))
	done[*godo.Action](t, 200)(c.Actions.Get(ctx, all[0].ID))
	done[*godo.Action](t, 200)(actions.Get(ctx, id, all[0].ID))
	got := done[*godo.Droplet](t, 200)(c.Droplets.Get(ctx, id))
	if got.Name != "renamed" || got.SizeSlug != "s-4vcpu-8gb" || !slices.Contains(got.Features, "backups") || !slices.Contains(got.Features, "ipv6") {
		t.Errorf("afterwards %+v", got)
	}
}

func everyVolumeCall(t *testing.T, sim *simulator.Simulator, c *godo.Client) {
	ctx, storage := t.Context(), c.Storage
	d := sim.AddDroplet(simulator.DropletSpec{Name: "server"})
	v := done[*godo.Volume](t, 201)(storage.CreateVolume(ctx, &godo.VolumeCreateRequest{
		Region: "nyc3", Name: "data", SizeGigaBytes: 10, FilesystemType: "ext4", Tags: []string{"vol"},
	}))
	if found := listed[godo.Volume](t, 1)(storage.ListVolumes(ctx, &godo.ListVolumeParams{Region: "nyc3", Name: "data"})); found[0].ID != v.ID {
		t.Errorf("volumes %+v", found)
	}
	a := done[*godo.Action](t, 202)(c.StorageActions.Attach(ctx, v.ID, d.ID))
	if got := done[*godo.Action](t, 200)(c.StorageActions.Get(ctx, v.ID, a.ID)); got.Status != "completed" || got.Type != "attach_volume" {
		t.Errorf("action %+v", got)
	}
	if got := done[*godo.Volume](t, 200)(storage.GetVolume(ctx, v.ID)); !slices.Equal(got.DropletIDs, []int{d.ID}) {
		t.Errorf("attached to %v", got.DropletIDs)
	}
	if got := done[*godo.Droplet](t, 200)(c.Droplets.Get(ctx, d.ID)); !slices.Equal(got.VolumeIDs, []string{v.ID}) {
		t.Errorf("the droplet has %v", got.VolumeIDs)
	}
	done[*godo.Action](t, 202)(c.StorageActions.Resize(ctx, v.ID, 20, "nyc3"))
	done[*godo.Action](t, 202)(c.StorageActions.DetachByDropletID(ctx, v.ID, d.ID))
	listed[godo.Action](t, 3)(c.StorageActions.List(ctx, v.ID, nil))
	s := done[*godo.Snapshot](t, 201)(storage.CreateSnapshot(ctx, &godo.SnapshotCreateRequest{VolumeID: v.ID, Name: "snap", Tags: []string{"vol"}}))
	done[*godo.Snapshot](t, 200)(storage.GetSnapshot(ctx, s.ID))
	listed[godo.Snapshot](t, 1)(storage.ListSnapshots(ctx, v.ID, nil))
	// These do not tell the total.
	all := done[[]godo.Snapshot](t, 200)(c.Snapshots.List(ctx, nil))
	volumes := done[[]godo.Snapshot](t, 200)(c.Snapshots.ListVolume(ctx, nil))
	droplets := done[[]godo.Snapshot](t, 200)(c.Snapshots.ListDroplet(ctx, nil))
	if len(all) != 1 || len(volumes) != 1 || len(droplets) != 0 {
		t.Errorf("snapshots %v, of volumes %v, of droplets %v", all, volumes, droplets)
	}
	done[*godo.Snapshot](t, 200)(c.Snapshots.Get(ctx, s.ID))
	restored := done[*godo.Volume](t, 201)(storage.CreateVolume(ctx, &godo.VolumeCreateRequest{Region: "nyc3", Name: "again", SnapshotID: s.ID, SizeGigaBytes: 20}))
	gone(t)(storage.DeleteVolume(ctx, restored.ID))
	gone(t)(storage.DeleteSnapshot(ctx, s.ID))
	gone(t)(storage.DeleteVolume(ctx, v.ID))
	_, _, err := storage.GetVolume(ctx, v.ID)
	wantGone(t, err)
}
