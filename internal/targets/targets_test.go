package targets

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/mangle"
	"digitalocean-cloud-controller-manager/simulator"
)

const name = "k8s-backends:blue"

// rig is a simulator and the tag under test.
type rig struct {
	t   *testing.T
	sim *simulator.Simulator
	tag *Tag
	// client is anybody's.
	client *doapi.Client
	wire   *mangle.Transport
}

func newRig(t *testing.T, options ...simulator.Option) *rig {
	r := &rig{t: t, sim: simulator.New(append([]simulator.Option{simulator.WithToken("dop_v1_test", "blue")}, options...)...)}
	token, _, err := doapi.NewToken("dop_v1_test")
	if err != nil {
		t.Fatal(err)
	}
	r.wire = &mangle.Transport{Next: r.sim.Transport()}
	client, err := doapi.New(doapi.Options{TokenSource: doapi.StaticToken(token), Version: "test", Transport: r.wire})
	if err != nil {
		t.Fatal(err)
	}
	r.client = client
	r.tag = New(name, client.Tags, client.Droplets, clock.RealClock{})
	return r
}

// droplet makes a droplet.
func (r *rig) droplet(name string, tags ...string) int {
	return r.sim.AddDroplet(simulator.DropletSpec{Name: name, Tags: tags}).ID
}

// sync syncs the tag and returns the calls that it took.
func (r *rig) sync(ids ...int) ([]string, error) {
	before := len(r.sim.Requests())
	_, err := r.tag.Sync(r.t.Context(), func(context.Context) ([]int, error) { return ids, nil })
	var calls []string
	for _, request := range r.sim.Requests()[before:] {
		calls = append(calls, request.Method+" "+request.Path)
	}
	return calls, err
}

// carriers are the droplets with the tag.
func (r *rig) carriers() []int {
	var ids []int
	for _, d := range r.sim.Droplets() {
		if slices.Contains(d.Tags, name) {
			ids = append(ids, d.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

func (r *rig) expect(what string, calls []string, err error, want []string, carriers ...int) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("%s: %v", what, err)
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		r.t.Errorf("%s: calls: %s", what, diff)
	}
	slices.Sort(carriers)
	if diff := cmp.Diff(carriers, r.carriers()); diff != "" {
		r.t.Errorf("%s: droplets with the tag: %s", what, diff)
	}
}

const (
	list   = "GET /v2/droplets"
	create = "POST /v2/tags"
	put    = "POST /v2/tags/" + name + "/resources"
	take   = "DELETE /v2/tags/" + name + "/resources"
)

func TestTheTagFollowsTheBackendsInOneCallEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a, b, c := r.droplet("a"), r.droplet("b"), r.droplet("c")
		calls, err := r.sync(a, b)
		r.expect("the first time", calls, err, []string{list, put, create, put}, a, b)
		calls, err = r.sync(a, b)
		r.expect("again", calls, err, nil, a, b)
		calls, err = r.sync(a, b, c)
		r.expect("one joins", calls, err, []string{put}, a, b, c)
		calls, err = r.sync(b, c)
		r.expect("one leaves", calls, err, []string{take}, b, c)
		calls, err = r.sync(a, b)
		r.expect("one for another: first widened, then narrowed", calls, err, []string{put, take}, a, b)
	})
}

func TestARestartOfAnUnchangedClusterOnlyLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a, stray := r.droplet("a", name), r.droplet("stray")
		calls, err := r.sync(a)
		r.expect("restart", calls, err, []string{list}, a)
		_ = stray
	})
}

func TestATagOnAStrangersDropletIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a := r.droplet("a", name)
		if _, err := r.sync(a); err != nil {
			t.Fatal(err)
		}
		r.droplet("stray", name)
		time.Sleep(relist)
		calls, err := r.sync(a)
		r.expect("an hour later", calls, err, []string{list, take}, a)
	})
}

func TestAnEmptySetKeepsTheLastBackends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a := r.droplet("a", name)
		calls, err := r.sync()
		r.expect("no backends", calls, err, []string{list}, a)
	})
}

func TestADeletedDropletCostsNoList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a, b, c := r.droplet("a", name), r.droplet("b", name), r.droplet("c", name)
		if _, err := r.sync(a, b, c); err != nil {
			t.Fatal(err)
		}
		if err := r.sim.DeleteDroplet(a); err != nil {
			t.Fatal(err)
		}
		calls, err := r.sync(b, c)
		r.expect("deleted", calls, err, []string{take}, b, c)
		calls, err = r.sync(b, c)
		r.expect("again", calls, err, nil, b, c)
		if err := r.sim.DeleteDroplet(b); err != nil {
			t.Fatal(err)
		}
		d := r.droplet("d")
		calls, err = r.sync(d)
		r.expect("one deleted and one excluded", calls, err, []string{put, take, take, take}, d)
	})
}

func TestABackendThatDoesNotExistIsAnErrorThatSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a := r.droplet("a")
		if _, err := r.sync(a, 12345); !doapi.IsNotFound(err) || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v", err)
		}
		calls, err := r.sync(a)
		if err != nil || !slices.Contains(r.carriers(), a) {
			t.Errorf("%v: %v", calls, err)
		}
	})
}

func TestAnAPIThatFailsIsAskedAgainAndNothingIsAssumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a, b := r.droplet("a", name), r.droplet("b")
		id := r.sim.AddFault(simulator.Fault{Method: "GET", Path: "/v2/droplets", Status: 422})
		if _, err := r.sync(a, b); err == nil {
			t.Error("no error while the droplets can't be listed")
		}
		if calls, err := r.sync(a, b); err == nil || len(calls) > 0 {
			t.Errorf("asked again at once: %v, %v", calls, err)
		}
		r.sim.RemoveFault(id)
		time.Sleep(firstWait)
		id = r.sim.AddFault(simulator.Fault{Method: "POST", Path: "/v2/tags/" + name + "/resources", Status: 403})
		if _, err := r.sync(b); err == nil {
			t.Error("no error while droplets can't be tagged")
		}
		if got := r.carriers(); !slices.Equal(got, []int{a}) {
			t.Errorf("the last backend lost the tag before another got it: %v", got)
		}
		r.sim.RemoveFault(id)
		time.Sleep(2 * firstWait)
		calls, err := r.sync(b)
		r.expect("afterwards", calls, err, []string{put, take}, b)
	})
}

func TestBackendsThatCanNotBeReadChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a := r.droplet("a", name)
		failure := errors.New("not now")
		if _, err := r.tag.Sync(t.Context(), func(context.Context) ([]int, error) { return nil, failure }); !errors.Is(err, failure) {
			t.Errorf("error %v", err)
		}
		r.expect("afterwards", nil, nil, nil, a)
	})
}

func TestATagThatSomebodyDeletedIsPutOnAllBackendsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a, b, c := r.droplet("a", name), r.droplet("b", name), r.droplet("c")
		if _, err := r.sync(a, b); err != nil {
			t.Fatal(err)
		}
		if _, err := r.client.Tags.Delete(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		calls, err := r.sync(a, b, c)
		r.expect("a Node joins", calls, err, []string{put, create, put}, a, b, c)
		if _, err := r.client.Tags.Delete(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		r.tag.Doubt()
		calls, err = r.sync(a, b, c)
		r.expect("doubted", calls, err, []string{list, put, create, put}, a, b, c)
	})
}

func TestDropDeletesTheTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a := r.droplet("a", name)
		if err := r.tag.Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.expect("dropped", nil, nil, nil)
		if err := r.tag.Drop(t.Context()); err != nil {
			t.Errorf("dropping a tag that isn't there: %v", err)
		}
		calls, err := r.sync(a)
		r.expect("used again", calls, err, []string{list, put, create, put}, a)
	})
}
