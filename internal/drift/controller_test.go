package drift

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/events"

	"k8s.io/component-base/metrics"
)

// balancers answers looks, and counts them.
type balancers struct {
	mu      sync.Mutex
	looks   int
	orphans []*godo.LoadBalancer
	err     error
}

func (b *balancers) CheckDrift(context.Context) ([]*godo.LoadBalancer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looks++
	return b.orphans, b.err
}

func (b *balancers) setOrphans(orphans []*godo.LoadBalancer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orphans = orphans
}

// bubble runs a controller for a time of the bubble.
func bubble(t *testing.T, edit func(*Options), during time.Duration, then func(*Controller)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		options := Options{Period: time.Minute, Clock: clock.RealClock{}}
		edit(&options)
		c := New(options)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { c.Run(ctx); close(done) }()
		time.Sleep(during)
		synctest.Wait()
		then(c)
		cancel()
		<-done
	})
}

func TestLooksOnceAPeriod(t *testing.T) {
	tests := map[string]struct {
		edit     func(*Options)
		min, max int
	}{
		"each period, spread by a tenth":   {func(*Options) {}, 9, 11},
		"off":                              {func(o *Options) { o.Period = 0 }, 0, 0},
		"Services are not known yet":       {func(o *Options) { o.HasSynced = func() bool { return false } }, 0, 0},
		"load balancers are not ours":      {func(o *Options) { o.LoadBalancers = nil }, 0, 0},
		"an error is tried again, no more": {func(o *Options) { o.LoadBalancers.(*balancers).err = errors.New("no") }, 9, 11},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := &balancers{}
			checks := 0
			edit := func(o *Options) {
				o.LoadBalancers = b
				o.Checks = []func(context.Context) error{func(context.Context) error { checks++; return nil }}
				test.edit(o)
			}
			bubble(t, edit, 10*time.Minute+30*time.Second, func(*Controller) {
				if b.looks < test.min || b.looks > test.max {
					t.Errorf("%d looks in ten periods, want %d to %d", b.looks, test.min, test.max)
				}
				if name == "load balancers are not ours" && checks < 9 {
					t.Errorf("the other checks were made %d times", checks)
				}
			})
		})
	}
}

func TestACheckThatFailsDoesNotStopTheOthers(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	m := NewMetrics(registry.MustRegister)
	last := 0
	edit := func(o *Options) {
		o.Metrics = m
		o.Checks = []func(context.Context) error{
			func(context.Context) error { panic("defect") },
			func(context.Context) error { return errors.New("no") },
			func(context.Context) error { last++; return nil },
		}
	}
	bubble(t, edit, 70*time.Second, func(*Controller) {
		if last != 1 {
			t.Errorf("the last check was made %d times", last)
		}
	})
	want := `
# HELP digitalocean_ccm_drift_checks_total [ALPHA] Looks for drift at one kind of objects, by result: success or error.
# TYPE digitalocean_ccm_drift_checks_total counter
digitalocean_ccm_drift_checks_total{result="error"} 2
digitalocean_ccm_drift_checks_total{result="success"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "digitalocean_ccm_drift_checks_total"); err != nil {
		t.Error(err)
	}
}

func TestOnlyAStuckLoopIsUnhealthy(t *testing.T) {
	release := make(chan struct{})
	stuck := func(o *Options) {
		o.Checks = []func(context.Context) error{func(context.Context) error { <-release; return errors.New("no") }}
	}
	bubble(t, func(o *Options) {
		stuck(o)
		release = make(chan struct{})
	}, 3*time.Minute, func(c *Controller) {
		check := c.HealthChecker()
		if err := check.Check(nil); err != nil {
			t.Errorf("unhealthy while a check takes its time: %v", err)
		}
		time.Sleep(25 * time.Minute)
		if err := check.Check(nil); err == nil {
			t.Error("healthy with a check that is stuck")
		}
		close(release)
		synctest.Wait()
		if err := check.Check(nil); err != nil {
			t.Errorf("unhealthy after a failed check: %v", err)
		}
	})
}

func TestOrphansAreToldOnceOnTheLease(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	b := &balancers{orphans: []*godo.LoadBalancer{{ID: "2", Name: "b"}, {ID: "1", Name: "a"}}}
	sink := record.NewFakeRecorder(10)
	edit := func(o *Options) {
		o.LoadBalancers, o.Metrics = b, NewMetrics(registry.MustRegister)
		o.Recorder = events.NewRecorder(sink, o.Clock)
		o.Lease = &v1.ObjectReference{Kind: "Lease", Namespace: "kube-system", Name: "cloud-controller-manager"}
	}
	bubble(t, edit, 5*time.Minute+30*time.Second, func(*Controller) {
		if b.looks < 4 {
			t.Fatalf("%d looks", b.looks)
		}
		if got := <-sink.Events; !strings.Contains(got, "LoadBalancersOrphaned") || !strings.Contains(got, "a (1), b (2).") {
			t.Error(got)
		}
		b.setOrphans(nil)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := len(sink.Events); n != 0 {
			t.Errorf("%d more events", n)
		}
	})
	want := `
# HELP digitalocean_ccm_orphaned_load_balancers [ALPHA] Load balancers that carry the cluster's mark and belong to no Service, as of the last look.
# TYPE digitalocean_ccm_orphaned_load_balancers gauge
digitalocean_ccm_orphaned_load_balancers 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "digitalocean_ccm_orphaned_load_balancers"); err != nil {
		t.Error(err)
	}
}

func TestManyOrphansAreCounted(t *testing.T) {
	var many []*godo.LoadBalancer
	for _, name := range strings.Split("abcdefghijklm", "") {
		many = append(many, &godo.LoadBalancer{ID: "id", Name: name})
	}
	if got := describeOrphans(many); !strings.Contains(got, "j (id) and 3 more.") || strings.Contains(got, "k (id)") {
		t.Error(got)
	}
}
