package inventory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/simulator"
)

func fresh(s *simulator.DropletSpec) { s.CreatedAt = time.Now() }

func TestDropletsThatListsDoNotShowYetAreThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		w := newWorld(t, simulator.WithListLag(time.Minute))
		w.nodes(20)
		time.Sleep(2 * time.Minute)
		w.sweep(time.Minute)
		young := w.nodes(5, fresh)
		w.unready = young
		for range 24 {
			time.Sleep(5 * time.Second)
			for _, id := range young {
				for name, look := range map[string]func() (inventory.Droplet, error){
					"swept": func() (inventory.Droplet, error) {
						return w.droplets.Get(ctx, id, time.Minute, func() []int { return w.known })
					},
					"watched": func() (inventory.Droplet, error) { return w.droplets.Watch(ctx, id) },
				} {
					if _, err := look(); err != nil && !errors.Is(err, inventory.ErrNotNow) {
						t.Fatalf("droplet %d, %s: %v", id, name, err)
					}
				}
			}
		}
		for _, id := range young {
			if _, known := w.droplets.Cached(id); !known {
				t.Errorf("droplet %d was never seen", id)
			}
		}
	})
}

func TestDropletThatListsShowLateIsFoundOnceTheyDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		const lag = time.Minute
		w := newWorld(t, simulator.WithListLag(lag))
		w.unnamed = 1
		w.nodes(20)
		since := time.Now()
		id := w.sim.AddDroplet(simulator.DropletSpec{Team: "ours", Name: "late", CreatedAt: since}).ID
		query := inventory.Query{Name: "late", Since: since}
		for waited := time.Duration(0); ; waited += time.Second {
			time.Sleep(time.Second)
			got, err := w.droplets.Find(ctx, query)
			if err == nil && got.ID == id {
				break
			}
			if !errors.Is(err, inventory.ErrNoMatch) {
				t.Fatalf("found %d, error %v", got.ID, err)
			}
			if waited > lag+30*time.Second {
				t.Fatalf("not found %s after it was made: %v", waited, err)
			}
		}
	})
}
