package rivals

import (
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	testingclock "k8s.io/utils/clock/testing"

	"digitalocean-cloud-controller-manager/internal/events"
)

type bench struct {
	*Controller
	clock    *testingclock.FakeClock
	services cache.Indexer
	kube     *fake.Clientset
	sink     *record.FakeRecorder
	metrics  *Metrics
}

func newBench(t *testing.T, objects ...runtime.Object) *bench {
	t.Helper()
	b := &bench{
		clock: testingclock.NewFakeClock(begun), sink: record.NewFakeRecorder(10), kube: fake.NewSimpleClientset(objects...),
		services: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}),
	}
	registry := metrics.NewKubeRegistry()
	b.metrics = NewMetrics(registry.MustRegister)
	ledger := NewLedger(b.clock)
	ledger.Begin()
	b.Controller = New(Options{
		Ledger: ledger, Nodes: corelisters.NewNodeLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})),
		Services: corelisters.NewServiceLister(b.services), Leases: b.kube.CoordinationV1(),
		Foreign:  types.NamespacedName{Namespace: "kube-system", Name: "cloud-controller-manager"},
		Lease:    &v1.ObjectReference{Kind: "Lease", Name: "ours", Namespace: "kube-system"},
		Recorder: events.NewRecorder(b.sink, b.clock), Metrics: b.metrics, Clock: b.clock,
	})
	return b
}

// events are those told since the last call.
func (b *bench) events() []string {
	var told []string
	for {
		select {
		case e := <-b.sink.Events:
			told = append(told, e)
		default:
			return told
		}
	}
}

func (b *bench) count(t *testing.T, kind string) float64 {
	t.Helper()
	n, err := testutil.GetGaugeMetricValue(b.metrics.signs.WithLabelValues(kind))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (b *bench) looks(t *testing.T, after time.Duration) []string {
	t.Helper()
	b.clock.Step(after)
	if err := b.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b.events()
}

func TestAnotherManagerIsToldWhenItBeginsAndEachHalfHour(t *testing.T) {
	b := newBench(t)
	if told := b.looks(t, 10*time.Minute); len(told) > 0 {
		t.Fatal(told)
	}
	_ = b.services.Add(service("other-cloud-controller-manager", "status", b.clock.Now()))
	told := b.looks(t, time.Minute)
	if len(told) != 1 || !strings.HasPrefix(told[0], "Warning AnotherManager ") || !strings.Contains(told[0], "other-cloud-controller-manager wrote Service default/web (status) at ") || !strings.Contains(told[0], "Stop one of them") {
		t.Fatal(told)
	}
	if b.count(t, KindWrite) != 1 || b.count(t, KindLease) != 0 {
		t.Error("the metric tells otherwise")
	}
	for range 2 { // it goes on, at later times
		_ = b.services.Update(service("other-cloud-controller-manager", "status", b.clock.Now()))
		if told := b.looks(t, 10*time.Minute); len(told) > 0 {
			t.Error(told)
		}
	}
	_ = b.services.Update(service("other-cloud-controller-manager", "status", b.clock.Now()))
	if told := b.looks(t, 10*time.Minute); len(told) != 1 {
		t.Errorf("after half an hour: %v", told)
	}
	if told := b.looks(t, time.Hour); len(told) > 0 || b.count(t, KindWrite) != 0 {
		t.Errorf("it is over: %v", told)
	}
}

// A Service that comes during a look is in none of the look's lists.
func TestOwnWritesToWhatIsNotListedYetAreNotForgotten(t *testing.T) {
	b := newBench(t)
	b.clock.Step(10 * time.Minute)
	at := b.clock.Now()
	send(t, b.options.Ledger, "PATCH", "/api/v1/namespaces/default/services/web/status", dated(at))
	if told := b.looks(t, time.Second); len(told) > 0 {
		t.Fatal(told)
	}
	_ = b.services.Add(service(own, "status", at))
	for range 20 { // until it is no sign any more
		if told := b.looks(t, time.Minute); len(told) > 0 {
			t.Fatal(told)
		}
	}
	if n := len(b.options.Ledger.entries); n > 0 {
		t.Errorf("%d writes are remembered for good", n)
	}
}

func TestTheLeaseOfOthersIsLookedAt(t *testing.T) {
	renewed := metav1.NewMicroTime(begun.Add(time.Minute))
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cloud-controller-manager"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("node-7_abc"), LeaseDurationSeconds: new(int32(15)), RenewTime: &renewed},
	}
	b := newBench(t, lease)
	if told := b.looks(t, time.Minute); len(told) != 1 || !strings.Contains(told[0], "node-7_abc holds the lease kube-system/cloud-controller-manager") || b.count(t, KindLease) != 1 {
		t.Error(told)
	}
	b.Controller.options.Foreign = types.NamespacedName{}
	if b.looks(t, time.Second); b.count(t, KindLease) != 0 {
		t.Error("its own lease is taken for another's")
	}
}

func TestALeaseThatCantBeReadHidesNoWrites(t *testing.T) {
	b := newBench(t)
	b.kube.PrependReactor("get", "leases", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("forbidden") })
	_ = b.services.Add(service("other-cloud-controller-manager", "", begun.Add(5*time.Minute)))
	b.clock.Step(6 * time.Minute)
	if err := b.look(t.Context()); err == nil || !strings.Contains(err.Error(), "kube-system/cloud-controller-manager: forbidden") {
		t.Error(err)
	}
	if told := b.events(); len(told) != 1 {
		t.Error(told)
	}
}
