package state

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/inventory"
)

func TestCollectorShowsEveryState(t *testing.T) {
	s := newShelf(balanced("web"), balanced("api"))
	s.Synced(s.services[0], Sync{Standing: StandingFailing})
	s.Synced(s.services[1], Sync{Standing: StandingSettled})
	s.Follow("drift-controller", func() Run { return Run{Last: time.Unix(1700000000, 0), Error: "503"} })
	s.Follow("cluster-tag-controller", func() Run { return Run{} })
	s.clock.Step(90 * time.Second)
	registry := metrics.NewKubeRegistry()
	registry.CustomMustRegister(NewCollector(func() Summary {
		nodes := []time.Time{start.Add(-time.Hour), start}
		return Summarize(s.clock.Now(), s.describe(), nodes, &Firewall{}, s.Controllers())
	}))
	want := `
		# HELP digitalocean_ccm_away_objects [ALPHA] Number of objects that are not in their desired state, by kind.
		# TYPE digitalocean_ccm_away_objects gauge
		digitalocean_ccm_away_objects{kind="firewall"} 0
		digitalocean_ccm_away_objects{kind="load_balancer"} 1
		digitalocean_ccm_away_objects{kind="node"} 2
		# HELP digitalocean_ccm_away_seconds [ALPHA] Time for which that object has not been in its desired state which has been so for longest, by kind; 0: all are.
		# TYPE digitalocean_ccm_away_seconds gauge
		digitalocean_ccm_away_seconds{kind="firewall"} 0
		digitalocean_ccm_away_seconds{kind="load_balancer"} 90
		digitalocean_ccm_away_seconds{kind="node"} 3690
		# HELP digitalocean_ccm_controller_failing [ALPHA] 1 where the last run of a controller of the manager's own failed, 0 where it did not.
		# TYPE digitalocean_ccm_controller_failing gauge
		digitalocean_ccm_controller_failing{controller="cluster-tag-controller"} 0
		digitalocean_ccm_controller_failing{controller="drift-controller"} 1
		# HELP digitalocean_ccm_controller_last_run_timestamp_seconds [ALPHA] Unix time at which the last run of a controller of the manager's own ended. Absent before the first.
		# TYPE digitalocean_ccm_controller_last_run_timestamp_seconds gauge
		digitalocean_ccm_controller_last_run_timestamp_seconds{controller="drift-controller"} 1.7e+09
		# HELP digitalocean_ccm_load_balancers [ALPHA] Number of Services of the type LoadBalancer by where their load balancer stands. Each is in one state.
		# TYPE digitalocean_ccm_load_balancers gauge
		digitalocean_ccm_load_balancers{state="differs"} 0
		digitalocean_ccm_load_balancers{state="disowned"} 0
		digitalocean_ccm_load_balancers{state="errored"} 0
		digitalocean_ccm_load_balancers{state="failing"} 1
		digitalocean_ccm_load_balancers{state="invalid"} 0
		digitalocean_ccm_load_balancers{state="pending"} 0
		digitalocean_ccm_load_balancers{state="settled"} 1
		digitalocean_ccm_load_balancers{state="unknown"} 0
	`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func TestProcessMetrics(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	m := NewMetrics(registry.MustRegister)
	m.Built("v1.2.3", "abc")
	compare := func(want, name string) {
		t.Helper()
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), name); err != nil {
			t.Error(err)
		}
	}
	const leader = "# HELP digitalocean_ccm_leader [ALPHA] 1 on the replica that does the work, 0 on those that stand by.\n# TYPE digitalocean_ccm_leader gauge\n"
	compare(leader+"digitalocean_ccm_leader 0\n", "digitalocean_ccm_leader")
	m.Leads()
	compare(leader+"digitalocean_ccm_leader 1\n", "digitalocean_ccm_leader")
	m.Synced(KindNode, ResultCloud, 2*time.Second)
	if n, err := testutil.GetHistogramMetricCount(m.syncs.WithLabelValues("node", "cloud")); err != nil || n != 1 {
		t.Errorf("%d syncs, %v", n, err)
	}
	if v, err := testutil.GetGaugeMetricValue(m.build.WithLabelValues("v1.2.3", "abc", runtime.Version())); err != nil || v != 1 {
		t.Errorf("build info %v, %v", v, err)
	}
}

func TestProblemsAreCountedByReason(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	m := NewMetrics(registry.MustRegister)
	sink := record.NewFakeRecorder(10)
	recorder := m.Recorder(sink)
	count := func(reason string) float64 {
		t.Helper()
		v, err := testutil.GetCounterMetricValue(m.problems.WithLabelValues(reason))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	web := balanced("web")
	recorder.Event(web, v1.EventTypeWarning, string(events.LoadBalancerErrored), "a")
	recorder.Event(web, v1.EventTypeWarning, string(events.LoadBalancerErrored), "b")
	recorder.Event(web, v1.EventTypeNormal, string(events.LoadBalancerCreated), "c")
	recorder.Event(web, v1.EventTypeWarning, "OfSomebodyElse", "d")
	for reason, want := range map[string]float64{
		string(events.LoadBalancerErrored): 2, string(events.LoadBalancerCreated): 0, "other": 1, string(events.TokenRefused): 0,
	} {
		if got := count(reason); got != want {
			t.Errorf("%s: %v, want %v", reason, got, want)
		}
	}
	if len(sink.Events) != 4 {
		t.Errorf("%d of 4 events were passed on", len(sink.Events))
	}
}

type ownError struct{}

func (ownError) Error() string  { return "own" }
func (ownError) Result() Result { return ResultWaiting }

func TestResultOf(t *testing.T) {
	tests := []struct {
		err  error
		want Result
	}{
		{nil, ResultSuccess},
		{errors.New("?"), ResultBug},
		{fmt.Errorf("x: %w", inventory.ErrNotNow), ResultThrottled},
		{fmt.Errorf("x: %w", inventory.ErrNotBelieved), ResultAccount},
		{inventory.ErrNoMatch, ResultWaiting},
		{inventory.ErrAmbiguous, ResultUser},
		{inventory.ErrGone, "not_found"},
		{inventory.ErrWrongAnswer, ResultCloud},
		{godo.NewArgError("id", "empty"), ResultBug},
		{apierrors.NewConflict(schema.GroupResource{Resource: "services"}, "web", errors.New("changed")), ResultKubernetes},
		{fmt.Errorf("x: %w", ownError{}), ResultWaiting},
	}
	known := map[Result]bool{}
	for _, result := range Results() {
		known[result] = true
	}
	for _, test := range tests {
		if got := ResultOf(test.err); got != test.want || !known[got] {
			t.Errorf("%v: %s (documented: %v), want %s", test.err, got, known[got], test.want)
		}
	}
}
