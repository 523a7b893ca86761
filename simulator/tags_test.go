package simulator_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/simulator"
)

func resources[T int | string](kind string, ids []T) []godo.Resource {
	list := []godo.Resource{}
	for _, id := range ids {
		text, isText := any(id).(string)
		if !isText {
			text = strconv.Itoa(any(id).(int))
		}
		list = append(list, godo.Resource{ID: text, Type: godo.ResourceType(kind)})
	}
	return list
}

func tagRequest[T int | string](kind string, ids ...T) *godo.TagResourcesRequest {
	return &godo.TagResourcesRequest{Resources: resources(kind, ids)}
}

func untagRequest[T int | string](kind string, ids ...T) *godo.UntagResourcesRequest {
	return &godo.UntagResourcesRequest{Resources: resources(kind, ids)}
}

func TestLifeOfATag(t *testing.T) {
	w := newWorld(t)
	tags := w.client.Tags
	d := w.AddDroplet(simulator.DropletSpec{}).ID
	lb := createLB(t, w, lbRequest("a")).ID

	_, err := tags.TagResources(t.Context(), "PROD", tagRequest("droplet", d))
	wantRefusal(t, err, 404, "The resource you were accessing could not be found.")
	made, resp, err := tags.Create(t.Context(), &godo.TagCreateRequest{Name: "PROD"})
	if err != nil || resp.StatusCode != 201 || made.Name != "PROD" || made.Resources.Count != 0 {
		t.Fatal(made, resp, err)
	}
	// Another spelling is the same tag, and the first one stays.
	if again := must[*godo.Tag](t)(tags.Create(t.Context(), &godo.TagCreateRequest{Name: "prod"})); again.Name != "PROD" {
		t.Errorf("again %s", again.Name)
	}
	for range 2 {
		ok(t)(tags.TagResources(t.Context(), "prod", tagRequest("droplet", d)))
		ok(t)(tags.TagResources(t.Context(), "prod", tagRequest("load_balancer", lb)))
	}
	got := must[*godo.Tag](t)(tags.Get(t.Context(), "PROD"))
	if got.Resources.Count != 2 || got.Resources.Droplets.Count != 1 ||
		!strings.HasSuffix(got.Resources.Droplets.LastTaggedURI, "/v2/droplets/"+strconv.Itoa(d)) ||
		got.Resources.LastTaggedURI != w.url+"/v2/load_balancers/"+lb {
		t.Errorf("counts %+v %+v", got.Resources, got.Resources.Droplets)
	}
	if shown, _ := w.Droplet(d); len(shown.Tags) != 1 || shown.Tags[0] != "PROD" {
		t.Errorf("droplet's tags %v", shown.Tags)
	}
	if shown := getLB(t, w, lb); len(shown.Tags) != 1 || shown.Tags[0] != "PROD" {
		t.Errorf("load balancer's tags %v", shown.Tags)
	}
	for range 2 {
		ok(t)(tags.UntagResources(t.Context(), "PROD", untagRequest("load_balancer", lb)))
	}
	if list := everyPage(t, 0, tags.List); len(list) != 1 || list[0].Resources.Count != 1 {
		t.Errorf("list %+v", list)
	}
	ok(t)(tags.Delete(t.Context(), "PROD"))
	if shown, _ := w.Droplet(d); len(shown.Tags) != 0 {
		t.Errorf("droplet's tags after deletion %v", shown.Tags)
	}
	_, _, err = tags.Get(t.Context(), "PROD")
	wantRefusal(t, err, 404, "")
}

func TestTagRefusals(t *testing.T) {
	w := newWorld(t)
	d := w.AddDroplet(simulator.DropletSpec{Tags: []string{"x"}}).ID
	id := strconv.Itoa(d)
	for name, tc := range map[string]struct {
		path, body string
		status     int
		text       string
	}{
		"no body":          {"/v2/tags", "", 400, "param is missing or the value is empty: name"},
		"bad name":         {"/v2/tags", `{"name":"a.b/c"}`, 400, `"root_causes":["rpc error: code = InvalidArgument`},
		"empty name":       {"/v2/tags", `{"name":""}`, 400, "root_causes"},
		"long name":        {"/v2/tags", `{"name":"` + strings.Repeat("a", 256) + `"}`, 400, "root_causes"},
		"no resources":     {"/v2/tags/x/resources", `{}`, 400, "param is missing or the value is empty: resources"},
		"nothing":          {"/v2/tags/x/resources", "", 400, "parameter_missing"},
		"number as id":     {"/v2/tags/x/resources", `{"resources":[{"resource_id":` + id + `,"resource_type":"droplet"}]}`, 400, "bad_request"},
		"unknown droplet":  {"/v2/tags/x/resources", `{"resources":[{"resource_id":"1","resource_type":"droplet"}]}`, 404, "not_found"},
		"unknown balancer": {"/v2/tags/x/resources", `{"resources":[{"resource_id":"1","resource_type":"load_balancer"}]}`, 404, "not_found"},
		"no volumes here":  {"/v2/tags/x/resources", `{"resources":[{"resource_id":"1","resource_type":"volume"}]}`, 404, "not_found"},
		"unknown type":     {"/v2/tags/x/resources", `{"resources":[{"resource_id":"1","resource_type":"planet"}]}`, 422, "resource_type"},
		"unknown tag":      {"/v2/tags/y/resources", `{"resources":[{"resource_id":"` + id + `","resource_type":"droplet"}]}`, 404, "not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := w.do("POST", tc.path, tc.body); got.status != tc.status || !strings.Contains(got.body, tc.text) {
				t.Errorf("got %d %s, want %d %s", got.status, got.body, tc.status, tc.text)
			}
		})
	}
}
