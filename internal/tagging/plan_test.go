package tagging

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// decided is a plan in a form that can be compared.
type decided struct{ Tag, Unmark []string }

func decideFor(balancers []*godo.LoadBalancer, services []*v1.Service) decided {
	p := decide(world{
		balancers: balancers, services: services, tag: clusterTag, before: time.Now().Add(-DefaultPeriod),
		disowned:     func(svc *v1.Service) bool { return svc.Annotations[annotation.Disown] == "true" },
		backendsOnly: func(svc *v1.Service) bool { return svc.Annotations[annotation.Manage] == annotation.ManageBackends },
	})
	return decided{p.untagged, slices.Sorted(maps.Keys(p.marks))}
}

func TestWhatIsTheClustersIsTagged(t *testing.T) {
	lb := func(edit ...func(*godo.LoadBalancer)) []*godo.LoadBalancer {
		lb := &godo.LoadBalancer{ID: "id-1", Name: "custom", IP: "192.0.2.1"}
		for _, e := range edit {
			e(lb)
		}
		return []*godo.LoadBalancer{lb}
	}
	tags := func(tags ...string) func(*godo.LoadBalancer) {
		return func(lb *godo.LoadBalancer) { lb.Tags = tags }
	}
	svc := func(edit ...func(*v1.Service)) *v1.Service { return service("a", *lb()[0], edit...) }
	noID := func(s *v1.Service) { delete(s.Annotations, annotation.LoadBalancerID) }
	noStatus := func(s *v1.Service) { s.Status = v1.ServiceStatus{} }
	disowned := func(s *v1.Service) { s.Annotations[annotation.Disown] = "true" }
	other := func(edit ...func(*v1.Service)) *v1.Service {
		return service("b", *lb()[0], append([]func(*v1.Service){func(s *v1.Service) {
			s.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
		}}, edit...)...)
	}
	yes := []string{"id-1"}
	tests := map[string]struct {
		balancers []*godo.LoadBalancer
		services  []*v1.Service
		want      []string
	}{
		"a Service holds its id":                       {lb(), []*v1.Service{svc()}, yes},
		"a Service holds its id in capitals":           {lb(), []*v1.Service{svc(func(s *v1.Service) { s.Annotations[annotation.LoadBalancerID] = "ID-1" })}, yes},
		"it carries a living Service's mark":           {lb(tags("k8s-svc:uid-a")), []*v1.Service{svc(noID, noStatus)}, yes},
		"it has other tags":                            {lb(tags("mine")), []*v1.Service{svc()}, yes},
		"it has the tag":                               {lb(tags(clusterTag)), []*v1.Service{svc()}, nil},
		"it has the tag in another spelling":           {lb(tags("K8S:Blue")), []*v1.Service{svc()}, nil},
		"no Service":                                   {lb(), nil, nil},
		"no Service holds its id":                      {lb(), []*v1.Service{svc(noID)}, nil},
		"the mark of a Service that is gone":           {lb(tags("k8s-svc:uid-gone")), []*v1.Service{svc(noID)}, nil},
		"the Service is disowned":                      {lb(), []*v1.Service{svc(disowned)}, nil},
		"the Service is disowned, it has a mark":       {lb(tags("k8s-svc:uid-a")), []*v1.Service{svc(disowned)}, nil},
		"another's but for its backends":               {lb(), []*v1.Service{svc(func(s *v1.Service) { s.Annotations[annotation.Manage] = annotation.ManageBackends })}, nil},
		"another cluster's tag":                        {lb(tags("k8s:green")), []*v1.Service{svc()}, nil},
		"the Service has another class":                {lb(), []*v1.Service{svc(func(s *v1.Service) { s.Spec.LoadBalancerClass = new("x") })}, nil},
		"the Service is no load balancer":              {lb(), []*v1.Service{svc(func(s *v1.Service) { s.Spec.Type = v1.ServiceTypeNodePort })}, nil},
		"the Service is being deleted":                 {lb(), []*v1.Service{svc(func(s *v1.Service) { s.DeletionTimestamp = new(metav1.Now()) })}, nil},
		"the framework has not taken it on":            {lb(), []*v1.Service{svc(func(s *v1.Service) { s.Finalizers = nil })}, nil},
		"it waits to be taken over":                    {lb(), []*v1.Service{svc(noStatus)}, nil},
		"it waits to be taken over from an old one":    {lb(), []*v1.Service{svc(func(s *v1.Service) { s.Status.LoadBalancer.Ingress[0].IP = "192.0.2.9" })}, nil},
		"its address is hidden by a host name":         {lb(), []*v1.Service{svc(func(s *v1.Service) { s.Status.LoadBalancer.Ingress[0] = v1.LoadBalancerIngress{Hostname: "x.example"} })}, yes},
		"the older of two that hold its id is ours":    {lb(), []*v1.Service{svc(disowned), other()}, yes},
		"the older of two that hold its id gave it up": {lb(), []*v1.Service{svc(), other(disowned)}, yes},
		"the older of two shows no address":            {lb(), []*v1.Service{svc(), other(noStatus)}, yes},
		"two that hold its id gave it up":              {lb(), []*v1.Service{svc(disowned), other(disowned)}, nil},
		"the one it was made for goes before an id":    {lb(tags("k8s-svc:uid-a")), []*v1.Service{other(disowned), svc()}, yes},
		"the one it was made for gave it up":           {lb(tags("k8s-svc:uid-a")), []*v1.Service{other(), svc(disowned)}, yes},
		"the default name of a Service without id":     {lb(func(lb *godo.LoadBalancer) { lb.Name = loadbalancer.DefaultName(svc()) }), []*v1.Service{svc(noID)}, nil},
		"the default name of a Service that is new":    {lb(func(lb *godo.LoadBalancer) { lb.Name = loadbalancer.DefaultName(svc()) }), []*v1.Service{svc(noStatus)}, yes},
		"a custom name alone":                          {lb(func(lb *godo.LoadBalancer) { lb.Name = "a" }), []*v1.Service{svc(noID)}, nil},
		"its IPv6 address alone is in the status":      {lb(func(lb *godo.LoadBalancer) { lb.IPv6 = "2001:db8::1" }), []*v1.Service{svc(func(s *v1.Service) { s.Status.LoadBalancer.Ingress[0].IP = "2001:db8::1" })}, yes},
		"an address of nothing matches no address":     {lb(func(lb *godo.LoadBalancer) { lb.IP = "" }), []*v1.Service{svc(func(s *v1.Service) { s.Status.LoadBalancer.Ingress[0].IP = "" })}, nil},
		"a Service without annotations or any state":   {lb(), []*v1.Service{{Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer}}}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(decided{Tag: test.want}, decideFor(test.balancers, test.services)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// After the mark is gone, the load balancer must still be found when the
// Service loses all annotations.
func TestAMarkGoesOnlyWhereNothingDependsOnIt(t *testing.T) {
	tests := map[string]struct {
		lb   func(*godo.LoadBalancer)
		svc  func(*v1.Service)
		want bool
	}{
		"address and id are in the Service": {want: true},
		"it was made a moment ago":          {lb: func(lb *godo.LoadBalancer) { lb.Created = time.Now().Add(-time.Minute).UTC().Format(time.RFC3339) }},
		"it was made long ago":              {lb: func(lb *godo.LoadBalancer) { lb.Created = "2020-01-01T00:00:00Z" }, want: true},
		"no cluster tag yet":                {lb: func(lb *godo.LoadBalancer) { lb.Tags = lb.Tags[1:] }},
		"another cluster's tag too":         {lb: func(lb *godo.LoadBalancer) { lb.Tags = append(lb.Tags, "k8s:green") }},
		"no address yet": {
			lb:  func(lb *godo.LoadBalancer) { lb.IP = "" },
			svc: func(s *v1.Service) { s.Status = v1.ServiceStatus{} },
		},
		"the id is not in the Service": {svc: func(s *v1.Service) { delete(s.Annotations, annotation.LoadBalancerID) }},
		"another id is":                {svc: func(s *v1.Service) { s.Annotations[annotation.LoadBalancerID] = "id-2" }},
		"first contact is not over":    {svc: func(s *v1.Service) { delete(s.Annotations, annotation.DefaultsVersion) }},
		"the status has another address": {
			svc: func(s *v1.Service) { s.Status.LoadBalancer.Ingress[0].IP = "192.0.2.9" },
		},
		"a host name hides the address": {
			svc: func(s *v1.Service) {
				s.Status.LoadBalancer.Ingress[0] = v1.LoadBalancerIngress{Hostname: "x.example"}
			},
		},
		"the Service is disowned":       {svc: func(s *v1.Service) { s.Annotations[annotation.Disown] = "true" }},
		"the Service is being deleted":  {svc: func(s *v1.Service) { s.DeletionTimestamp = new(metav1.Now()) }},
		"the mark is another Service's": {lb: func(lb *godo.LoadBalancer) { lb.Tags[1] = "k8s-svc:uid-b" }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			lb := &godo.LoadBalancer{ID: "id-1", Name: "custom", IP: "192.0.2.1", Tags: []string{clusterTag, "k8s-svc:uid-a"}}
			svc := service("a", *lb)
			if test.lb != nil {
				test.lb(lb)
			}
			if test.svc != nil {
				test.svc(svc)
			}
			var want []string
			if test.want {
				want = []string{"k8s-svc:uid-a"}
			}
			if diff := cmp.Diff(want, decideFor([]*godo.LoadBalancer{lb}, []*v1.Service{svc}).Unmark); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
		})
	}
}

// A creation whose answer was lost leaves a second load balancer, which is found
// by the mark that both carry.
func TestTheMarkOfTwoLoadBalancersStays(t *testing.T) {
	first := &godo.LoadBalancer{ID: "id-1", IP: "192.0.2.1", Tags: []string{clusterTag, "k8s-svc:uid-a"}}
	second := &godo.LoadBalancer{ID: "id-2", IP: "192.0.2.2", Tags: []string{clusterTag, "k8s-svc:uid-a"}}
	got := decideFor([]*godo.LoadBalancer{first, second}, []*v1.Service{service("a", *first)})
	if diff := cmp.Diff(decided{}, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}
