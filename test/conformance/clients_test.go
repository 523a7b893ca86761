package conformance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"digitalocean-cloud-controller-manager/simulator"
)

// These tests do what well-known clients do, call by call, and ask what those
// ask: that what was sent, with its documented defaults, is read back, or the
// client would want to change it for ever.

func readBack(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +read back):\n%s", what, diff)
	}
}

// A provisioner of resources creates, waits, reads, plans nothing, reads by id
// as for an import, updates, and destroys.
func TestAProvisionerOfDropletsPlansNothingAfterApply(t *testing.T) {
	sim := simulator.New(simulator.WithActivationReads(2))
	c, ctx := newClient(t, sim), t.Context()
	// The first network of a region becomes its default, which stays.
	done[*godo.VPC](t, 201)(c.VPCs.Create(ctx, &godo.VPCCreateRequest{Name: "first", RegionSlug: "nyc3"}))
	vpc := done[*godo.VPC](t, 201)(c.VPCs.Create(ctx, &godo.VPCCreateRequest{Name: "net", RegionSlug: "nyc3", IPRange: "10.20.0.0/24"}))
	req := newDroplet("web", "b-tag", "a-tag")
	req.IPv6, req.Monitoring, req.Backups, req.VPCUUID, req.UserData = true, true, true, vpc.ID, "#!/bin/sh"
	made := done[*godo.Droplet](t, 202)(c.Droplets.Create(ctx, req))
	d := made
	for range 5 {
		if d = done[*godo.Droplet](t, 200)(c.Droplets.Get(ctx, made.ID)); d.Status == "active" {
			break
		}
	}
	has := func(feature string) bool { return slices.Contains(d.Features, feature) }
	readBack(t, "droplet", []any{"web", "nyc3", "s-2vcpu-4gb", "ubuntu-24-04-x64", "active", vpc.ID, []string{"b-tag", "a-tag"}, true, true, true, true},
		[]any{d.Name, d.Region.Slug, d.SizeSlug, d.Image.Slug, d.Status, d.VPCUUID, d.Tags, has("ipv6"), has("monitoring"), has("backups"), has("private_networking")})
	for name, address := range map[string]func() (string, error){"private": d.PrivateIPv4, "public": d.PublicIPv4, "IPv6": d.PublicIPv6} {
		if got, err := address(); got == "" || err != nil {
			t.Errorf("%s address %q: %v", name, got, err)
		}
	}
	resize := func() {
		for _, act := range []func() (*godo.Action, *godo.Response, error){
			func() (*godo.Action, *godo.Response, error) { return c.DropletActions.PowerOff(ctx, d.ID) },
			func() (*godo.Action, *godo.Response, error) {
				return c.DropletActions.Resize(ctx, d.ID, "s-4vcpu-8gb", true)
			},
			func() (*godo.Action, *godo.Response, error) { return c.DropletActions.PowerOn(ctx, d.ID) },
		} {
			a := done[*godo.Action](t, 201)(act())
			for a.Status != "completed" {
				a = done[*godo.Action](t, 200)(c.DropletActions.Get(ctx, d.ID, a.ID))
			}
		}
	}
	resize()
	d = done[*godo.Droplet](t, 200)(c.Droplets.Get(ctx, d.ID))
	readBack(t, "resized", []any{"s-4vcpu-8gb", 8192, 4, 160, "active"}, []any{d.SizeSlug, d.Memory, d.Vcpus, d.Disk, d.Status})
	gone(t)(c.Droplets.Delete(ctx, d.ID))
	_, _, err := c.Droplets.Get(ctx, d.ID)
	wantGone(t, err)
	gone(t)(c.VPCs.Delete(ctx, vpc.ID))
}

func TestAProvisionerOfLoadBalancersPlansNothingAfterApply(t *testing.T) {
	sim := simulator.New(simulator.WithActivationReads(1), simulator.WithResizeInterval(0))
	c, ctx := newClient(t, sim), t.Context()
	d := sim.AddDroplet(simulator.DropletSpec{Tags: []string{"web"}})
	cert := done[*godo.Certificate](t, 201)(c.Certificates.Create(ctx, &godo.CertificateRequest{Name: "cert", Type: "lets_encrypt", DNSNames: []string{"example.com"}}))
	idle, plain := uint64(90), false
	https := godo.ForwardingRule{EntryProtocol: "https", EntryPort: 443, TargetProtocol: "http", TargetPort: 80, CertificateID: cert.ID}
	http := godo.ForwardingRule{EntryProtocol: "http", EntryPort: 80, TargetProtocol: "http", TargetPort: 80}
	for name, change := range map[string]func(*godo.LoadBalancerRequest){
		"least": func(*godo.LoadBalancerRequest) {},
		"droplets": func(r *godo.LoadBalancerRequest) {
			r.DropletIDs, r.SizeUnit = []int{d.ID}, 3
		},
		"everything": func(r *godo.LoadBalancerRequest) {
			r.ForwardingRules = []godo.ForwardingRule{http, https}
			r.HealthCheck = &godo.HealthCheck{
				Protocol: "http", Port: 8080, Path: "/health", CheckIntervalSeconds: 5, ResponseTimeoutSeconds: 4, HealthyThreshold: 2, UnhealthyThreshold: 4,
			}
			r.StickySessions = &godo.StickySessions{Type: "cookies", CookieName: "lb", CookieTtlSeconds: 300}
			r.Tag, r.RedirectHttpToHttps, r.EnableProxyProtocol, r.EnableBackendKeepalive = "web", true, true, true
			r.HTTPIdleTimeoutSeconds, r.DisableLetsEncryptDNSRecords = &idle, &plain
			r.Firewall = &godo.LBFirewall{Allow: []string{"ip:192.0.2.1"}, Deny: []string{"cidr:198.51.100.0/24"}}
			r.NetworkStack, r.TLSCipherPolicy = "DUALSTACK", "STRONG"
		},
		"internal": func(r *godo.LoadBalancerRequest) { r.Network = "INTERNAL" },
		"network":  func(r *godo.LoadBalancerRequest) { r.Type = "REGIONAL_NETWORK" },
	} {
		t.Run(name, func(t *testing.T) {
			req := &godo.LoadBalancerRequest{Name: "lb-" + name, Region: "nyc3", ForwardingRules: []godo.ForwardingRule{http}}
			if name == "network" {
				req.ForwardingRules = []godo.ForwardingRule{tcp(80)}
			}
			change(req)
			lb := done[*godo.LoadBalancer](t, 202)(c.LoadBalancers.Create(ctx, req))
			for range 3 {
				lb = done[*godo.LoadBalancer](t, 200)(c.LoadBalancers.Get(ctx, lb.ID))
			}
			if lb.Status != "active" || lb.IP == "" {
				t.Fatalf("load balancer %+v", lb)
			}
			want, got := withDefaults(*req), lb.AsRequest()
			// Both are read, one may be sent; of a tag the droplets are computed.
			got.SizeSlug = ""
			if req.Tag != "" {
				got.DropletIDs = nil
			}
			want.VPCUUID, want.ProjectID = lb.VPCUUID, lb.ProjectID
			readBack(t, "load balancer", want, got)
			before := *lb
			updated := done[*godo.LoadBalancer](t, 200)(c.LoadBalancers.Update(ctx, lb.ID, got))
			readBack(t, "sent as it was read", before, *updated)
			gone(t)(c.LoadBalancers.Delete(ctx, lb.ID))
			_, _, err := c.LoadBalancers.Get(ctx, lb.ID)
			wantGone(t, err)
		})
	}
	gone(t)(c.Certificates.Delete(ctx, cert.ID))
}

// withDefaults is the request with the documented default of what it leaves out.
func withDefaults(r godo.LoadBalancerRequest) *godo.LoadBalancerRequest {
	set := func(field *string, standard string) {
		if *field == "" {
			*field = standard
		}
	}
	set(&r.Type, "REGIONAL")
	set(&r.Network, "EXTERNAL")
	set(&r.NetworkStack, "IPV4")
	set(&r.TLSCipherPolicy, "DEFAULT")
	set(&r.Algorithm, "round_robin")
	if r.SizeUnit == 0 {
		r.SizeUnit = 1
	}
	if r.DropletIDs == nil && r.Tag == "" {
		r.DropletIDs = []int{}
	}
	if r.HealthCheck == nil {
		r.HealthCheck = &godo.HealthCheck{
			Protocol: "http", Port: 80, Path: "/", CheckIntervalSeconds: 10, ResponseTimeoutSeconds: 5, HealthyThreshold: 5, UnhealthyThreshold: 3,
		}
	}
	if r.StickySessions == nil {
		r.StickySessions = &godo.StickySessions{Type: "none"}
	}
	if r.Firewall == nil {
		r.Firewall = &godo.LBFirewall{Allow: []string{}, Deny: []string{}}
	}
	if r.HTTPIdleTimeoutSeconds == nil {
		r.HTTPIdleTimeoutSeconds = new(uint64(60))
	}
	if r.DisableLetsEncryptDNSRecords == nil {
		r.DisableLetsEncryptDNSRecords = new(bool)
	}
	return &r
}

func TestAProvisionerOfTheRestPlansNothingAfterApply(t *testing.T) {
	sim := simulator.New(simulator.WithActivationReads(1))
	c, ctx := newClient(t, sim, `"purpose":null`), t.Context()
	d := sim.AddDroplet(simulator.DropletSpec{})

	done[*godo.Tag](t, 201)(c.Tags.Create(ctx, &godo.TagCreateRequest{Name: "web"}))
	// Making it again is no error.
	done[*godo.Tag](t, 201)(c.Tags.Create(ctx, &godo.TagCreateRequest{Name: "web"}))

	rule := godo.InboundRule{Protocol: "tcp", PortRange: "22", Sources: &godo.Sources{Addresses: []string{"192.0.2.0/24"}, Tags: []string{"web"}}}
	all := godo.OutboundRule{Protocol: "tcp", PortRange: "all", Destinations: &godo.Destinations{Addresses: []string{"0.0.0.0/0", "::/0"}}}
	ping := godo.OutboundRule{Protocol: "icmp", Destinations: &godo.Destinations{Addresses: []string{"0.0.0.0/0"}}}
	f := done[*godo.Firewall](t, 202)(c.Firewalls.Create(ctx, &godo.FirewallRequest{
		Name: "fw", DropletIDs: []int{d.ID}, Tags: []string{"web"},
		InboundRules: []godo.InboundRule{rule}, OutboundRules: []godo.OutboundRule{all, ping},
	}))
	f = done[*godo.Firewall](t, 200)(c.Firewalls.Get(ctx, f.ID))
	all.PortRange, ping.PortRange = "0", "0"
	readBack(t, "firewall", []any{[]godo.InboundRule{rule}, []godo.OutboundRule{all, ping}, []int{d.ID}, []string{"web"}},
		[]any{f.InboundRules, f.OutboundRules, f.DropletIDs, f.Tags})

	p := done[*godo.Project](t, 201)(c.Projects.Create(ctx, &godo.CreateProjectRequest{Name: "p", Purpose: "Web Application", Environment: "Development"}))
	urn := fmt.Sprintf("do:droplet:%d", d.ID)
	done[[]godo.ProjectResource](t, 200)(c.Projects.AssignResources(ctx, p.ID, urn))
	p = done[*godo.Project](t, 200)(c.Projects.Get(ctx, p.ID))
	held := listed[godo.ProjectResource](t, 1)(c.Projects.ListResources(ctx, p.ID, nil))
	readBack(t, "project", []any{"p", "Web Application", "Development", "", false, urn},
		[]any{p.Name, p.Purpose, p.Environment, p.Description, p.IsDefault, held[0].URN})

	ip := done[*godo.ReservedIP](t, 202)(c.ReservedIPs.Create(ctx, &godo.ReservedIPCreateRequest{Region: "nyc3"})).IP
	wait := func(a *godo.Action) {
		for range 5 {
			if a = done[*godo.Action](t, 200)(c.ReservedIPActions.Get(ctx, ip, a.ID)); a.Status == "completed" {
				return
			}
		}
		t.Fatalf("action %+v", a)
	}
	wait(done[*godo.Action](t, 201)(c.ReservedIPActions.Assign(ctx, ip, d.ID)))
	r := done[*godo.ReservedIP](t, 200)(c.ReservedIPs.Get(ctx, ip))
	readBack(t, "reserved IP", []any{"nyc3", d.ID, false}, []any{r.Region.Slug, r.Droplet.ID, r.Locked})

	wait(done[*godo.Action](t, 201)(c.ReservedIPActions.Unassign(ctx, ip)))
	gone(t)(c.ReservedIPs.Delete(ctx, ip))
	standard := done[*godo.Project](t, 200)(c.Projects.GetDefault(ctx))
	done[[]godo.ProjectResource](t, 200)(c.Projects.AssignResources(ctx, standard.ID, urn))
	gone(t)(c.Projects.Delete(ctx, p.ID))
	gone(t)(c.Firewalls.Delete(ctx, f.ID))
	gone(t)(c.Tags.Delete(ctx, "web"))
}

// A driver of volumes looks for one by name, makes, tags, attaches, resizes,
// snapshots and deletes it, and tells the account's limit.
func TestADriverOfVolumesWorks(t *testing.T) {
	sim := simulator.New(simulator.WithActivationReads(1))
	c, ctx := newClient(t, sim), t.Context()
	d := sim.AddDroplet(simulator.DropletSpec{})
	if limit := done[*godo.Account](t, 200)(c.Account.Get(ctx)).VolumeLimit; limit < 1 {
		t.Errorf("volume limit %d", limit)
	}
	const name = "pvc-0e28a9d4-0cf9-4b3b-9a35-0f6a64a0f2d1"
	params := &godo.ListVolumeParams{Region: "nyc3", Name: name}
	listed[godo.Volume](t, 0)(c.Storage.ListVolumes(ctx, params))
	v := done[*godo.Volume](t, 201)(c.Storage.CreateVolume(ctx, &godo.VolumeCreateRequest{
		Region: "nyc3", Name: name, Description: "for a claim", SizeGigaBytes: 5, Tags: []string{"k8s"},
	}))
	listed[godo.Volume](t, 1)(c.Storage.ListVolumes(ctx, params))
	wait := func(a *godo.Action) {
		for range 5 {
			if a = done[*godo.Action](t, 200)(c.StorageActions.Get(ctx, v.ID, a.ID)); a.Status == "completed" {
				return
			}
		}
		t.Fatalf("action %+v", a)
	}
	wait(done[*godo.Action](t, 202)(c.StorageActions.Attach(ctx, v.ID, d.ID)))
	wait(done[*godo.Action](t, 202)(c.StorageActions.Resize(ctx, v.ID, 7, "nyc3")))
	v = done[*godo.Volume](t, 200)(c.Storage.GetVolume(ctx, v.ID))
	readBack(t, "volume", []any{name, "nyc3", int64(7), []int{d.ID}, []string{"k8s"}}, []any{v.Name, v.Region.Slug, v.SizeGigaBytes, v.DropletIDs, v.Tags})
	s := done[*godo.Snapshot](t, 201)(c.Storage.CreateSnapshot(ctx, &godo.SnapshotCreateRequest{VolumeID: v.ID, Name: "snap"}))
	readBack(t, "snapshot", []any{"snap", v.ID, "volume", 7}, []any{s.Name, s.ResourceID, s.ResourceType, s.MinDiskSize})
	wait(done[*godo.Action](t, 202)(c.StorageActions.DetachByDropletID(ctx, v.ID, d.ID)))
	gone(t)(c.Snapshots.Delete(ctx, s.ID))
	gone(t)(c.Storage.DeleteVolume(ctx, v.ID))
}

// A provider of machines resolves image and keys, makes a droplet with tags for
// a load balancer that selects by tag, and finds it again by that.
func TestAProviderOfMachinesWorks(t *testing.T) {
	sim := simulator.New(simulator.WithActivationReads(1))
	c, ctx := newClient(t, sim), t.Context()
	image := done[*godo.Image](t, 200)(c.Images.GetBySlug(ctx, "ubuntu-24-04-x64"))
	made := done[*godo.Key](t, 201)(c.Keys.Create(ctx, &godo.KeyCreateRequest{Name: "k", PublicKey: publicKey}))
	key := done[*godo.Key](t, 200)(c.Keys.GetByID(ctx, made.ID))
	lb := done[*godo.LoadBalancer](t, 202)(c.LoadBalancers.Create(ctx, &godo.LoadBalancerRequest{
		Name: "cluster-apiserver", Region: "nyc3", Tag: "cluster-role-apiserver", ForwardingRules: []godo.ForwardingRule{tcp(6443)},
		HealthCheck: &godo.HealthCheck{Protocol: "tcp", Port: 6443, CheckIntervalSeconds: 10, ResponseTimeoutSeconds: 5, UnhealthyThreshold: 3, HealthyThreshold: 5},
	}))
	req := newDroplet("control-plane-0", "cluster-role-apiserver", "cluster-id")
	req.Image = godo.DropletCreateImage{ID: image.ID}
	req.SSHKeys = []godo.DropletCreateSSHKey{{ID: key.ID, Fingerprint: key.Fingerprint}}
	d := done[*godo.Droplet](t, 202)(c.Droplets.Create(ctx, req))
	found := listed[godo.Droplet](t, 1)(c.Droplets.ListByTag(ctx, "cluster-id", nil))
	if found[0].ID != d.ID {
		t.Errorf("found %d, made %d", found[0].ID, d.ID)
	}
	for range 2 {
		lb = done[*godo.LoadBalancer](t, 200)(c.LoadBalancers.Get(ctx, lb.ID))
	}
	readBack(t, "load balancer", []any{"active", []int{d.ID}, ""}, []any{lb.Status, lb.DropletIDs, lb.HealthCheck.Path})
	gone(t)(c.Droplets.Delete(ctx, d.ID))
	gone(t)(c.LoadBalancers.Delete(ctx, lb.ID))
}
