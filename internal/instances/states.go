package instances

import (
	"maps"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// state is what the manager makes of a Node.
type state string

const (
	stateInitialized       state = "initialized"
	stateUninitialized     state = "uninitialized"
	stateNeverInitialized  state = "never_initialized"
	stateForeign           state = "foreign"
	stateWaitingForDroplet state = "waiting_for_droplet"
	stateWithoutDroplet    state = "without_droplet"
	stateAmbiguous         state = "ambiguous"
	stateWaitingForAddress state = "waiting_for_address"
	stateShutdown          state = "shutdown"
	stateGone              state = "gone"
	stateReplaced          state = "replaced"
	stateDeletionBlocked   state = "deletion_blocked"
	stateNotRemoved        state = "not_removed"
)

// allStates are the states that a Node can be in, one at a time.
var allStates = [...]state{
	stateInitialized, stateUninitialized, stateNeverInitialized, stateForeign,
	stateWaitingForDroplet, stateWithoutDroplet, stateAmbiguous, stateWaitingForAddress,
	stateShutdown, stateGone, stateReplaced, stateDeletionBlocked, stateNotRemoved,
}

// isLoss tells whether the state says that the droplet is gone: then only what
// the API showed later takes it back.
func (s state) isLoss() bool {
	return s == stateGone || s == stateReplaced || s == stateNotRemoved
}

// facts are what a Node's state is made of.
type facts struct {
	// noted is what was found at last that is not in order; empty: nothing.
	noted state
	// blocked tells that the brake keeps the Node.
	blocked bool
	// off tells that the droplet is powered off.
	off bool
	// old tells that the Node is older than waitBelowAge.
	old bool
}

// stateOf sums up what is known of a Node.
func stateOf(node *v1.Node, f facts) state {
	named, uninitialized := node.Spec.ProviderID != "", isUninitialized(node)
	switch {
	case named && !isOurs(node):
		return stateForeign
	case !named && !uninitialized:
		return stateNeverInitialized
	case f.blocked:
		return stateDeletionBlocked
	case f.noted == stateWaitingForDroplet && f.old:
		return stateWithoutDroplet
	case f.noted != "":
		return f.noted
	case uninitialized:
		return stateUninitialized
	case f.off:
		return stateShutdown
	}
	return stateInitialized
}

// note is what is not in order with a Node.
type note struct {
	state state
	// since is when it was found first, and at when it was found at last.
	since, at time.Time
	// letGo is when the framework was first told that the Node may go.
	letGo time.Time
}

// notes remembers what is not in order with Nodes. It is safe for concurrent
// use.
type notes struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	byID map[types.UID]note
}

func newNotes(clock clock.PassiveClock) *notes {
	return &notes{clock: clock, byID: map[types.UID]note{}}
}

// add notes that something is not in order. It returns when the Node was let
// go; zero: it was not.
func (n *notes) add(node *v1.Node, s state) (letGo time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	noted, now := n.byID[node.UID], n.clock.Now()
	if noted.since.IsZero() {
		noted.since = now
	}
	noted.state, noted.at = s, now
	n.byID[node.UID] = noted
	return noted.letGo
}

// letGo notes that the framework is told that the Node may go.
func (n *notes) letGo(node *v1.Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	noted := n.byID[node.UID]
	if noted.letGo.IsZero() {
		noted.letGo = n.clock.Now()
	}
	n.byID[node.UID] = noted
}

// seen notes that a Node's droplet was found as it was at the time. It returns
// true when the droplet seemed gone until then.
func (n *notes) seen(node *v1.Node, at time.Time) (wasLost bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	noted, ok := n.byID[node.UID]
	wasLost = noted.state.isLoss()
	if !ok || (wasLost && !at.After(noted.at)) {
		return false
	}
	delete(n.byID, node.UID)
	return wasLost
}

func (n *notes) of(node *v1.Node) state {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byID[node.UID].state
}

// since is when the first of what is not in order was found; zero: nothing was.
func (n *notes) since(node *v1.Node) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byID[node.UID].since
}

// keep forgets all Nodes but these.
func (n *notes) keep(all []*v1.Node) {
	exists := uids(all)
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.byID, func(uid types.UID, _ note) bool { return !exists[uid] })
}

func uids(nodes []*v1.Node) map[types.UID]bool {
	exists := make(map[types.UID]bool, len(nodes))
	for _, node := range nodes {
		exists[node.UID] = true
	}
	return exists
}
