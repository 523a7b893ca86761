package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func balanced(name string) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(start.Add(-time.Hour))},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer},
	}
}

// shelf is a book with its clock and its Services.
type shelf struct {
	*Book
	clock    *clocktesting.FakeClock
	services []*v1.Service
	known    map[string]*godo.LoadBalancer
}

func newShelf(services ...*v1.Service) *shelf {
	s := &shelf{clock: clocktesting.NewFakeClock(start), services: services, known: map[string]*godo.LoadBalancer{}}
	s.Book = NewBook(s.clock, func() []*v1.Service { return s.services })
	return s
}

func (s *shelf) describe() []Service {
	return s.Services(func(id string) (*godo.LoadBalancer, bool) { lb, ok := s.known[id]; return lb, ok })
}

func TestServiceIsDescribed(t *testing.T) {
	web := balanced("web")
	s := newShelf(web)
	s.known["lb-1"] = &godo.LoadBalancer{ID: "lb-1", Name: "front", Status: "active", IP: "203.0.113.7", IPv6: "2001:db8::7", DropletIDs: []int{1, 2}}
	failed := Sync{BalancerID: "lb-1", Standing: StandingFailing, Result: ResultCloud, Error: "change load balancer lb-1: 503"}
	size := Difference{Field: "size", Text: "1 -> 2"}
	region := Difference{Field: "region", Text: "nyc3 -> ams3", Fixed: true}

	s.Compared(web, []Difference{size, region})
	s.Synced(web, failed)
	s.clock.Step(time.Minute)
	s.Synced(web, failed)
	want := Service{
		Namespace: "shop", Name: "web", Standing: StandingFailing, Result: ResultCloud, Error: failed.Error,
		LoadBalancer: LoadBalancer{ID: "lb-1", Name: "front", Status: "active", Addresses: []string{"203.0.113.7", "2001:db8::7"}, Droplets: 2},
		AwaySince:    start, Synced: start.Add(time.Minute),
	}
	if diff := cmp.Diff([]Service{want}, s.describe()); diff != "" {
		t.Errorf("failed twice, the second time before anything was compared:\n%s", diff)
	}

	s.Compared(web, []Difference{size, region})
	s.Changed(web, "size 1 -> 2")
	s.Agreed(web)
	s.Synced(web, Sync{BalancerID: "lb-1", Standing: StandingSettled, Result: ResultSuccess})
	want.Standing, want.Result, want.Error, want.Differences = StandingDiffers, ResultSuccess, "", []Difference{region}
	want.Change, want.Changed = "size 1 -> 2", start.Add(time.Minute)
	if diff := cmp.Diff([]Service{want}, s.describe()); diff != "" {
		t.Errorf("changed, but for what can't be:\n%s", diff)
	}

	s.clock.Step(time.Minute)
	s.Compared(web, nil)
	s.Synced(web, Sync{BalancerID: "lb-1", Standing: StandingSettled, Result: ResultSuccess})
	want.Standing, want.Differences, want.AwaySince, want.Synced = StandingSettled, nil, time.Time{}, start.Add(2*time.Minute)
	if diff := cmp.Diff([]Service{want}, s.describe()); diff != "" {
		t.Errorf("settled:\n%s", diff)
	}
}

func TestAwayIsCountedPerStanding(t *testing.T) {
	for _, standing := range Standings() {
		s := newShelf(balanced("web"))
		s.Synced(s.services[0], Sync{Standing: standing})
		want := standing != StandingSettled && standing != StandingDisowned
		if got := !s.describe()[0].AwaySince.IsZero(); got != want {
			t.Errorf("%s: away is %v, want %v", standing, got, want)
		}
	}
}

func TestServiceThatNobodyWorkedFor(t *testing.T) {
	old, young, other := balanced("old"), balanced("young"), balanced("other")
	young.CreationTimestamp = metav1.NewTime(start.Add(time.Minute))
	s := newShelf(old, young)
	for _, service := range s.describe() {
		if service.Standing != StandingUnknown || !service.AwaySince.IsZero() {
			t.Errorf("without any work, load balancers may be somebody else's: %+v", service)
		}
	}
	s.services = append(s.services, other)
	s.Synced(other, Sync{Standing: StandingSettled})
	got := map[string]time.Time{}
	for _, service := range s.describe() {
		got[service.Name] = service.AwaySince
	}
	want := map[string]time.Time{"old": start, "young": start.Add(time.Minute), "other": {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("away since the work began, or since they are there:\n%s", diff)
	}
}

func TestServicesOfOthersAreNotDescribed(t *testing.T) {
	internal, classed := balanced("internal"), balanced("classed")
	internal.Spec.Type = v1.ServiceTypeClusterIP
	classed.Spec.LoadBalancerClass = new("tailscale")
	s := newShelf(internal, classed)
	if got := s.describe(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	s.Synced(internal, Sync{Standing: StandingFailing}) // its load balancer can't be deleted
	if got := s.describe(); len(got) != 1 || got[0].Name != "internal" {
		t.Errorf("one that still has a load balancer: %+v", got)
	}
	s.Forget(internal.UID)
	if got := s.describe(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestThoseAwayForLongestComeFirst(t *testing.T) {
	s := newShelf(balanced("d"), balanced("c"), balanced("b"), balanced("a"))
	for i, standing := range []Standing{StandingSettled, StandingInvalid, StandingFailing, StandingSettled} {
		s.Synced(s.services[i], Sync{Standing: standing})
		s.clock.Step(time.Minute)
	}
	var names []string
	for _, service := range s.describe() {
		names = append(names, service.Name)
	}
	if diff := cmp.Diff([]string{"c", "b", "a", "d"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestEntriesAreForgottenWithTheirServices(t *testing.T) {
	web := balanced("web")
	s := newShelf(web)
	s.Synced(web, Sync{Standing: StandingSettled})
	for i := range 10_000 { // end after their Service, and nobody looks at the book
		s.Synced(balanced(fmt.Sprint("gone-", i)), Sync{Standing: StandingFailing})
	}
	if n := len(s.entries); n > minPrune+1 {
		t.Errorf("%d entries are kept for one Service", n)
	}
	if got := s.describe(); len(got) != 1 || len(s.entries) != 1 {
		t.Errorf("%d entries are kept, and %+v described", len(s.entries), got)
	}
}

func TestNoBookIsNeeded(*testing.T) {
	var b *Book
	web := balanced("web")
	b.Compared(web, nil)
	b.Agreed(web)
	b.Changed(web, "x")
	b.Synced(web, Sync{})
	b.Forget(web.UID)
}
