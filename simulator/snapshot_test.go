package simulator_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/simulator"
)

// busyWorld has one of everything, some of it on its way.
func busyWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, simulator.WithSeed(7), simulator.WithLoadBalancerActivation(time.Minute), simulator.WithActionDuration(time.Minute),
		simulator.WithFirewallActivation(time.Minute), simulator.WithCertificateVerification(time.Minute), simulator.WithListLag(time.Second, "/v2/firewalls"))
	ctx := t.Context()
	d := w.AddDroplet(simulator.DropletSpec{Name: "d", Tags: []string{"web"}, IPv6: true, Size: "x-16vcpu-64gb", Region: "moon1"})
	other := w.AddDroplet(simulator.DropletSpec{Name: "other"})
	w.AddBYOIPAddress("", "192.0.2.99", "nyc3")
	must[*godo.Certificate](t)(w.client.Certificates.Create(ctx, &godo.CertificateRequest{Name: "c", DNSNames: []string{"example.com"}}))
	req := lbRequest("lb")
	req.DropletIDs, req.Tags = []int{other.ID}, []string{"own"}
	createLB(t, w, req)
	fw := firewallRequest("fw")
	fw.Tags = []string{"web"}
	createFirewall(t, w, fw)
	p := createProject(t, w, "p")
	must[[]godo.ProjectResource](t)(w.client.Projects.AssignResources(ctx, p.ID, fmt.Sprintf("do:droplet:%d", d.ID)))
	must[*godo.Action](t)(w.client.DropletActions.PowerOff(ctx, d.ID))
	must[*godo.ReservedIP](t)(w.client.ReservedIPs.Create(ctx, &godo.ReservedIPCreateRequest{DropletID: other.ID}))
	v := must[*godo.Volume](t)(w.client.Storage.CreateVolume(ctx, &godo.VolumeCreateRequest{Region: "nyc3", Name: "v", SizeGigaBytes: 1, Tags: []string{"vol"}}))
	must[*godo.Action](t)(w.client.StorageActions.Attach(ctx, v.ID, other.ID))
	must[*godo.Snapshot](t)(w.client.Storage.CreateSnapshot(ctx, &godo.SnapshotCreateRequest{VolumeID: v.ID, Name: "s", Tags: []string{"vol"}}))
	must[*godo.Key](t)(w.client.Keys.Create(ctx, &godo.KeyCreateRequest{Name: "k", PublicKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA== me"}))
	must[*godo.VPCSubnet](t)(w.client.VPCs.CreateSubnet(ctx, other.VPCUUID, &godo.VPCSubnetCreateRequest{Name: "part"}))
	must[*godo.ReservedIPV6](t)(w.client.ReservedIPV6s.Create(ctx, &godo.ReservedIPV6CreateRequest{Region: "nyc3"}))
	w.AddFault(simulator.Fault{Path: "/v2/account", Probability: 0.5, Status: 500, Count: 100})
	for range 5 {
		w.do("GET", "/v2/account", "")
	}
	// The past that lists may show is not kept.
	w.advance(time.Second)
	return w
}

// walk reads and writes, and tells everything that is answered.
func walk(w *world) string {
	var all strings.Builder
	note := func(got answer) {
		all.WriteString(strings.ReplaceAll(got.body, w.url, "") + "\n")
	}
	for range 2 {
		for _, path := range []string{
			"droplets", "load_balancers", "firewalls", "certificates", "tags", "vpcs", "projects", "projects/default/resources",
			"reserved_ips", "reserved_ipv6", "volumes", "snapshots", "account/keys", "actions", "account", "account", "account",
		} {
			note(w.do("GET", "/v2/"+path, ""))
		}
		note(w.do("POST", "/v2/vpcs", `{"name":"new","region":"fra1"}`))
		note(w.do("POST", "/v2/droplets", `{"name":"new","region":"nyc3","size":"s-2vcpu-4gb","image":"ubuntu-24-04-x64"}`))
		w.advance(time.Minute)
	}
	return all.String()
}

func TestASnapshotGoesOnWhereItWasSaved(t *testing.T) {
	w := busyWorld(t)
	var saved bytes.Buffer
	if err := w.Save(&saved); err != nil {
		t.Fatal(err)
	}
	copied := newWorld(t)
	copied.advance(time.Second)
	copied.AddDroplet(simulator.DropletSpec{Name: "to be replaced"})
	if err := copied.Restore(bytes.NewReader(saved.Bytes())); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w.State(), copied.State()); diff != "" {
		t.Fatalf("state (-saved +restored):\n%s", diff)
	}
	want, got := walk(w), walk(copied)
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("answers (-saved +restored):\n%.4000s", diff)
	}
	if !strings.Contains(want, `"status":"off"`) || !strings.Contains(want, "server_error") {
		t.Error("the walk meets no action and no fault")
	}
}

func TestABrokenSnapshotIsRefused(t *testing.T) {
	w := busyWorld(t)
	var saved bytes.Buffer
	if err := w.Save(&saved); err != nil {
		t.Fatal(err)
	}
	text := saved.String()
	replaced := func(old, new string) string {
		t.Helper()
		if !strings.Contains(text, old) {
			t.Fatalf("no %s in the snapshot", old)
		}
		return strings.Replace(text, old, new, 1)
	}
	before := w.State()
	for name, broken := range map[string]string{
		"no JSON":         "{",
		"other version":   replaced(`"version":1`, `"version":2`),
		"seed":            replaced(`"ids":"`, `"ids":"AAAA`),
		"VPC's range":     replaced(`"ip_range":"`, `"ip_range":"x`),
		"droplet's VPC":   replaced(`"vpc_uuid":"`, `"vpc_uuid":"x`),
		"reserved IP":     replaced(`"reserved_ips":[{"ip":"`, `"reserved_ips":[{"ip":"x`),
		"default project": replaced(`"is_default":true`, `"is_default":false`),
		"list lag":        replaced(`"list_lag":{"/v2/firewalls"`, `"list_lag":{"/v2/tags"`),
		"fault":           replaced(`"probability":0.5`, `"probability":5`),
	} {
		t.Run(name, func(t *testing.T) {
			if err := w.Restore(strings.NewReader(broken)); err == nil {
				t.Error("accepted")
			}
			if diff := cmp.Diff(before, w.State()); diff != "" {
				t.Errorf("changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestControlOfScenarioAndSnapshot(t *testing.T) {
	w := newWorld(t)
	w.control("POST", "scenario", "teams: [{droplets: [{name: a}]}]", 204)
	w.control("POST", "scenario", "teams: [{droplets: [{nmae: a}]}]", 400)
	saved := w.control("GET", "snapshot", "", 200).body
	w.AddDroplet(simulator.DropletSpec{Name: "b"})
	w.control("PUT", "snapshot", saved, 204)
	if got := w.Droplets(); len(got) != 1 || got[0].Name != "a" {
		t.Errorf("droplets %+v", got)
	}
	w.control("PUT", "snapshot", "{}", 400)
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
func (brokenPipe) Read([]byte) (int, error)  { return 0, errors.New("broken pipe") }

func TestErrorsOfReadersAndWritersAreTold(t *testing.T) {
	sim := simulator.New()
	for name, err := range map[string]error{
		"save": sim.Save(brokenPipe{}), "restore": sim.Restore(brokenPipe{}), "load": sim.Load(brokenPipe{}),
	} {
		if err == nil || !strings.Contains(err.Error(), "broken pipe") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
