package simulator_test

import (
	"fmt"
	"testing"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/simulator"
)

func createVPC(t *testing.T, w *world, name, ipRange string) *godo.VPC {
	t.Helper()
	return must[*godo.VPC](t)(w.client.VPCs.Create(t.Context(), &godo.VPCCreateRequest{Name: name, RegionSlug: "nyc3", IPRange: ipRange}))
}

func TestLifeOfAVPC(t *testing.T) {
	w := newWorld(t)
	vpcs, ctx := w.client.VPCs, t.Context()
	first, second := createVPC(t, w, "first", "10.10.0.0/20"), createVPC(t, w, "second", "")
	if !first.Default || second.Default || first.IPRange != "10.10.0.0/20" || first.URN != "do:vpc:"+first.ID || second.IPRange == "" {
		t.Errorf("made %+v and %+v", first, second)
	}
	if d := w.AddDroplet(simulator.DropletSpec{}); d.VPCUUID != first.ID {
		t.Errorf("a droplet is in %s, want the default %s", d.VPCUUID, first.ID)
	}
	updated := must[*godo.VPC](t)(vpcs.Update(ctx, second.ID, &godo.VPCUpdateRequest{Name: "renamed", Description: "x", Default: new(true)}))
	if updated.Name != "renamed" || updated.Description != "x" || !updated.Default {
		t.Errorf("updated %+v", updated)
	}
	if got := must[*godo.VPC](t)(vpcs.Get(ctx, first.ID)); got.Default {
		t.Error("two defaults")
	}
	set := must[*godo.VPC](t)(vpcs.Set(ctx, second.ID, godo.VPCSetDescription("")))
	if set.Description != "" || set.Name != "renamed" {
		t.Errorf("set %+v", set)
	}
	_, err := vpcs.Delete(ctx, second.ID)
	wantRefusal(t, err, 403, "default")
	_, err = vpcs.Delete(ctx, first.ID)
	wantRefusal(t, err, 409, "Can not delete VPC with members")
	ok(t)(w.client.Droplets.Delete(ctx, w.Droplets()[0].ID))
	ok(t)(vpcs.Delete(ctx, first.ID))
	_, err = vpcs.Delete(ctx, first.ID)
	wantRefusal(t, err, 404, "")
}

func TestMembersOfAVPC(t *testing.T) {
	w := newWorld(t)
	v := createVPC(t, w, "own", "")
	d := w.AddDroplet(simulator.DropletSpec{Name: "d", VPC: v.ID})
	lb := createLB(t, w, lbRequest("lb"))
	list := func(req *godo.VPCListMembersRequest) []string {
		urns := []string{}
		for _, m := range must[[]*godo.VPCMember](t)(w.client.VPCs.ListMembers(t.Context(), v.ID, req, nil)) {
			urns = append(urns, m.URN+" "+m.Name)
		}
		return urns
	}
	droplet := fmt.Sprintf("do:droplet:%d d", d.ID)
	if diff := cmp.Diff([]string{droplet, "do:loadbalancer:" + lb.ID + " lb"}, list(&godo.VPCListMembersRequest{})); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{droplet}, list(&godo.VPCListMembersRequest{ResourceType: "droplet"})); diff != "" {
		t.Errorf("droplets (-want +got):\n%s", diff)
	}
}

func TestRefusedVPCs(t *testing.T) {
	w := newWorld(t)
	v := createVPC(t, w, "taken", "10.10.0.0/20")
	for body, status := range map[string]int{
		`{"name":"a","region":"moon1"}`:                                422,
		`{"region":"nyc3"}`:                                            422,
		`{"name":"a b","region":"nyc3"}`:                               422,
		`{"name":"taken","region":"nyc3"}`:                             422,
		`{"name":"a","region":"nyc3","ip_range":"x"}`:                  422,
		`{"name":"a","region":"nyc3","ip_range":"8.8.8.0/24"}`:         422,
		`{"name":"a","region":"nyc3","ip_range":"10.0.0.0/8"}`:         422,
		`{"name":"a","region":"nyc3","ip_range":"10.0.0.0/29"}`:        422,
		`{"name":"a","region":"nyc3","ip_range":"10.0.0.1/24"}`:        422,
		`{"name":"a","region":"nyc3","ip_range":"10.10.1.0/24"}`:       422,
		`{"name":"a","region":"nyc3","ip_range":"10.244.7.0/24"}`:      422,
		`{"name":"a","region":"nyc3","ip_range":"fd00::/24"}`:          422,
		`{"name":"a","region":"nyc3","ip_range":5}`:                    400,
		`{"name":"a","region":"nyc3","ip_range":"192.168.0.0/24"}`:     201,
		`{"name":"b","region":"nyc3","ip_range":"","description":"d"}`: 201,
	} {
		if got := w.do("POST", "/v2/vpcs", body); got.status != status {
			t.Errorf("%s: %d %s, want %d", body, got.status, got.body, status)
		}
	}
	for body, status := range map[string]int{`{}`: 422, `{"name":"taken","default":false}`: 422, `{"name":"b"}`: 422, `{"name":"taken"}`: 200} {
		if got := w.do("PUT", "/v2/vpcs/"+v.ID, body); got.status != status {
			t.Errorf("PUT %s: %d %s, want %d", body, got.status, got.body, status)
		}
	}
}

func TestAFullVPCRefusesMore(t *testing.T) {
	w := newWorld(t)
	v := createVPC(t, w, "small", "192.168.1.0/28")
	body := fmt.Sprintf(`{"names":["a","b","c","d","e","f","g"],"size":"s-2vcpu-4gb","region":"nyc3","image":"ubuntu-24-04-x64","vpc_uuid":%q}`, v.ID)
	if got := w.do("POST", "/v2/droplets", body); got.status != 202 {
		t.Fatalf("room for all: %d %s", got.status, got.body)
	}
	if got := w.do("POST", "/v2/droplets", body); got.status != 422 || len(w.Droplets()) != 7 {
		t.Errorf("too many: %d, %d droplets", got.status, len(w.Droplets()))
	}
}
