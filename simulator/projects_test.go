package simulator_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/simulator"
)

func createProject(t *testing.T, w *world, name string) *godo.Project {
	t.Helper()
	return must[*godo.Project](t)(w.client.Projects.Create(t.Context(), &godo.CreateProjectRequest{Name: name, Purpose: "Fun"}))
}

func TestLifeOfAProject(t *testing.T) {
	w := newWorld(t)
	projects, ctx := w.client.Projects, t.Context()
	standard := must[*godo.Project](t)(projects.GetDefault(ctx))
	made := createProject(t, w, "p")
	if made.IsDefault || made.Purpose != "Other: Fun" || made.CreatedAt != "2026-03-01T12:00:00Z" || !standard.IsDefault || standard.ID == made.ID {
		t.Errorf("made %+v beside %+v", made, standard)
	}
	updated := must[*godo.Project](t)(projects.Update(ctx, made.ID, &godo.UpdateProjectRequest{Environment: "Staging", Description: "d", IsDefault: true}))
	if updated.Environment != "Staging" || updated.Description != "d" || !updated.IsDefault || updated.Name != "p" {
		t.Errorf("updated %+v", updated)
	}
	if list := everyPage(t, 1, projects.List); len(list) != 2 || list[0].IsDefault == list[1].IsDefault {
		t.Errorf("projects %+v", list)
	}
	if got := must[*godo.Project](t)(projects.GetDefault(ctx)); got.ID != made.ID {
		t.Errorf("default is %s", got.ID)
	}
	_, err := projects.Delete(ctx, made.ID)
	wantRefusal(t, err, 403, "default")
	ok(t)(projects.Delete(ctx, standard.ID))
	_, err = projects.Delete(ctx, standard.ID)
	wantRefusal(t, err, 404, "")
}

func TestRefusedProjects(t *testing.T) {
	w := newWorld(t)
	createProject(t, w, "taken")
	for body, status := range map[string]int{
		`{"purpose":"x"}`:                                           422,
		`{"name":"a"}`:                                              422,
		`{"name":"taken","purpose":"x"}`:                            422,
		`{"name":"a","purpose":"x","environment":"Moon"}`:           422,
		`{"name":"` + strings.Repeat("a", 176) + `","purpose":"x"}`: 422,
		`{"name":"a","purpose":"x","description":"` + strings.Repeat("a", 256) + `"}`: 422,
		`{"name":5}`: 400,
	} {
		if got := w.do("POST", "/v2/projects", body); got.status != status {
			t.Errorf("%.60s: %d %s, want %d", body, got.status, got.body, status)
		}
	}
	for method, want := range map[string]int{"PUT": 422, "PATCH": 200} {
		if got := w.do(method, "/v2/projects/default", `{"description":"x"}`); got.status != want {
			t.Errorf("%s of a part: %d %s", method, got.status, got.body)
		}
	}
	if got := w.do("PATCH", "/v2/projects/default", `{"is_default":false}`); got.status != 422 {
		t.Errorf("unset the default: %d", got.status)
	}
}

func TestResourcesOfAProject(t *testing.T) {
	w := newWorld(t)
	projects, ctx := w.client.Projects, t.Context()
	p := createProject(t, w, "p")
	d := w.AddDroplet(simulator.DropletSpec{})
	req := lbRequest("a")
	req.ProjectID = p.ID
	lb := createLB(t, w, req)
	if lb.ProjectID != p.ID {
		t.Errorf("made in %s", lb.ProjectID)
	}
	list := func(id string) []string {
		urns := []string{}
		for _, r := range must[[]godo.ProjectResource](t)(projects.ListResources(ctx, id, nil)) {
			urns = append(urns, r.URN+" "+r.Status+" "+r.Links.Self)
		}
		return urns
	}
	lbShown := "do:loadbalancer:" + lb.ID + " ok " + w.url + "/v2/load_balancers/" + lb.ID
	if diff := cmp.Diff([]string{lbShown}, list(p.ID)); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	_, err := projects.Delete(ctx, p.ID)
	wantRefusal(t, err, 412, "cannot delete a project with resources")

	urn := fmt.Sprintf("do:droplet:%d", d.ID)
	assigned := must[[]godo.ProjectResource](t)(projects.AssignResources(ctx, p.ID, urn, lb.URN(), "do:volume:x"))
	got := []string{}
	for _, r := range assigned {
		got = append(got, r.Status)
	}
	if diff := cmp.Diff([]string{"ok", "already_assigned", "not_found"}, got); diff != "" {
		t.Errorf("assigned (-want +got):\n%s", diff)
	}
	if got := list(p.ID); len(got) != 2 {
		t.Errorf("afterwards %v", got)
	}
	must[[]godo.ProjectResource](t)(projects.AssignResources(ctx, "default", lb.URN(), urn))
	if got := getLB(t, w, lb.ID).ProjectID; got == p.ID {
		t.Error("the load balancer has not moved")
	}
	// A PUT without a project leaves the load balancer where it is.
	req.ProjectID = ""
	must[[]godo.ProjectResource](t)(projects.AssignResources(ctx, p.ID, lb.URN()))
	if got := must[*godo.LoadBalancer](t)(w.client.LoadBalancers.Update(ctx, lb.ID, req)); got.ProjectID != p.ID {
		t.Errorf("updated into %s", got.ProjectID)
	}
}

func TestAReservedIPIsAssignedToADropletWhoseIDIsAString(t *testing.T) {
	w := newWorld(t)
	d := w.AddDroplet(simulator.DropletSpec{})
	ip := must[*godo.ReservedIP](t)(w.client.ReservedIPs.Create(t.Context(), &godo.ReservedIPCreateRequest{Region: "nyc3"})).IP
	for id, want := range map[string]int{`"` + strconv.Itoa(d.ID) + `"`: 201, `"one"`: 400, `""`: 400, `1.5`: 400, `null`: 400} {
		if got := w.do("POST", "/v2/floating_ips/"+ip+"/actions", `{"type":"assign","droplet_id":`+id+`}`); got.status != want {
			t.Errorf("%s: %d %s, want %d", id, got.status, got.body, want)
		}
	}
}

func TestLifeOfAReservedIP(t *testing.T) {
	w := newWorld(t, simulator.WithActionDuration(5*time.Second))
	ips, actions, ctx := w.client.ReservedIPs, w.client.ReservedIPActions, t.Context()
	d, far := w.AddDroplet(simulator.DropletSpec{}), w.AddDroplet(simulator.DropletSpec{Region: "fra1"})
	made, resp, err := ips.Create(ctx, &godo.ReservedIPCreateRequest{Region: "nyc3"})
	if err != nil || resp.StatusCode != 202 || made.IP == "" || made.Region.Slug != "nyc3" || made.Droplet != nil {
		t.Fatalf("made %+v with %v: %v", made, resp, err)
	}
	_, _, err = actions.Assign(ctx, made.IP, far.ID)
	wantRefusal(t, err, 422, "region")
	_, _, err = actions.Unassign(ctx, made.IP)
	wantRefusal(t, err, 422, "not assigned")
	a := must[*godo.Action](t)(actions.Assign(ctx, made.IP, d.ID))
	if a.Status != "in-progress" || a.Type != "assign_ip" || a.ResourceType != "reserved_ip" {
		t.Errorf("action %+v", a)
	}
	get := func() *godo.ReservedIP { return must[*godo.ReservedIP](t)(ips.Get(ctx, made.IP)) }
	if got := get(); got.Droplet != nil || !got.Locked {
		t.Errorf("under way %+v", got)
	}
	_, _, err = actions.Assign(ctx, made.IP, d.ID)
	wantRefusal(t, err, 422, "pending")
	w.advance(5 * time.Second)
	if got := get(); got.Droplet == nil || got.Droplet.ID != d.ID || got.Locked {
		t.Errorf("assigned %+v", got)
	}
	if got := must[*godo.Action](t)(actions.Get(ctx, made.IP, a.ID)); got.Status != "completed" {
		t.Errorf("action %+v", got)
	}
	_, _, err = ips.Create(ctx, &godo.ReservedIPCreateRequest{DropletID: d.ID})
	wantRefusal(t, err, 422, "already has")
	ok(t)(w.client.Droplets.Delete(ctx, d.ID))
	if got := get(); got.Droplet != nil {
		t.Errorf("after the droplet's end %+v", got)
	}
	second := must[*godo.ReservedIP](t)(ips.Create(ctx, &godo.ReservedIPCreateRequest{DropletID: far.ID}))
	w.advance(5 * time.Second)
	if list := everyPage(t, 1, ips.List); len(list) != 2 || list[0].IP != second.IP || list[0].Droplet.ID != far.ID {
		t.Errorf("list %+v", list)
	}
	must[*godo.Action](t)(actions.Unassign(ctx, second.IP))
	ok(t)(ips.Delete(ctx, second.IP))
	w.advance(5 * time.Second)
	_, err = ips.Delete(ctx, second.IP)
	wantRefusal(t, err, 404, "")
	_, _, err = ips.Create(ctx, &godo.ReservedIPCreateRequest{})
	wantRefusal(t, err, 422, "required")
}
