package inventory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/simulator"
)

func TestNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		w := newWorld(t)
		w.strangers(3)
		add := func(name string) int {
			time.Sleep(time.Second)
			return w.sim.AddDroplet(simulator.DropletSpec{Team: "ours", Name: name}).ID
		}
		old, second := add("worker"), add("Worker")
		add("worker-1")
		check := func(calls int, want ...int) {
			t.Helper()
			found, err := w.droplets.Named(ctx, "worker", []int{old}, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			var ids []int
			for _, d := range found {
				ids = append(ids, d.ID)
			}
			if diff := cmp.Diff(want, ids); diff != "" {
				t.Error(diff)
			}
			w.wantCalls(calls, "droplets of a name")
		}
		check(1, second)
		check(0, second)
		time.Sleep(5 * time.Minute)
		if err := w.sim.DeleteDroplet(second); err != nil {
			t.Fatal(err)
		}
		check(1)
		third := add("worker")
		check(1, third)
	})
}

func TestNamedIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		refused := 0
		for range 500 {
			if _, err := w.droplets.Named(context.Background(), "nobody", nil, time.Minute); errors.Is(err, inventory.ErrNotNow) {
				refused++
			}
		}
		if n := len(w.calls()); n > 31 || n+refused != 500 {
			t.Errorf("%d calls, %d refused", n, refused)
		}
	})
}
