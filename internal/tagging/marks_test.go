package tagging

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/simulator"
)

func TestMarksGoOnceTheyAreNotNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		lb := r.balancer("custom", clusterTag, "k8s-svc:uid-svc", "mine")
		r.add(service("svc", lb))
		time.Sleep(DefaultPeriod)
		if diff := cmp.Diff([]string{list, "DELETE /v2/tags/k8s-svc:uid-svc"}, r.pass()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{clusterTag, "mine"}, r.tags(lb.ID)); diff != "" {
			t.Errorf("tags (-want +got):\n%s", diff)
		}
		if names := r.tagNames(); slices.Contains(names, "k8s-svc:uid-svc") {
			t.Errorf("the tag itself is left: %v", names)
		}
		if calls := r.pass(); len(calls) > 0 {
			t.Errorf("calls with the same list: %v", calls)
		}
	})
}

func TestMarksGoAFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for i := range marksPerPass + 2 {
			name := fmt.Sprint("svc-", i)
			r.add(service(name, r.balancer(name, clusterTag, "k8s-svc:uid-"+name)))
		}
		time.Sleep(DefaultPeriod)
		for _, want := range []int{marksPerPass, 2, 0} {
			if calls := r.pass(); len(calls) != want+1 {
				t.Errorf("%d calls, want the list and %d: %v", len(calls), want, calls)
			}
			time.Sleep(DefaultPeriod)
		}
	})
}

// DigitalOcean keeps a tag that is on nothing.
func TestMarksOfDeletedServicesGo(t *testing.T) {
	tests := map[string]struct {
		tag       string // the cluster's
		keep      bool   // the load balancer outlives the Service
		edit      func(*v1.Service)
		want      []string
		markStays bool
	}{
		"with its load balancer": {tag: "blue", want: []string{"DELETE /v2/tags/k8s-svc:uid-svc"}},
		"without a cluster id":   {want: []string{"DELETE /v2/tags/k8s-svc:uid-svc"}},
		"an orphan keeps it":     {tag: "blue", keep: true, markStays: true},
		"never a load balancer":  {tag: "blue", edit: func(s *v1.Service) { s.Spec.Type = v1.ServiceTypeNodePort }, markStays: true},
		"disowned": {tag: "blue", markStays: true, edit: func(s *v1.Service) {
			s.Annotations["service.kubernetes.io/do-loadbalancer-disown"] = "true"
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.cluster.ID = test.tag
				lb := r.balancer("custom", clusterTag, "k8s-svc:uid-svc")
				svc := service("svc", lb)
				if test.edit != nil {
					test.edit(svc)
				}
				r.add(svc)
				r.start()
				if !test.keep {
					if err := r.sim.DeleteLoadBalancer(lb.ID); err != nil {
						t.Fatal(err)
					}
				}
				if err := r.kube.CoreV1().Services("default").Delete(t.Context(), "svc", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				calls := slices.DeleteFunc(r.pass(), func(call string) bool { return call == list })
				if !slices.Equal(test.want, calls) {
					t.Errorf("calls %v, want %v", calls, test.want)
				}
				if stays := slices.Contains(r.tagNames(), "k8s-svc:uid-svc"); stays != test.markStays {
					t.Errorf("tags %v", r.tagNames())
				}
				time.Sleep(DefaultPeriod)
				if calls := r.pass(); len(calls) > 0 {
					t.Errorf("calls of the next pass %v", calls)
				}
			})
		})
	}
}

func TestAMarkThatFailsToGoIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		lb := r.balancer("custom", clusterTag, "k8s-svc:uid-svc")
		r.add(service("svc", lb))
		r.start()
		if err := r.sim.DeleteLoadBalancer(lb.ID); err != nil {
			t.Fatal(err)
		}
		if err := r.kube.CoreV1().Services("default").Delete(t.Context(), "svc", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		r.sim.AddFault(simulator.Fault{Method: "DELETE", Path: "/v2/tags/*", Status: http.StatusForbidden})
		r.pass()
		if r.controller.Status().Error == "" {
			t.Error("no error")
		}
		r.sim.ClearFaults()
		time.Sleep(DefaultPeriod)
		r.pass()
		if names := r.tagNames(); slices.Contains(names, "k8s-svc:uid-svc") {
			t.Errorf("tags %v", names)
		}
	})
}
