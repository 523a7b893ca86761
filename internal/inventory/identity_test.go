package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/simulator"
)

func TestOwnerOfALoneNodeIsLearntFromWhatIsShown(t *testing.T) {
	// Each letter is one thing that happens, a minute after the one before: o
	// and f change the token to ours and the foreign one, i asks whose it is, s
	// looks at the droplet, d deletes it.
	tests := []struct {
		name, steps string
		gone        bool
	}{
		{"the right token all the time", "o i s i d", true},
		{"a wrong token at first", "f i s o i s i d", true},
		{"a wrong token at first, noticed late", "f i o s i s i d", true},
		{"asked only before the droplet was seen", "o i s d", false},
		{"asked only afterwards", "o s i d", false},
		{"nothing seen by the mended token", "f i s o i i d", false},
		{"another token since", "o i s i d f", false},
		{"a wrong token again, and asked", "o i s i f i i d", false},
		{"mended, and wrong again", "f i s o i s i d f", false},
		{"a wrong token for a while", "o i s i f i s i o d", true},
		{"changed between the answer and the look", "f i o s f d", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				w := newWorld(t)
				id := w.nodes(1)[0]
				steps := map[rune]func(){
					'o': func() { w.token.current = ours },
					'f': func() { w.token.current = foreign },
					'i': func() { w.identify() },
					's': func() {
						_, _ = w.droplets.Get(ctx, id, time.Second, func() []int { return w.known })
					},
					'd': func() {
						if err := w.sim.DeleteDroplet(id); err != nil {
							t.Fatal(err)
						}
					},
					' ': func() { time.Sleep(time.Minute) },
				}
				for _, step := range test.steps {
					steps[step]()
				}
				w.unready = w.known
				time.Sleep(10 * time.Minute)
				_, err := w.droplets.Watch(ctx, id)
				if err == nil || errors.Is(err, inventory.ErrGone) != test.gone {
					t.Errorf("error %v, want gone: %t", err, test.gone)
				}
			})
		})
	}
}

func TestIdentityIsSettledOnceItShowedTheCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.nodes(2)
		check := func(when string, want bool) {
			t.Helper()
			time.Sleep(time.Minute)
			if got := w.identify(); got != want {
				t.Errorf("%s: settled %t, want %t", when, got, want)
			}
		}
		check("at first", false)
		check("with nothing seen", false)
		time.Sleep(time.Second)
		w.sweep(time.Second)
		check("with the cluster seen", true)
		check("later", true)
		w.token.current = foreign
		check("with another token", false)
		w.token.current = ours
		check("with the first one again", true)
	})
}

func TestEveryRefusalToVouchIsRememberedForAWhile(t *testing.T) {
	tests := map[string]struct {
		nodes int
		spoil func(*world)
	}{
		"another team's token":         {5, func(w *world) { w.token.current = foreign }},
		"another team's, one node":     {1, func(w *world) { w.token.current = foreign }},
		"witnesses can't be looked at": {5, func(w *world) { w.sim.AddFault(simulator.Fault{Path: "/v2/droplets/*", Status: 500}) }},
		"the account can't be read":    {1, func(w *world) { w.sim.AddFault(simulator.Fault{Path: "/v2/account", Status: 403}) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				w := newWorld(t)
				w.nodes(test.nodes)
				w.identify()
				time.Sleep(time.Second)
				w.sweep(time.Minute)
				w.identify()
				if test.nodes == 1 {
					w.known = nil // the one that is missing is no witness
				}
				test.spoil(w)
				refusal := w.droplets.Vouch(ctx, true)
				if refusal == nil {
					t.Fatal("vouched for")
				}
				w.calls()
				for range 3 {
					if err := w.droplets.Vouch(ctx, true); fmt.Sprint(err) != fmt.Sprint(refusal) {
						t.Errorf("%v, before %v", err, refusal)
					}
				}
				w.wantCalls(0, "asked again at once")
				w.token.current = ours
				w.sim.ClearFaults()
				time.Sleep(time.Minute)
				if err := w.droplets.Vouch(ctx, true); err != nil {
					t.Errorf("mended, a minute later: %v", err)
				}
			})
		})
	}
}
