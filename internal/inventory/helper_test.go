package inventory_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/simulator"
)

// token is a source whose token tests can change.
type token struct{ current string }

func (t *token) Token(context.Context) (doapi.Token, error) {
	parsed, _, err := doapi.NewToken(t.current)
	return parsed, err
}

const (
	ours    = "dop_v1_ours"
	foreign = "dop_v1_foreign"
)

// world is a simulator, a client and a snapshot of it.
type world struct {
	t        *testing.T
	sim      *simulator.Simulator
	token    *token
	droplets *inventory.Droplets
	// known and unready stand for the cluster's Nodes.
	known, unready []int
	unnamed        int
}

func newWorld(t *testing.T, options ...simulator.Option) *world {
	w := &world{t: t, token: &token{ours}}
	w.sim = simulator.New(append([]simulator.Option{simulator.WithToken(ours, "ours"), simulator.WithToken(foreign, "foreign")}, options...)...)
	w.restart()
	return w
}

// restart begins with an empty snapshot, as a new process does.
func (w *world) restart() {
	client, err := doapi.New(doapi.Options{TokenSource: w.token, Version: "test", Transport: w.sim.Transport()})
	if err != nil {
		w.t.Fatal(err)
	}
	w.droplets = inventory.NewDroplets(client.Droplets, client.Account, inventory.Cluster{
		Known:   func() []int { return w.known },
		Unready: func() []int { return w.unready },
		Unnamed: func() int { return w.unnamed },
	}, clock.RealClock{})
}

// nodes makes droplets that belong to the cluster.
func (w *world) nodes(n int, edit ...func(*simulator.DropletSpec)) []int {
	var ids []int
	for range n {
		spec := simulator.DropletSpec{Team: "ours", Name: "node", CreatedAt: time.Now().Add(-time.Hour)}
		for _, e := range edit {
			e(&spec)
		}
		ids = append(ids, w.sim.AddDroplet(spec).ID)
	}
	w.known = append(w.known, ids...)
	return ids
}

// strangers makes droplets of the account that aren't the cluster's.
func (w *world) strangers(n int) {
	for range n {
		w.sim.AddDroplet(simulator.DropletSpec{Team: "ours", Name: "stranger"})
	}
}

// identify asks whose the token is, as is done now and again.
func (w *world) identify() (settled bool) {
	w.t.Helper()
	settled, err := w.droplets.Identify(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return settled
}

// calls returns the paths asked since the last call, and forgets them.
func (w *world) calls() []string {
	var paths []string
	for _, r := range w.sim.Requests() {
		path := r.Path
		if r.Query != "" {
			path += "?" + r.Query
		}
		paths = append(paths, path)
	}
	w.sim.ResetRequests()
	return paths
}

// wantCalls checks how many calls were made since the last look.
func (w *world) wantCalls(atMost int, why string) {
	w.t.Helper()
	if paths := w.calls(); len(paths) > atMost {
		w.t.Errorf("%s: %d calls, want at most %d: %s", why, len(paths), atMost, strings.Join(paths[:min(len(paths), 12)], " "))
	}
}
