package simulator_test

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/simulator"
)

func TestRegionsAndSizes(t *testing.T) {
	w := newWorld(t)
	regions := everyPage(t, 5, w.client.Regions.List)
	sizes := everyPage(t, 7, w.client.Sizes.List)
	offered := map[string]bool{}
	for _, s := range sizes {
		offered[s.Slug] = true
		if s.Memory%8 != 0 || s.Vcpus == 0 || s.Disk == 0 || s.PriceHourly == 0 || len(s.Regions) == 0 || len(s.DiskInfo) == 0 {
			t.Errorf("incomplete size %+v", s)
		}
	}
	i := slices.IndexFunc(regions, func(r godo.Region) bool { return r.Slug == "nyc3" })
	if i < 0 || !regions[i].Available || !slices.Contains(regions[i].Sizes, "s-2vcpu-4gb") {
		t.Fatalf("regions %+v", regions)
	}
	for _, r := range regions {
		for _, slug := range r.Sizes {
			if !offered[slug] {
				t.Errorf("region %s has the unknown size %s", r.Slug, slug)
			}
		}
	}
	gpu := slices.IndexFunc(sizes, func(s godo.Size) bool { return s.Slug == "gpu-h100x1-80gb" })
	if gpu < 0 || sizes[gpu].GPUInfo == nil || sizes[gpu].GPUInfo.Model != "nvidia_h100" {
		t.Errorf("no GPU size")
	}
}

func TestUnknownSlugsAreMadeUpForAddedDroplets(t *testing.T) {
	sim := simulator.New()
	d := sim.AddDroplet(simulator.DropletSpec{Region: "moon1", Size: "x-16vcpu-64gb", Image: "plan9"})
	if d.Region.Slug != "moon1" || d.SizeSlug != "x-16vcpu-64gb" || d.VCPUs != 16 || d.Memory != 65536 || *d.Image.Slug != "plan9" {
		t.Errorf("droplet %+v", d)
	}
}

func TestDefaultVPCsAreMadeOnFirstUse(t *testing.T) {
	w := newWorld(t)
	if vpcs := everyPage(t, 0, w.client.VPCs.List); len(vpcs) != 0 {
		t.Errorf("before: %v", vpcs)
	}
	a := w.AddDroplet(simulator.DropletSpec{})
	lb := createLB(t, w, lbRequest("a"))
	own := w.AddVPC("", "own", "nyc3")
	inOwn := w.AddDroplet(simulator.DropletSpec{VPC: own.ID})
	inNew := w.AddDroplet(simulator.DropletSpec{VPC: "5a4981aa-9653-4bd1-bef5-d6bff52042e4", Region: "fra1"})
	vpcs := everyPage(t, 1, w.client.VPCs.List)
	if len(vpcs) != 3 {
		t.Fatalf("VPCs %v", vpcs)
	}
	standard := must[*godo.VPC](t)(w.client.VPCs.Get(t.Context(), a.VPCUUID))
	if !standard.Default || standard.Name != "default-nyc3" || standard.RegionSlug != "nyc3" || standard.URN != "do:vpc:"+standard.ID {
		t.Errorf("default VPC %+v", standard)
	}
	if lb.VPCUUID != standard.ID || inOwn.VPCUUID != own.ID || inNew.VPCUUID != "5a4981aa-9653-4bd1-bef5-d6bff52042e4" {
		t.Errorf("VPCs %s, %s, %s", lb.VPCUUID, inOwn.VPCUUID, inNew.VPCUUID)
	}
	ownRange, standardRange := netip.MustParsePrefix(own.IPRange), netip.MustParsePrefix(standard.IPRange)
	if ownRange.Overlaps(standardRange) || !ownRange.Contains(netip.MustParseAddr(inOwn.Networks.V4[0].IPAddress)) {
		t.Errorf("ranges %s, %s; address %s", own.IPRange, standard.IPRange, inOwn.Networks.V4[0].IPAddress)
	}
	_, _, err := w.client.VPCs.Get(t.Context(), "unknown")
	wantRefusal(t, err, 404, "")
}

func TestLifeOfACertificate(t *testing.T) {
	w := newWorld(t)
	made := w.AddCertificate(simulator.CertificateSpec{Name: "web", Type: "lets_encrypt", DNSNames: []string{"example.com"}})
	w.AddCertificate(simulator.CertificateSpec{Name: "other"})
	got := must[*godo.Certificate](t)(w.client.Certificates.Get(t.Context(), made.ID))
	if got.Name != "web" || got.State != "verified" || got.Type != "lets_encrypt" || len(got.SHA1Fingerprint) != 40 ||
		got.NotAfter != "2026-05-30T12:00:00Z" || !slices.Equal(got.DNSNames, []string{"example.com"}) {
		t.Errorf("certificate %+v", got)
	}
	req := lbRequest("a")
	req.ForwardingRules = []godo.ForwardingRule{secured(rule("https", 443, "http", 80), made.ID)}
	lb := createLB(t, w, req)
	if err := w.RemoveCertificate(made.ID); !errors.Is(err, simulator.ErrInUse) {
		t.Errorf("removing what is in use: %v", err)
	}
	renewed, err := w.RotateCertificate(made.ID)
	if err != nil {
		t.Fatal(err)
	}
	if list := must[[]godo.Certificate](t)(w.client.Certificates.ListByName(t.Context(), "web", nil)); len(list) != 1 || list[0].ID != renewed.ID {
		t.Errorf("by name %+v", list)
	}
	if got := getLB(t, w, lb.ID).ForwardingRules[0].CertificateID; got != renewed.ID || got == made.ID {
		t.Errorf("the load balancer uses %s, want %s", got, renewed.ID)
	}
	_, _, err = w.client.Certificates.Get(t.Context(), made.ID)
	wantRefusal(t, err, 404, "")
	if list := must[[]godo.Certificate](t)(w.client.Certificates.ListByName(t.Context(), "none", nil)); len(list) != 0 {
		t.Errorf("by unknown name %+v", list)
	}
	ok(t)(w.client.LoadBalancers.Delete(t.Context(), lb.ID))
	if err := w.RemoveCertificate(renewed.ID); err != nil {
		t.Error(err)
	}
}

func TestAccount(t *testing.T) {
	got := account(t, newWorld(t))
	if got.UUID == "" || got.Team.UUID == "" || got.Team.Name != "default" || got.Status != "active" || got.DropletLimit == 0 || !got.EmailVerified {
		t.Errorf("account %+v", got)
	}
}
