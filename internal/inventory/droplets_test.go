package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/simulator"
)

// sweep asks for every known droplet, as the node controller does each five
// minutes.
func (w *world) sweep(maxAge time.Duration) {
	w.t.Helper()
	for _, id := range w.known {
		if _, err := w.droplets.Get(context.Background(), id, maxAge, func() []int { return w.known }); err != nil {
			w.t.Fatalf("droplet %d: %v", id, err)
		}
	}
}

func TestSweepTakesTheCheaperOfListAndGets(t *testing.T) {
	tests := []struct {
		nodes, strangers int
		// first is the calls of a process that has just started, again those
		// of the next sweep.
		first, again int
	}{
		{nodes: 1, strangers: 0, first: 1, again: 1},
		{nodes: 10, strangers: 0, first: 1, again: 1},
		{nodes: 10, strangers: 5000, first: 11, again: 10},
		{nodes: 300, strangers: 0, first: 3, again: 2},
		{nodes: 1000, strangers: 0, first: 6, again: 5},
		{nodes: 5000, strangers: 0, first: 26, again: 25},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%d nodes among %d strangers", test.nodes, test.strangers), func(t *testing.T) {
			if test.nodes > 1000 && testing.Short() {
				t.Skip("short")
			}
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, simulator.WithRateLimit(100_000, 100_000))
				w.strangers(test.strangers)
				w.nodes(test.nodes)
				w.sweep(4 * time.Minute)
				w.wantCalls(test.first, "first sweep")
				time.Sleep(5 * time.Minute)
				w.sweep(4 * time.Minute)
				w.wantCalls(test.again, "second sweep")
				w.sweep(4 * time.Minute)
				w.wantCalls(0, "sweep of what is fresh")
			})
		})
	}
}

func TestListIsByTagWhereTheClusterSharesOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.strangers(1500)
		w.nodes(300, func(s *simulator.DropletSpec) { s.Tags = []string{"k8s", "pool:a"} })
		w.sweep(4 * time.Minute)
		w.calls()
		time.Sleep(5 * time.Minute)
		w.sweep(4 * time.Minute)
		w.wantCalls(2, "300 nodes among 1,500 strangers, all with one tag")
	})
}

func TestDropletsWithGPUsAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.nodes(20)
		w.nodes(20, func(s *simulator.DropletSpec) { s.GPU = true })
		w.sweep(4 * time.Minute)
		w.wantCalls(3, "a list of each kind, and the first page to learn how many there are")
		time.Sleep(5 * time.Minute)
		w.sweep(4 * time.Minute)
		w.wantCalls(2, "a list of each kind")
	})
}

func TestWatchCostsACallEachTenSecondsHoweverManyAreWatched(t *testing.T) {
	for _, unready := range []int{1, 4, 50} {
		t.Run(fmt.Sprint(unready, " unready of 2000"), func(t *testing.T) {
			if unready > 4 && testing.Short() {
				t.Skip("short")
			}
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.nodes(2000)
				w.sweep(4 * time.Minute)
				w.unready = w.known[:unready]
				time.Sleep(time.Minute)
				w.calls()
				// The framework looks at each twice, each five seconds.
				for range 180 {
					time.Sleep(5 * time.Second)
					for _, id := range w.unready {
						for range 2 {
							if _, err := w.droplets.Watch(context.Background(), id); err != nil && !errors.Is(err, inventory.ErrNotNow) {
								t.Fatal(err)
							}
						}
					}
				}
				w.wantCalls(90+10+6, "a quarter of an hour of watching")
			})
		})
	}
}

func TestWatchSeesAPoweredOffDropletWithinTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.nodes(100)
		w.sweep(4 * time.Minute)
		w.unready = w.known[:1]
		if err := w.sim.StopDroplet(w.known[0]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Second)
		d, err := w.droplets.Watch(context.Background(), w.known[0])
		if err != nil || !d.IsShutdown() {
			t.Errorf("shut down %t, error %v", d.IsShutdown(), err)
		}
	})
}

func TestGone(t *testing.T) {
	for _, n := range []int{1, 2, 3, 100} {
		t.Run(fmt.Sprintf("cluster of %d", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				w := newWorld(t)
				w.nodes(n)
				w.identify()
				time.Sleep(time.Second)
				w.sweep(time.Minute)
				w.identify()
				w.unready = w.known
				time.Sleep(time.Minute)

				w.token.current = foreign
				for _, id := range w.known {
					if _, err := w.droplets.Watch(ctx, id); errors.Is(err, inventory.ErrGone) {
						t.Fatalf("with another team's token, droplet %d: %v", id, err)
					}
				}
				if w.calls() == nil {
					t.Fatal("nothing was asked")
				}
				w.token.current = ours
				time.Sleep(time.Hour)

				id := w.known[0]
				if err := w.sim.DeleteDroplet(id); err != nil {
					t.Fatal(err)
				}
				if _, err := w.droplets.Watch(ctx, id); !errors.Is(err, inventory.ErrGone) {
					t.Errorf("a deleted droplet: %v, want ErrGone", err)
				}
			})
		})
	}
}

func TestNothingIsGoneForAProcessThatHasSeenNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.nodes(1)
		if err := w.sim.DeleteDroplet(w.known[0]); err != nil {
			t.Fatal(err)
		}
		w.identify()
		if _, err := w.droplets.Watch(context.Background(), w.known[0]); err == nil || errors.Is(err, inventory.ErrGone) {
			t.Errorf("error %v, want one that isn't ErrGone", err)
		}
	})
}

func TestWhatWasSeenBeforeTheAccountWasKnownProvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		w := newWorld(t)
		w.nodes(1)
		w.sweep(time.Minute)
		time.Sleep(time.Minute)
		w.token.current = foreign // swapped before the account was asked for
		w.identify()
		if _, err := w.droplets.Watch(ctx, w.known[0]); err == nil || errors.Is(err, inventory.ErrGone) {
			t.Errorf("error %v, want one that isn't ErrGone", err)
		}
	})
}

func TestOnlyTheAPIsOwnNotFoundCounts(t *testing.T) {
	faults := map[string]simulator.Fault{
		"a proxy's 404":         {Status: 404, Body: "<html><body>no such page</body></html>"},
		"a 404 without message": {Status: 404, Body: `{"id":"not_found"}`},
		"refused token":         {Status: 401},
		"no rights":             {Status: 403},
		"quota":                 {Status: 429},
		"server error":          {Status: 500},
		"bad gateway":           {Status: 502, Body: "bad gateway"},
		"half an answer":        {Truncate: true},
		"broken JSON":           {Malformed: true},
		"an empty object":       {Status: 200, Body: "{}"},
		"null":                  {Status: 200, Body: "null"},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				ids := w.nodes(3)
				w.sweep(time.Minute)
				time.Sleep(time.Minute)
				fault.Path = fmt.Sprintf("/v2/droplets/%d", ids[0])
				w.sim.AddFault(fault)
				w.unready = ids[:1]
				_, err := w.droplets.Watch(context.Background(), ids[0])
				if err == nil || errors.Is(err, inventory.ErrGone) {
					t.Errorf("error %v, want one that isn't ErrGone", err)
				}
			})
		})
	}
}

func TestAbsenceFromAListIsNotGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.nodes(10)
		w.sim.AddFault(simulator.Fault{Path: "/v2/droplets", OmitItems: 5})
		zero := 5
		w.sim.AddFault(simulator.Fault{Path: "/v2/droplets", OmitItems: 5, Total: &zero})
		for _, id := range w.known {
			if _, err := w.droplets.Get(context.Background(), id, time.Minute, func() []int { return w.known }); errors.Is(err, inventory.ErrGone) {
				t.Errorf("droplet %d is called gone", id)
			}
		}
	})
}

func TestVouch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.nodes(3)
		if err := w.droplets.Vouch(context.Background(), true); err != nil {
			t.Errorf("with the cluster's token: %v", err)
		}
		w.token.current = foreign
		if err := w.droplets.Vouch(context.Background(), true); err == nil {
			t.Error("another team's token is vouched for")
		}
		w.sim.AddFault(simulator.Fault{Status: 500})
		w.token.current = ours
		if err := w.droplets.Vouch(context.Background(), true); err == nil {
			t.Error("an API in trouble is vouched for")
		}
	})
}

func TestCallersAtOnceShareOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.nodes(500)
		for _, id := range w.known {
			go func() {
				_, _ = w.droplets.Get(context.Background(), id, time.Minute, func() []int { return w.known })
			}()
		}
		synctest.Wait()
		w.wantCalls(4, "500 at once")
	})
}

// Whoever asks while another droplet is asked to vouch shares the answer.
func TestCallersShareWhatIsStillBeingFoundOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, simulator.WithLatency(time.Second))
		ids := w.nodes(2)
		w.sweep(time.Minute)
		time.Sleep(time.Minute)
		if err := w.sim.DeleteDroplet(ids[0]); err != nil {
			t.Fatal(err)
		}
		w.calls()
		for _, at := range []time.Duration{0, 10 * time.Second} { // asked for once, and again
			time.Sleep(at)
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * 500 * time.Millisecond)
					if _, err := w.droplets.Get(t.Context(), ids[0], 0, func() []int { return nil }); !inventory.IsGone(err) {
						t.Errorf("caller %d: %v", i, err)
					}
				})
			}
			wg.Wait()
			w.wantCalls(2, "a droplet that is gone, and another that vouches")
		}
	})
}

// The removal of a Node takes two answers that the watch itself asked for. Who
// syncs load balancers asks for the same droplet more often.
func TestOthersLeaveTheWatchItsTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		w := newWorld(t)
		w.nodes(3)
		w.sweep(time.Minute)
		time.Sleep(time.Minute)
		id := w.known[0]
		w.unready = w.known[:1]
		if err := w.sim.DeleteDroplet(id); err != nil {
			t.Fatal(err)
		}
		answers := 0
		for range 120 { // two minutes
			time.Sleep(time.Second)
			if _, err := w.droplets.Get(ctx, id, 0, func() []int { return w.known }); !inventory.IsGone(err) {
				t.Fatalf("another caller: %v, want that the droplet is gone", err)
			}
			if _, err := w.droplets.Watch(ctx, id); errors.Is(err, inventory.ErrGone) {
				answers++
			}
		}
		if answers < 3 {
			t.Errorf("the watch got %d answers of its own within two minutes", answers)
		}
	})
}

// Without a watch, as with --controllers that leave it out, others ask.
func TestOthersAskAgainWhereNobodyWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		w := newWorld(t)
		w.nodes(3)
		w.sweep(time.Minute)
		id := w.known[0]
		w.unready = w.known[:1]
		if err := w.sim.DeleteDroplet(id); err != nil {
			t.Fatal(err)
		}
		answers := 0
		for range 180 {
			time.Sleep(time.Second)
			if _, err := w.droplets.Get(ctx, id, 0, func() []int { return w.known }); errors.Is(err, inventory.ErrGone) {
				answers++
			}
		}
		if answers < 3 || answers > 6 {
			t.Errorf("%d answers within three minutes", answers)
		}
	})
}

// Who doesn't wait for the quota is refused alone: others that would wait do, and
// the API is not in trouble for it.
func TestWhoDoesNotWaitForTheQuotaHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.nodes(300)
		w.sweep(time.Minute)
		time.Sleep(time.Minute)
		all := func() []int { return w.known }
		urgent := doapi.WithPriority(t.Context(), doapi.Urgent)
		for i := range 245 { // the minute's, but for some urgent ones
			if _, err := w.droplets.Get(urgent, w.known[i], 0, func() []int { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		if _, err := w.droplets.Get(doapi.WithoutWaiting(t.Context()), w.known[0], time.Millisecond, all); !errors.Is(err, doapi.ErrThrottled) {
			t.Fatalf("who doesn't wait: %v", err)
		}
		if _, err := w.droplets.Get(urgent, w.known[1], time.Millisecond, all); err != nil {
			t.Errorf("an urgent one: %v", err)
		}
	})
}
