package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/simulator"

	"github.com/digitalocean/godo"
)

// shelf is a simulator with load balancers, and a snapshot of them.
type shelf struct {
	*inventory.LoadBalancers
	t      *testing.T
	sim    *simulator.Simulator
	client *doapi.Client
}

// inShelf runs a test in a bubble with n load balancers.
func inShelf(t *testing.T, n int, test func(*shelf, []string), options ...simulator.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{t: t, sim: simulator.New(append(options, simulator.WithToken(ours, "ours"), simulator.WithRateLimit(100_000, 10_000))...)}
		var err error
		if s.client, err = doapi.New(doapi.Options{TokenSource: &token{ours}, Version: "test", Transport: s.sim.Transport()}); err != nil {
			t.Fatal(err)
		}
		s.LoadBalancers = inventory.NewLoadBalancers(s.client.LoadBalancers, clock.RealClock{})
		var ids []string
		for i := range n {
			ids = append(ids, s.create(fmt.Sprint("lb-", i)))
		}
		time.Sleep(2 * time.Minute) // a list lags no more
		s.sim.ResetRequests()
		test(s, ids)
	})
}

// create makes a load balancer that the snapshot isn't told of.
func (s *shelf) create(name string) string {
	s.t.Helper()
	lb, _, err := s.client.LoadBalancers.Create(context.Background(), &godo.LoadBalancerRequest{
		Name: name, Region: "nyc3", Type: "REGIONAL",
		ForwardingRules: []godo.ForwardingRule{{EntryProtocol: "tcp", EntryPort: 80, TargetProtocol: "tcp", TargetPort: 80}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return lb.ID
}

func (s *shelf) get(id string, maxAge time.Duration, peers ...string) *godo.LoadBalancer {
	s.t.Helper()
	lb, err := s.Get(context.Background(), id, maxAge, func() []string { return peers })
	if err != nil {
		s.t.Fatal(err)
	}
	return lb
}

func (s *shelf) all(maxAge time.Duration) []string {
	s.t.Helper()
	all, err := s.All(context.Background(), maxAge)
	if err != nil {
		s.t.Fatal(err)
	}
	ids := make([]string, len(all))
	for i, lb := range all {
		ids[i] = lb.ID
	}
	slices.Sort(ids)
	return ids
}

func (s *shelf) edit(id string, units int) {
	s.t.Helper()
	if err := s.sim.EditLoadBalancer(id, func(lb *simulator.LoadBalancer) { lb.SizeUnit = units }); err != nil {
		s.t.Fatal(err)
	}
}

// wantCalls checks the paths asked since the last look.
func (s *shelf) wantCalls(why string, want ...string) {
	s.t.Helper()
	var paths []string
	for _, r := range s.sim.Requests() {
		paths = append(paths, r.Method+" "+strings.TrimPrefix(r.Path, "/v2/load_balancers"))
	}
	s.sim.ResetRequests()
	if diff := cmp.Diff(want, paths); diff != "" {
		s.t.Errorf("%s: %s", why, diff)
	}
}

func TestAListIsChosenWhereItIsCheaper(t *testing.T) {
	inShelf(t, 5, func(s *shelf, ids []string) {
		s.get(ids[0], time.Minute, ids[0])
		s.wantCalls("one is due", "GET /"+ids[0])
		s.get(ids[1], time.Minute, ids...)
		s.wantCalls("four are due", "GET ")
		for _, id := range ids {
			s.get(id, time.Minute, ids...)
		}
		s.wantCalls("none is due")
		time.Sleep(time.Minute)
		s.get(ids[0], 0, ids...)
		s.wantCalls("as of now, of one", "GET /"+ids[0])
		s.get(ids[2], time.Minute, ids...)
		s.wantCalls("four are too old", "GET ")
	})
}

func TestCallersAtOnceShareACall(t *testing.T) {
	inShelf(t, 3, func(s *shelf, ids []string) {
		done := make(chan int)
		for range 10 {
			go func() {
				all, _ := s.All(context.Background(), time.Minute)
				done <- len(all)
			}()
		}
		for range 10 {
			if n := <-done; n != 3 {
				s.t.Errorf("%d load balancers", n)
			}
		}
		s.wantCalls("ten at once", "GET ")
	}, simulator.WithLatency(time.Second))
}

func TestAListForgetsWhatIsGone(t *testing.T) {
	inShelf(t, 3, func(s *shelf, ids []string) {
		s.all(0)
		if err := s.sim.DeleteLoadBalancer(ids[0]); err != nil {
			s.t.Fatal(err)
		}
		if n := len(s.all(time.Minute)); n != 3 {
			s.t.Errorf("%d from the snapshot", n)
		}
		time.Sleep(time.Second)
		want := slices.Sorted(slices.Values(ids[1:]))
		if diff := cmp.Diff(want, s.all(0)); diff != "" {
			s.t.Error(diff)
		}
		s.sim.ResetRequests()
		// That it is gone is the API's word alone.
		_, err := s.Get(context.Background(), ids[0], time.Hour, func() []string { return nil })
		if !doapi.IsNotFound(err) {
			s.t.Errorf("got %v", err)
		}
		s.wantCalls("what the list lacks", "GET /"+ids[0])
	})
}

func TestAFailedListChangesNothing(t *testing.T) {
	inShelf(t, 3, func(s *shelf, ids []string) {
		s.all(0)
		s.edit(ids[0], 3)
		s.sim.AddFault(simulator.Fault{Method: "GET", Path: "/v2/load_balancers", Status: 500})
		if _, err := s.All(context.Background(), 0); err == nil {
			s.t.Fatal("no error")
		}
		if n := s.get(ids[0], time.Hour).SizeUnit; n != 1 {
			s.t.Errorf("size %d", n)
		}
	})
}

// A list may lag behind a write: what was written is believed for a minute.
func TestOwnWritesAreBelievedOverALaggingList(t *testing.T) {
	inShelf(t, 2, func(s *shelf, ids []string) {
		s.all(0)
		written := *s.get(ids[0], time.Hour)
		written.SizeUnit = 2
		s.Written(&written)
		s.Deleted(ids[1])
		s.all(0) // shows both as they were
		if n := s.get(ids[0], time.Hour).SizeUnit; n != 2 {
			s.t.Errorf("size %d, which the list took back", n)
		}
		if got := s.all(time.Hour); !slices.Equal(got, ids[:1]) {
			s.t.Errorf("%v: the list brought a deleted one back", got)
		}
		time.Sleep(time.Minute)
		if n := len(s.all(0)); n != 2 {
			s.t.Errorf("%d after a minute", n)
		}
		if n := s.get(ids[0], time.Hour).SizeUnit; n != 1 {
			s.t.Errorf("size %d after a minute", n)
		}
	})
}

// Until it is written to again, nothing older than its creation can be shown of
// one that this process made: a list tells of many at once that they are ready.
func TestAListTellsThatWhatWasMadeIsReady(t *testing.T) {
	tests := map[string]struct {
		before   func(s *shelf, lb *godo.LoadBalancer)
		believed bool
	}{
		"only made":        {func(*shelf, *godo.LoadBalancer) {}, true},
		"settings written": {func(s *shelf, lb *godo.LoadBalancer) { s.Written(lb) }, false},
		"droplets written": {func(s *shelf, lb *godo.LoadBalancer) { s.WrittenDroplets(lb.ID, []int{1}, nil) }, false},
		"seen to be ready": {func(s *shelf, lb *godo.LoadBalancer) { s.get(lb.ID, 0) }, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inShelf(t, 1, func(s *shelf, ids []string) {
				made := *s.get(ids[0], 0)
				made.Status = "new"
				s.Created(&made)
				time.Sleep(time.Second)
				test.before(s, &made)
				if err := s.sim.EditLoadBalancer(ids[0], func(lb *simulator.LoadBalancer) { lb.SizeUnit = 2 }); err != nil {
					s.t.Fatal(err)
				}
				time.Sleep(time.Second)
				s.all(0)
				got := s.get(ids[0], time.Hour)
				if believed := got.Status == "active" && got.SizeUnit == 2; believed != test.believed {
					s.t.Errorf("believed: %t; it is %s, of size %d", believed, got.Status, got.SizeUnit)
				}
			})
		})
	}
}

func TestANewLoadBalancerThatTheListLacksIsKept(t *testing.T) {
	inShelf(t, 1, func(s *shelf, ids []string) {
		s.all(0)
		s.Written(&godo.LoadBalancer{ID: "new", Status: "new"})
		if got := s.all(0); !slices.Contains(got, "new") {
			s.t.Errorf("%v lack it", got)
		}
		if got := s.In("new"); !slices.Equal(got, []string{"new"}) {
			s.t.Errorf("in status new: %v", got)
		}
		time.Sleep(time.Minute)
		if got := s.all(0); slices.Contains(got, "new") {
			s.t.Errorf("%v have it after a minute", got)
		}
	})
}

func TestWrittenDropletsAreKnownWithoutACall(t *testing.T) {
	inShelf(t, 1, func(s *shelf, ids []string) {
		before := s.get(ids[0], time.Hour)
		s.sim.ResetRequests()
		s.WrittenDroplets(ids[0], []int{1, 2}, nil)
		s.WrittenDroplets(ids[0], []int{2, 3}, []int{1})
		if got := s.get(ids[0], time.Hour).DropletIDs; !slices.Equal(got, []int{2, 3}) {
			s.t.Errorf("droplets %v", got)
		}
		if len(before.DropletIDs) != 0 {
			s.t.Errorf("what was handed out before changed: %v", before.DropletIDs)
		}
		s.wantCalls("droplets")
		s.WrittenDroplets("unknown", []int{1}, nil)
		s.Doubt(ids[0])
		s.get(ids[0], time.Hour)
		s.wantCalls("in doubt", "GET /"+ids[0])
	})
}

// wrong answers with another object than it was asked for.
type wrong struct{ inventory.LoadBalancerAPI }

func (wrong) Get(context.Context, string) (*godo.LoadBalancer, *godo.Response, error) {
	return &godo.LoadBalancer{ID: "other"}, nil, nil
}

func TestAnAnswerOfSomethingElseIsAnError(t *testing.T) {
	snapshot := inventory.NewLoadBalancers(wrong{}, clock.RealClock{})
	if lb, err := snapshot.Get(context.Background(), "id", 0, func() []string { return nil }); err == nil {
		t.Errorf("got %v", lb)
	}
}

// refusing keeps callers back that don't wait for the quota, after a second.
type refusing struct{ inventory.LoadBalancerAPI }

func (r refusing) List(ctx context.Context, o *godo.ListOptions) ([]godo.LoadBalancer, *godo.Response, error) {
	time.Sleep(time.Second)
	if doapi.PriorityOf(ctx) < doapi.Urgent {
		return nil, nil, &doapi.ThrottledError{Priority: doapi.PriorityOf(ctx)}
	}
	return r.LoadBalancerAPI.List(ctx, o)
}

func TestWhoIsKeptBackForTheQuotaIsKeptBackAlone(t *testing.T) {
	inShelf(t, 1, func(s *shelf, _ []string) {
		s.LoadBalancers = inventory.NewLoadBalancers(refusing{s.client.LoadBalancers}, clock.RealClock{})
		errs := make(chan error)
		all := func(p doapi.Priority) {
			_, err := s.All(doapi.WithPriority(s.t.Context(), p), 0)
			errs <- err
		}
		go all(doapi.Normal)
		time.Sleep(time.Millisecond)
		go all(doapi.Urgent)
		if err := <-errs; !errors.Is(err, doapi.ErrThrottled) {
			s.t.Errorf("the first: %v", err)
		}
		if err := <-errs; err != nil {
			s.t.Errorf("the urgent one: %v", err)
		}
		s.wantCalls("the urgent one's", "GET ")
	})
}
