package reconciler

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/state"
	"digitalocean-cloud-controller-manager/simulator"
)

func TestEveryErrorHasAStandingAndAResult(t *testing.T) {
	tests := []struct {
		name     string
		err      error
		standing state.Standing
		result   state.Result
	}{
		{"none", nil, state.StandingSettled, state.ResultSuccess},
		{"invalid", &invalidError{}, state.StandingInvalid, state.ResultUser},
		{"another's", &foreignError{owner: &v1.Service{}}, state.StandingInvalid, state.ResultUser},
		{"missing", &missingError{}, state.StandingInvalid, state.ResultUser},
		{"being made", fmt.Errorf("x: %w", &pendingError{}), state.StandingPending, state.ResultWaiting},
		{"errored", &erroredError{}, state.StandingErrored, state.ResultCloud},
		{"size", &resizeError{err: errors.New("too soon")}, state.StandingDiffers, state.ResultConflict},
		{"gone meanwhile", errGone, state.StandingFailing, state.ResultConflict},
		{"not now", &requestError{"list", inventory.ErrNotNow}, state.StandingFailing, state.ResultThrottled},
		{"defect", errDefect, state.StandingFailing, state.ResultBug},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if standing, result := sortOut(test.err); standing != test.standing || result != test.result {
				t.Errorf("%s and %s, want %s and %s", standing, result, test.standing, test.result)
			}
		})
	}
}

// inStandWithBook runs a test in a stand whose Reconciler writes a book.
func inStandWithBook(t *testing.T, test func(*stand, func() state.Service)) {
	t.Helper()
	var services corelisters.ServiceLister
	var book *state.Book
	inStand(t, func(o *Options) {
		services = o.Services
		book = state.NewBook(o.Clock, func() []*v1.Service {
			all, err := services.List(labels.Everything())
			if err != nil {
				t.Error(err)
			}
			return all
		})
		o.Book = book
	}, func(s *stand) {
		test(s, func() state.Service {
			t.Helper()
			all := book.Services(s.balancers.Known)
			if len(all) != 1 {
				t.Fatalf("%d Services are shown: %+v", len(all), all)
			}
			return all[0]
		})
	})
}

func newWeb() *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "4b0b1a1e-0000-4000-8000-000000000001", Annotations: map[string]string{annotation.Type: annotation.TypeRegional}},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{{Port: 80, NodePort: 30080, Protocol: v1.ProtocolTCP}}},
	}
}

func TestTheBookFollowsALoadBalancersLife(t *testing.T) {
	inStandWithBook(t, func(s *stand, shown func() state.Service) {
		s.apply(newWeb())
		if got := shown(); got.Standing != state.StandingPending || got.Change != "created" || got.AwaySince.IsZero() || got.Error != "" {
			t.Errorf("while it is made: %+v", got)
		}
		s.later(5 * time.Minute)
		id := s.mine().ID
		if got := shown(); got.Standing != state.StandingSettled || got.LoadBalancer.ID != id || !got.AwaySince.IsZero() {
			t.Errorf("when it is made: %+v", got)
		}
		s.edit(annotation.SizeUnit, "2")
		if got := shown(); got.Standing != state.StandingSettled || !strings.Contains(got.Change, "1 -> 2") || !got.Changed.Equal(time.Now()) {
			t.Errorf("after a change: %+v", got)
		}
		s.edit(annotation.SizeUnit, "many")
		since := time.Now()
		s.later(time.Hour)
		if got := shown(); got.Standing != state.StandingInvalid || got.Result != state.ResultUser || !strings.Contains(got.Error, "many") || !got.AwaySince.Equal(since) {
			t.Errorf("an invalid Service: %+v, want it to be away since %s", got, since)
		}
		s.edit(annotation.SizeUnit, "2", annotation.Type, annotation.TypeRegionalNetwork)
		if got := shown(); got.Standing != state.StandingDiffers || len(got.Differences) == 0 || !got.Differences[0].Fixed {
			t.Errorf("what can't be changed: %+v", got)
		}
		s.edit(annotation.Type, annotation.TypeRegional, annotation.Disown, "true")
		if got := shown(); got.Standing != state.StandingDisowned || !got.AwaySince.IsZero() {
			t.Errorf("when it is disowned: %+v", got)
		}
	})
}

func TestTheBookTellsOfDriftAndOfAnAPIThatFails(t *testing.T) {
	inStandWithBook(t, func(s *stand, shown func() state.Service) {
		s.apply(newWeb())
		s.later(5 * time.Minute)
		s.byHand(s.mine().ID, func(lb *simulator.LoadBalancer) { lb.SizeUnit = 3 })
		s.pass()
		if got := shown(); got.Standing != state.StandingSettled || !strings.HasPrefix(got.Change, "put back: ") {
			t.Errorf("after drift: %+v", got)
		}
		s.sim.AddFault(simulator.Fault{Method: "PUT", Status: 503, Body: "upstream"})
		s.edit(annotation.SizeUnit, "2")
		s.later(5 * time.Minute)
		if got := shown(); got.Standing != state.StandingFailing || got.Result != state.ResultCloud || len(got.Differences) != 1 || got.AwaySince.IsZero() {
			t.Errorf("while the API fails: %+v", got)
		}
		s.sim.ClearFaults()
		s.later(15 * time.Minute)
		if got := shown(); got.Standing != state.StandingSettled || len(got.Differences) != 0 {
			t.Errorf("when it answers again: %+v", got)
		}
	})
}

func TestADefectIsNoSuccess(t *testing.T) {
	inStandWithBook(t, func(s *stand, shown func() state.Service) {
		s.cluster = loadbalancer.Cluster{}
		s.Reconciler.cluster = func() (loadbalancer.Cluster, error) { panic("defect") }
		s.apply(newWeb())
		if got := shown(); got.Standing != state.StandingFailing || got.Result != state.ResultBug {
			t.Errorf("after a panic: %+v", got)
		}
	})
}
