package tagging

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics/testutil"

	"digitalocean-cloud-controller-manager/simulator"
)

const (
	list   = "GET /v2/load_balancers"
	put    = "POST /v2/tags/" + clusterTag + "/resources"
	create = "POST /v2/tags"
)

func TestAllThatLackTheTagGetItInOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var ids []string
		for i := range 3 {
			lb := r.balancer(fmt.Sprint("lb-", i))
			ids = append(ids, lb.ID)
			r.add(service(fmt.Sprint("svc-", i), lb))
		}
		// The tag doesn't exist yet: DigitalOcean refuses, and it is made.
		if diff := cmp.Diff([]string{list, put, create, put}, r.pass()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		for _, id := range ids {
			if diff := cmp.Diff([]string{clusterTag}, r.tags(id)); diff != "" {
				t.Errorf("tags of %s (-want +got):\n%s", id, diff)
			}
		}
		// From then on, nothing is written.
		for range 3 {
			time.Sleep(DefaultPeriod)
			if diff := cmp.Diff([]string{list}, r.pass()); diff != "" {
				t.Errorf("calls of a pass with nothing to do (-want +got):\n%s", diff)
			}
		}
		// Two of three lose it by hand.
		r.retag(ids[0])
		r.retag(ids[2])
		time.Sleep(DefaultPeriod)
		if diff := cmp.Diff([]string{list, put}, r.pass()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if len(r.tags(ids[0])) != 1 || len(r.tags(ids[2])) != 1 {
			t.Error("the tags were not put back")
		}
	})
}

func TestTheCallHoldsEachOnceAndAllDistinct(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var want []string
		for i := range 3 {
			lb := r.balancer(fmt.Sprint("lb-", i))
			want = append(want, lb.ID)
			r.add(service(fmt.Sprint("svc-", i), lb), service(fmt.Sprint("twin-", i), lb))
		}
		slices.Sort(want)
		r.start()
		r.controller.loop.Pass(t.Context())
		for _, request := range r.sim.Requests() {
			if request.Method+" "+request.Path != put {
				continue
			}
			var body godo.TagResourcesRequest
			if err := json.Unmarshal(request.Body, &body); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, resource := range body.Resources {
				if resource.Type != godo.LoadBalancerResourceType {
					t.Errorf("resource %+v", resource)
				}
				got = append(got, resource.ID)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("resources (-want +got):\n%s", diff)
			}
		}
	})
}

func TestTheListOfOthersServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		lb := r.balancer("lb", clusterTag)
		r.add(service("svc", lb))
		if _, err := r.balancers.All(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute) // the look for drift was so long ago
		if calls := r.pass(); len(calls) > 0 {
			t.Errorf("calls %v", calls)
		}
	})
}

func TestWithoutAnythingToTagNoCallIsMade(t *testing.T) {
	tests := map[string]func(*rig){
		"no Services":   func(*rig) {},
		"no cluster id": func(r *rig) { r.cluster.ID = ""; r.add(service("svc", r.balancer("lb"))) },
	}
	for name, arrange := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				arrange(r)
				if calls := r.run(3); len(calls) > 0 {
					t.Errorf("calls %v", calls)
				}
			})
		})
	}
}

func TestAFailedPassIsCountedAndMadeAgain(t *testing.T) {
	tests := map[string]simulator.Fault{
		"the list":       {Method: "GET", Path: "/v2/load_balancers", Status: 500},
		"tagging":        {Method: "POST", Path: "/v2/tags/*/resources", Status: 500},
		"making the tag": {Method: "POST", Path: "/v2/tags", Status: 403},
		"a proxy's 404":  {Method: "POST", Path: "/v2/tags/*/resources", Status: 404, Body: "<html>not here</html>"},
	}
	for name, fault := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				lb := r.balancer("lb")
				r.add(service("svc", lb))
				r.sim.AddFault(fault)
				calls := r.pass()
				if r.controller.Status().Error == "" {
					t.Error("the status tells no error")
				}
				if name == "a proxy's 404" && slices.Contains(calls, create) {
					t.Error("what is no word of DigitalOcean's had the tag made")
				}
				if err := r.controller.HealthChecker().Check(nil); err != nil {
					t.Errorf("unhealthy by the API's trouble: %v", err)
				}
				r.sim.ClearFaults()
				time.Sleep(DefaultPeriod)
				r.pass()
				if status := r.controller.Status(); status.Error != "" || len(r.tags(lb.ID)) != 1 {
					t.Errorf("after the trouble: tags %v, error %q", r.tags(lb.ID), status.Error)
				}
				want := `
# HELP digitalocean_ccm_cluster_tag_passes_total [ALPHA] Passes that tag what lacks the cluster's tag, by result: success or error.
# TYPE digitalocean_ccm_cluster_tag_passes_total counter
digitalocean_ccm_cluster_tag_passes_total{result="error"} 1
digitalocean_ccm_cluster_tag_passes_total{result="success"} 1
# HELP digitalocean_ccm_cluster_tagged_load_balancers_total [ALPHA] Load balancers that lacked the cluster's tag and got it.
# TYPE digitalocean_ccm_cluster_tagged_load_balancers_total counter
digitalocean_ccm_cluster_tagged_load_balancers_total 1
`
				if err := testutil.GatherAndCompare(r.registry, strings.NewReader(want),
					"digitalocean_ccm_cluster_tag_passes_total", "digitalocean_ccm_cluster_tagged_load_balancers_total"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// DigitalOcean refuses all load balancers of a call for one that is gone.
func TestOneThatIsGoneDoesNotKeepTheOthersFromTheirTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var ids []string
		for i := range 8 {
			lb := r.balancer(fmt.Sprint("lb-", i))
			ids = append(ids, lb.ID)
			r.add(service(fmt.Sprint("svc-", i), lb))
		}
		if _, err := r.balancers.All(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if err := r.sim.DeleteLoadBalancer(ids[3]); err != nil {
			t.Fatal(err)
		}
		calls := r.pass()
		if len(calls) > 10 || r.controller.Status().Error != "" {
			t.Errorf("%d calls: %v; error %q", len(calls), calls, r.controller.Status().Error)
		}
		for i, id := range ids {
			if i != 3 && len(r.tags(id)) != 1 {
				t.Errorf("load balancer %d has the tags %v", i, r.tags(id))
			}
		}
		if calls := r.pass(); len(calls) > 0 {
			t.Errorf("the next pass with the same list: %v", calls)
		}
	})
}

// A token without the right to read tags sees none, so that everything looks
// untagged for ever.
func TestHiddenTagsAreNotWrittenAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, simulator.WithHiddenLoadBalancerTags())
		r.add(service("svc", r.balancer("lb", clusterTag)))
		if diff := cmp.Diff([]string{list, put}, r.pass()); diff != "" {
			t.Errorf("calls of the first pass (-want +got):\n%s", diff)
		}
		for range 3 {
			time.Sleep(DefaultPeriod)
			if diff := cmp.Diff([]string{list}, r.pass()); diff != "" {
				t.Errorf("calls of a later pass (-want +got):\n%s", diff)
			}
		}
	})
}
