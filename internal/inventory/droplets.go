package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/digitalocean/godo"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/doapi"
)

// ErrGone says that a droplet does not exist any more: DigitalOcean answered so
// for this very id just now, while it still showed this cluster to the token
// that asked.
var ErrGone = errors.New("droplet does not exist")

// ErrWasGone says that [ErrGone] was answered a moment ago. It isn't asked again
// yet, and it is no proof for anything that can't be undone.
var ErrWasGone = errors.New("droplet did not exist a moment ago")

// IsGone tells whether the API says that a droplet does not exist, now or a
// moment ago.
func IsGone(err error) bool { return errors.Is(err, ErrGone) || errors.Is(err, ErrWasGone) }

// ErrNotBelieved says that DigitalOcean doesn't find the droplet, but that the
// token doesn't demonstrably show this cluster any more.
var ErrNotBelieved = errors.New("not found, but not believed to be gone")

// ErrNotNow says that nothing is known that is fresh enough, and that asking
// has to wait: too many calls were made for the same reason.
var ErrNotNow = errors.New("not asked again yet, to spare the API's quota")

// DropletAPI is the part of DigitalOcean's API that is read.
type DropletAPI interface {
	Get(context.Context, int) (*godo.Droplet, *godo.Response, error)
	List(context.Context, *godo.ListOptions) ([]godo.Droplet, *godo.Response, error)
	ListWithGPUs(context.Context, *godo.ListOptions) ([]godo.Droplet, *godo.Response, error)
	ListByName(context.Context, string, *godo.ListOptions) ([]godo.Droplet, *godo.Response, error)
	ListByTag(context.Context, string, *godo.ListOptions) ([]godo.Droplet, *godo.Response, error)
}

// AccountAPI tells whose the token is.
type AccountAPI interface {
	Get(context.Context) (*godo.Account, *godo.Response, error)
}

// callTimeout bounds one look-up, however many calls it takes: the framework
// sets no deadline.
const callTimeout = time.Minute

// Droplets is the snapshot of droplets. It is safe for concurrent use.
type Droplets struct {
	api     DropletAPI
	account AccountAPI
	clock   clock.PassiveClock
	cluster Cluster
	flights singleflight.Group
	// plain and withGPUs read all droplets of their kind, and remember the size
	// of page that works.
	plain, withGPUs *doapi.Lister[godo.Droplet, int]

	mu    sync.Mutex
	index *index
	// listed is when the newest plain list was begun, listedAll when one was
	// that had GPU droplets too; zero: never.
	listed, listedAll time.Time
	// total is how many droplets a plain list holds; zero: unknown.
	total int
	// gpus is how many GPU droplets there are, known when gpusListed.
	gpus       int
	gpusListed bool
	// watch paces the look at droplets whose Nodes are not ready, doubt that
	// at droplets which seem to be gone, search that for droplets of Nodes
	// without a provider ID.
	watch, doubt, search pace
	doubts               map[int]doubt
	misses               map[missKey]miss
	// unvouched remembers why the token wasn't vouched for.
	unvouched struct {
		until time.Time
		err   error
	}
	trouble  trouble
	identity identity
}

// Cluster tells which droplets belong to the cluster, by what its Nodes say
// just now. All functions are cheap.
type Cluster struct {
	// Known are the ids of the droplets of all Nodes.
	Known func() []int
	// Unready are the ids of the droplets of Nodes that are not ready.
	Unready func() []int
	// Unnamed is how many Nodes wait for their droplet to be found.
	Unnamed func() int
}

// The paces of reading. A Node that is not ready is looked at every ten
// seconds; when there are many, the whole of them costs no more than that.
const (
	watchInterval = 10 * time.Second
	watchBurst    = 6
	doubtInterval = 10 * time.Second
	doubtBurst    = 40
	// A search for a new Node's droplet is urgent, one that goes on is not.
	searchInterval = 10 * time.Second
	searchBurst    = 30
)

// leaveToWatch is how much longer than the watch all others wait until they ask
// again for a droplet that was not found: a few of the framework's looks at its
// Nodes.
const leaveToWatch = 30 * time.Second

// doubt is a droplet that the API didn't find, what was made of that, and when
// it is asked for again.
type doubt struct {
	backoff
	err error // nil: that is being found out
}

// NewDroplets makes a snapshot that is filled as it is asked.
func NewDroplets(api DropletAPI, account AccountAPI, cluster Cluster, clock clock.PassiveClock) *Droplets {
	return &Droplets{
		api: api, account: account, cluster: cluster, clock: clock,
		plain:    doapi.NewLister(api.List, dropletID),
		withGPUs: doapi.NewLister(api.ListWithGPUs, dropletID),
		index:    newIndex(), doubts: map[int]doubt{}, misses: map[missKey]miss{},
		watch:  pace{interval: watchInterval, burst: watchBurst},
		doubt:  pace{interval: doubtInterval, burst: doubtBurst},
		search: pace{interval: searchInterval, burst: searchBurst},
	}
}

// Get returns the droplet as it was at most maxAge ago. peers are the ids for
// which the same will be asked soon: when a list of all droplets is cheaper
// than to ask for each, it is read instead.
//
// The error is [ErrGone] only on the API's definite word; any other error
// leaves open whether the droplet exists.
func (d *Droplets) Get(ctx context.Context, id int, maxAge time.Duration, peers func() []int) (Droplet, error) {
	if droplet, ok := d.cached(id, maxAge); ok {
		return droplet, nil
	}
	return d.read(ctx, id, maxAge, peers(), nil)
}

// read asks the API in the cheaper way and books the calls on the pace, if
// there is one.
func (d *Droplets) read(ctx context.Context, id int, maxAge time.Duration, peers []int, p *pace) (Droplet, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	doubted, err := d.stillDoubted(id, p != nil)
	if err != nil {
		return Droplet{}, err
	}
	if doubted {
		// No list can tell whether it is gone.
		return d.get(ctx, id, &d.doubt)
	}
	if d.listIsCheaper(id, maxAge, peers) {
		// What a list lacks is looked at one by one: absence from a list means
		// nothing, as lists lag behind and hold no GPU droplets.
		if err := d.list(ctx, maxAge, p); err != nil {
			return Droplet{}, fmt.Errorf("list droplets: %w", err)
		}
		if droplet, ok := d.cached(id, maxAge); ok {
			return droplet, nil
		}
		// When a list lacks a whole cluster, the token is likely of another
		// team: to ask for each would use up the quota.
		if p = &d.doubt; !d.allowed(p) {
			return Droplet{}, fmt.Errorf("droplet %d is in no list: %w", id, ErrNotNow)
		}
	} else if droplet, ok := d.cached(id, maxAge); ok {
		return droplet, nil // another caller's list came in just now
	}
	return d.get(ctx, id, p)
}

// stillDoubted tells whether the API didn't find the droplet when it was last
// asked, and what was made of that while it isn't time to ask again.
//
// Where the droplet is watched, the watch asks first: it needs answers of its
// own to remove a Node, and others would take every turn to ask from it.
func (d *Droplets) stillDoubted(id int, watching bool) (doubted bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Now()
	doubt, ok := d.doubts[id]
	next := doubt.next
	if ok && !watching && slices.Contains(d.cluster.Unready(), id) {
		next = next.Add(leaveToWatch)
	}
	switch {
	case !ok || (!now.Before(next) && d.doubt.allowed(now)):
		return ok, nil
	case doubt.err == nil:
		return true, nil // whoever asks now shares that answer
	case errors.Is(doubt.err, ErrGone):
		return true, fmt.Errorf("droplet %d: %w", id, ErrWasGone)
	default:
		return true, fmt.Errorf("%w: %w", ErrNotNow, doubt.err)
	}
}

func (d *Droplets) allowed(p *pace) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return p.allowed(d.clock.Now())
}

// Cached returns what is known of a droplet, however old.
func (d *Droplets) Cached(id int) (Droplet, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	droplet, ok := d.index.byID[id]
	return droplet, ok
}

func (d *Droplets) cached(id int, maxAge time.Duration) (Droplet, bool) {
	droplet, ok := d.Cached(id)
	return droplet, ok && d.clock.Since(droplet.Read) <= maxAge
}

// get asks for one droplet; several callers for the same one share the answer.
func (d *Droplets) get(ctx context.Context, id int, p *pace) (Droplet, error) {
	v, err := share(&d.flights, fmt.Sprint("get ", id), func() (any, error) {
		return d.getNow(ctx, id, p)
	})
	if err != nil {
		return Droplet{}, err
	}
	return v.(Droplet), nil
}

func (d *Droplets) getNow(ctx context.Context, id int, p *pace) (Droplet, error) {
	if err := d.inTrouble(); err != nil {
		return Droplet{}, fmt.Errorf("get droplet %d: %w", id, err)
	}
	read := d.clock.Now()
	d.book(p, 1)
	answer, _, err := d.api.Get(ctx, id)
	d.noteTrouble(err, 1)
	switch {
	case doapi.IsNotFound(err):
		return Droplet{}, d.confirmGone(ctx, id, err)
	case err != nil:
		return Droplet{}, fmt.Errorf("get droplet %d: %w", id, err)
	case answer == nil || answer.ID != id:
		return Droplet{}, fmt.Errorf("get droplet %d: the API answered with something else", id)
	}
	droplet := fromAPI(answer, read)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.index.put(droplet)
	delete(d.doubts, id)
	d.unvouched.err = nil
	return droplet, nil
}

// book counts calls on a pace; without one they are not paced.
func (d *Droplets) book(p *pace, calls int) {
	if p == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	p.spend(d.clock.Now(), calls)
}
