package instances

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	book "digitalocean-cloud-controller-manager/internal/state"
	"digitalocean-cloud-controller-manager/simulator"
)

func TestReportDescribesNodesAndTheirDroplets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, standardBrake)
		begun := time.Now()
		witness, id := c.add("witness")
		setReady(witness, v1.ConditionTrue)
		lost, lostID := c.add("lost")
		setReady(lost, v1.ConditionTrue)
		taint(c.addNode("fresh", "", begun))
		c.addNode("foreign", "aws:///x/i-1", begun)
		c.sweep()
		if err := c.sim.DeleteDroplet(lostID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		c.sweep()
		noticed := time.Now()
		time.Sleep(10 * time.Minute)
		c.sweep()

		type seen struct {
			Name, State string
			Droplet     int
			Away        time.Time
		}
		var got []seen
		calls := len(c.sim.Requests())
		for _, n := range c.instances.Report() {
			got = append(got, seen{n.Name, n.State, n.DropletID, n.AwaySince})
			if n.Name == "witness" && (n.Status != "active" || len(n.Addresses) == 0 || n.Read.IsZero() || n.Droplet != "witness") {
				t.Errorf("a droplet is described as %+v", n)
			}
		}
		want := []seen{
			{"fresh", "without_droplet", 0, begun}, {"lost", "gone", lostID, noticed},
			{"foreign", "foreign", 0, time.Time{}}, {"witness", "initialized", id, time.Time{}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if n := len(c.instances.Away()); n != 2 {
			t.Errorf("%d Nodes are away, want 2", n)
		}
		if n := len(c.sim.Requests()) - calls; n > 0 {
			t.Errorf("to describe costs %d calls", n)
		}
	})
}

func TestHeldNodesAreAwaySinceTheyAreHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, standardBrake)
		node, _ := c.add("held")
		time.Sleep(time.Minute)
		since := time.Now()
		c.instances.hold(node, "gone")
		time.Sleep(time.Minute)
		c.instances.hold(node, "gone")
		if got := c.instances.Away(); len(got) != 1 || !got[0].Equal(since) {
			t.Errorf("away since %v, want %v", got, since)
		}
	})
}

func TestWorkForNodesIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, standardBrake)
		registry := metrics.NewKubeRegistry()
		measured := Measured(c.instances, book.NewMetrics(registry.MustRegister))
		known, _ := c.add("known")
		lost := c.addNode("lost", "", time.Now())
		taint(lost)
		for _, node := range []*v1.Node{known, lost} {
			_, _ = measured.InstanceMetadata(context.Background(), node)
		}
		c.sim.AddFault(simulator.Fault{Status: 401})
		time.Sleep(time.Hour)
		if _, err := measured.InstanceMetadata(context.Background(), known); err == nil {
			t.Fatal("no error")
		}
		for _, result := range []book.Result{book.ResultSuccess, book.ResultWaiting, book.ResultAccount} {
			counts, err := testutil.GetHistogramVecFromGatherer(registry, "digitalocean_ccm_sync_duration_seconds", map[string]string{"kind": book.KindNode, "result": string(result)})
			if err != nil || counts.GetAggregatedSampleCount() != 1 {
				t.Errorf("%s is counted %d times, want once; %v", result, counts.GetAggregatedSampleCount(), err)
			}
		}
	})
}

func TestResultOfANodesTrouble(t *testing.T) {
	if got := resultOf(fmt.Errorf("x: %w", errNotYet)); got != book.ResultWaiting {
		t.Errorf("a droplet that isn't ready yet is %s", got)
	}
	if got := resultOf(errors.New("?")); got != book.ResultBug {
		t.Errorf("what nobody knows is %s", got)
	}
}
