package simulator_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/simulator"
)

// listed returns the names in a list and its total.
func (w *world) listed(path string) ([]string, int) {
	w.t.Helper()
	var members map[string]json.RawMessage
	w.do("GET", path, "").decode(w.t, &members)
	names, total := []string{}, 0
	for member, raw := range members {
		var meta struct{ Total int }
		var items []struct{ Name string }
		switch {
		case member == "meta" && json.Unmarshal(raw, &meta) == nil:
			total = meta.Total
		case json.Unmarshal(raw, &items) == nil:
			for _, item := range items {
				names = append(names, item.Name)
			}
		}
	}
	slices.Sort(names)
	return names, total
}

func (w *world) wantListed(path string, want ...string) {
	w.t.Helper()
	if got, total := w.listed(path); !slices.Equal(got, want) || total != len(want) {
		w.t.Errorf("%s lists %v of %d, want %v", path, got, total, want)
	}
}

func TestListsLagBehindAndGetsDoNot(t *testing.T) {
	w := newWorld(t, simulator.WithListLag(5*time.Second))
	d := w.AddDroplet(simulator.DropletSpec{Name: "d1"})
	lb := createLB(t, w, lbRequest("lb1"))
	fw := must[*godo.Firewall](t)(w.client.Firewalls.Create(t.Context(), firewallRequest("fw1")))
	for _, list := range []string{"/v2/droplets", "/v2/load_balancers", "/v2/load_balancers?names=lb1", "/v2/firewalls"} {
		w.wantListed(list)
	}
	must[*godo.Droplet](t)(w.client.Droplets.Get(t.Context(), d.ID))
	getLB(t, w, lb.ID)
	must[*godo.Firewall](t)(w.client.Firewalls.Get(t.Context(), fw.ID))

	w.advance(4 * time.Second)
	w.AddDroplet(simulator.DropletSpec{Name: "d2"})
	w.wantListed("/v2/droplets")
	w.advance(time.Second)
	w.wantListed("/v2/droplets", "d1")
	w.wantListed("/v2/load_balancers?names=lb1", "lb1")
	w.wantListed("/v2/firewalls", "fw1")
	if err := w.DeleteDroplet(d.ID); err != nil {
		t.Fatal(err)
	}
	w.advance(4 * time.Second)
	w.wantListed("/v2/droplets", "d1", "d2")
	w.advance(time.Second)
	w.wantListed("/v2/droplets", "d2")
}

func TestALaggingListShowsOldFieldsAndOldStatus(t *testing.T) {
	w := newWorld(t, simulator.WithListLag(10*time.Second, "/v2/load_balancers"), simulator.WithLoadBalancerActivation(time.Minute))
	d := w.AddDroplet(simulator.DropletSpec{Name: "d1", Tags: []string{"web"}})
	req := lbRequest("a")
	req.Tag = "web"
	id := createLB(t, w, req).ID
	w.wantListed("/v2/droplets", "d1")
	inList := func() godo.LoadBalancer {
		return must[[]godo.LoadBalancer](t)(w.client.LoadBalancers.List(t.Context(), nil))[0]
	}
	w.advance(time.Minute)
	if got := getLB(t, w, id); got.Status != "active" || len(got.DropletIDs) != 1 {
		t.Errorf("present %+v", got)
	}
	if got := inList(); got.Status != "new" || got.IP != "" {
		t.Errorf("list: %s at %q", got.Status, got.IP)
	}
	ok(t)(w.client.Tags.UntagResources(t.Context(), "web", &godo.UntagResourcesRequest{
		Resources: []godo.Resource{{ID: fmt.Sprint(d.ID), Type: godo.DropletResourceType}},
	}))
	w.advance(9 * time.Second)
	if got := inList(); len(got.DropletIDs) != 1 || len(getLB(t, w, id).DropletIDs) != 0 {
		t.Errorf("list has the droplets %v", got.DropletIDs)
	}
	w.advance(time.Second)
	if got := inList(); len(got.DropletIDs) != 0 || got.Status != "active" {
		t.Errorf("list: %s with droplets %v", got.Status, got.DropletIDs)
	}
}

// An action that completes while nobody looks has its own time in the past.
func TestALaggingListKnowsWhenAnActionCompleted(t *testing.T) {
	w := newWorld(t, simulator.WithListLag(5*time.Second), simulator.WithActionDuration(10*time.Second))
	d := w.AddDroplet(simulator.DropletSpec{Name: "d1"})
	must[*godo.Action](t)(w.client.DropletActions.PowerOff(t.Context(), d.ID))
	status := func() string {
		return must[[]godo.Droplet](t)(w.client.Droplets.List(t.Context(), nil))[0].Status
	}
	w.advance(14 * time.Second)
	if got := status(); got != "active" {
		t.Errorf("too early: %s", got)
	}
	w.advance(time.Second)
	if got := status(); got != "off" {
		t.Errorf("five seconds after: %s", got)
	}
}

func TestListLagIsTurnedOnAndOff(t *testing.T) {
	w := newWorld(t)
	w.AddDroplet(simulator.DropletSpec{Name: "d1"})
	w.control("PATCH", "settings", `{"list_lag":{"/v2/droplets":"5s","*":"1h"}}`, 200)
	w.AddDroplet(simulator.DropletSpec{Name: "d2"})
	createLB(t, w, lbRequest("a"))
	w.wantListed("/v2/droplets", "d1")
	w.advance(time.Minute)
	w.wantListed("/v2/droplets", "d1", "d2")
	w.wantListed("/v2/load_balancers")
	w.control("PATCH", "settings", `{"list_lag":{"*":"0s"}}`, 200)
	w.wantListed("/v2/load_balancers", "a")
	if got := w.Settings().ListLag; len(got) != 1 || got["/v2/droplets"] != 5*time.Second {
		t.Errorf("settings %v", got)
	}
	w.control("PATCH", "settings", `{"list_lag":{"/v2/tags":"5s"}}`, 400)
	w.control("PATCH", "settings", `{"list_lag":{"/v2/droplets":"-5s"}}`, 400)
}

func TestAFaultMakesOneListLag(t *testing.T) {
	w := newWorld(t)
	w.control("POST", "faults", `{"path":"/v2/droplets","count":1,"list_lag":"5s"}`, 201)
	w.AddDroplet(simulator.DropletSpec{Name: "d1"})
	w.wantListed("/v2/droplets")
	w.wantListed("/v2/droplets", "d1")
	w.ClearFaults()
	w.AddFault(simulator.Fault{ListLag: time.Hour})
	w.wantListed("/v2/droplets", "d1")
}

func TestListLagOfAnUnknownListPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("accepted")
		}
	}()
	simulator.WithListLag(time.Second, "/v2/regions")
}
