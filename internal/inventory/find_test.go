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

	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/simulator"
)

func TestFind(t *testing.T) {
	type spec = simulator.DropletSpec
	tests := []struct {
		name     string
		droplets []spec
		query    inventory.Query
		// want is the index of the droplet that is found.
		want int
		err  error
	}{
		{
			name:     "by name",
			droplets: []spec{{Name: "a"}, {Name: "b"}},
			query:    inventory.Query{Name: "b"}, want: 1,
		}, {
			name:     "by name in another case",
			droplets: []spec{{Name: "Worker-A"}},
			query:    inventory.Query{Name: "worker-a"},
		}, {
			name:     "by full domain name",
			droplets: []spec{{Name: "rancher-1"}, {Name: "rancher-1.example.net"}},
			query:    inventory.Query{Name: "rancher-1.example.net"}, want: 1,
		}, {
			name:     "by first label when an address agrees",
			droplets: []spec{{Name: "rancher-1", PrivateIPv4: "10.0.0.9"}},
			query:    inventory.Query{Name: "rancher-1.example.net", Addresses: []string{"10.0.0.9"}},
		}, {
			name:     "not by first label alone",
			droplets: []spec{{Name: "rancher-1"}},
			query:    inventory.Query{Name: "rancher-1.example.net"}, err: inventory.ErrNoMatch,
		}, {
			name:     "by private address",
			droplets: []spec{{Name: "a"}, {Name: "b", PrivateIPv4: "10.0.0.9"}},
			query:    inventory.Query{Name: "node", Addresses: []string{"10.0.0.9"}}, want: 1,
		}, {
			name:     "by public IPv4 address",
			droplets: []spec{{Name: "a", PublicIPv4: "203.0.113.9"}},
			query:    inventory.Query{Name: "node", Addresses: []string{"203.0.113.9"}},
		}, {
			name:     "by public IPv6 address",
			droplets: []spec{{Name: "a", IPv6: true, PublicIPv6: "2001:db8::9"}},
			query:    inventory.Query{Name: "node", Addresses: []string{"2001:db8::9"}},
		}, {
			name:     "of two with the name, the one with the address",
			droplets: []spec{{Name: "w"}, {Name: "w", PrivateIPv4: "10.0.0.9"}},
			query:    inventory.Query{Name: "w", Addresses: []string{"10.0.0.9"}}, want: 1,
		}, {
			name:     "of two with the name in the other order",
			droplets: []spec{{Name: "w", PrivateIPv4: "10.0.0.9"}, {Name: "w"}},
			query:    inventory.Query{Name: "w", Addresses: []string{"10.0.0.9"}},
		}, {
			name:     "not of two with the name and nothing else",
			droplets: []spec{{Name: "w"}, {Name: "w"}},
			query:    inventory.Query{Name: "w"}, err: inventory.ErrAmbiguous,
		}, {
			name:     "an IPv6 address in another spelling",
			droplets: []spec{{Name: "a", IPv6: true, PublicIPv6: "2001:0DB8:0000:0000:0000:0000:0000:0009"}},
			query:    inventory.Query{Name: "node", Addresses: []string{"2001:db8::9"}},
		}, {
			name:     "with a GPU, not its namesake without",
			droplets: []spec{{Name: "w", PrivateIPv4: "10.0.0.8"}, {Name: "w", GPU: true, PrivateIPv4: "10.0.0.9"}},
			query:    inventory.Query{Name: "w", Addresses: []string{"10.0.0.9"}}, want: 1,
		}, {
			name:     "not when the name says one and the address another",
			droplets: []spec{{Name: "w", PrivateIPv4: "10.0.0.8"}, {Name: "x", PrivateIPv4: "10.0.0.9"}},
			query:    inventory.Query{Name: "w", Addresses: []string{"10.0.0.9"}}, err: inventory.ErrAmbiguous,
		}, {
			name:     "by name when no droplet has the address",
			droplets: []spec{{Name: "w"}, {Name: "x"}},
			query:    inventory.Query{Name: "w", Addresses: []string{"100.64.0.9"}},
		}, {
			name:     "with a GPU, by name",
			droplets: []spec{{Name: "a"}, {Name: "gpu", GPU: true}},
			query:    inventory.Query{Name: "gpu"}, want: 1,
		}, {
			name:     "nothing fits",
			droplets: []spec{{Name: "a"}},
			query:    inventory.Query{Name: "b", Addresses: []string{"10.9.9.9"}}, err: inventory.ErrNoMatch,
		},
	}
	for _, test := range tests {
		for _, strangers := range []int{0, 700} {
			t.Run(fmt.Sprintf("%s, %d strangers", test.name, strangers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					w.unnamed = 1
					var ids []int
					for _, d := range test.droplets {
						d.Team = "ours"
						ids = append(ids, w.sim.AddDroplet(d).ID)
					}
					w.strangers(strangers)
					test.query.Since = time.Now()
					time.Sleep(time.Second)
					got, err := w.droplets.Find(context.Background(), test.query)
					if !errors.Is(err, test.err) || (test.err == nil && err != nil) {
						t.Fatalf("error %v, want %v", err, test.err)
					}
					if err == nil && got.ID != ids[test.want] {
						t.Errorf("found %d, want %d of %v", got.ID, ids[test.want], ids)
					}
					if errors.Is(err, inventory.ErrAmbiguous) {
						for _, id := range ids {
							if !strings.Contains(err.Error(), fmt.Sprint(id)) {
								t.Errorf("the error doesn't name %d: %v", id, err)
							}
						}
					}
				})
			})
		}
	}
}

func TestFindOfManyCostsOneList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.unnamed = 500
		var names []string
		for i := range 500 {
			name := fmt.Sprint("node-", i)
			names = append(names, name)
			w.sim.AddDroplet(simulator.DropletSpec{Team: "ours", Name: name})
		}
		since := time.Now()
		time.Sleep(time.Second)
		for name := range slices.Values(names) {
			if _, err := w.droplets.Find(context.Background(), inventory.Query{Name: name, Since: since}); err != nil {
				t.Fatal(err)
			}
		}
		w.wantCalls(4, "500 names")
	})
}

func TestFindSeesADropletThatReplacedAnotherOfItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		w := newWorld(t)
		w.unnamed = 1
		w.strangers(20)
		old := w.sim.AddDroplet(simulator.DropletSpec{Team: "ours", Name: "worker-1"}).ID
		time.Sleep(time.Second)
		if d, err := w.droplets.Find(ctx, inventory.Query{Name: "worker-1"}); err != nil || d.ID != old {
			t.Fatal(d.ID, err)
		}
		if err := w.sim.DeleteDroplet(old); err != nil {
			t.Fatal(err)
		}
		replacement := w.sim.AddDroplet(simulator.DropletSpec{Team: "ours", Name: "worker-1"}).ID
		time.Sleep(time.Second)
		d, err := w.droplets.Find(ctx, inventory.Query{Name: "worker-1", Since: time.Now()})
		if err != nil || d.ID != replacement {
			t.Errorf("found %d (%v), want %d", d.ID, err, replacement)
		}
	})
}

func TestFindThatFailsIsRepeatedEverMoreSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.unnamed = 1
		w.strangers(5)
		query := inventory.Query{Name: "nobody", Since: time.Now()}
		try := func(d time.Duration) {
			for range int(d / time.Second) {
				time.Sleep(time.Second)
				_, _ = w.droplets.Find(context.Background(), query)
			}
		}
		try(20 * time.Minute)
		if n := len(w.calls()); n > 120 {
			t.Errorf("%d calls in the first 20 minutes", n)
		}
		try(10 * time.Minute)
		w.wantCalls(2*11, "ten minutes later")

		w.sim.AddDroplet(simulator.DropletSpec{Team: "ours", Name: "nobody"})
		try(time.Minute)
		if _, err := w.droplets.Find(context.Background(), query); err != nil {
			t.Errorf("the droplet that came late is not found: %v", err)
		}
	})
}

func TestFindDoesNotBindToADropletThatIsOnlyListedStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.unnamed = 1
		w.nodes(2)
		old := w.sim.AddDroplet(simulator.DropletSpec{Team: "ours", Name: "w", CreatedAt: time.Now().Add(-24 * time.Hour)})
		w.sim.AddFault(simulator.Fault{Path: fmt.Sprint("/v2/droplets/", old.ID), Status: 404})
		since := time.Now()
		time.Sleep(time.Second)
		if d, err := w.droplets.Find(context.Background(), inventory.Query{Name: "w", Since: since}); err == nil {
			t.Errorf("bound to droplet %d, which is gone", d.ID)
		}
	})
}

func TestReplacedGPUDropletIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.unnamed = 1
		find := func() (int, error) {
			time.Sleep(10 * time.Minute)
			since := time.Now()
			time.Sleep(time.Second)
			d, err := w.droplets.Find(context.Background(), inventory.Query{Name: "gpu-1", Since: since})
			return d.ID, err
		}
		add := func() int {
			time.Sleep(time.Minute)
			return w.sim.AddDroplet(simulator.DropletSpec{Team: "ours", Name: "gpu-1", GPU: true}).ID
		}
		old := add()
		if id, err := find(); id != old {
			t.Fatal(id, err)
		}
		if err := w.sim.DeleteDroplet(old); err != nil {
			t.Fatal(err)
		}
		replacement := add()
		if id, err := find(); id != replacement {
			t.Errorf("found %d (%v), want %d", id, err, replacement)
		}
	})
}
