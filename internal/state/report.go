package state

import (
	"cmp"
	"slices"
	"time"
)

// Report is everything that operators see. It holds no secret.
type Report struct {
	Time    time.Time `json:"time"`
	Version string    `json:"version"`
	Commit  string    `json:"commit"`
	Started time.Time `json:"started"`
	// Leads is true for the one replica that does the work; the others know
	// nothing of objects.
	Leads bool `json:"leads"`
	// ObserveOnly is true where nothing is written, and Rehearsed is what would
	// be.
	ObserveOnly bool         `json:"observeOnly,omitempty"`
	Rehearsed   []Rehearsed  `json:"rehearsed,omitempty"`
	Region      string       `json:"region,omitempty"`
	ClusterID   string       `json:"clusterID,omitempty"`
	API         API          `json:"api"`
	Snapshots   []Snapshot   `json:"snapshots,omitempty"`
	Controllers []Controller `json:"controllers,omitempty"`
	Firewall    *Firewall    `json:"firewall,omitempty"`
	Services    []Service    `json:"services"`
	Nodes       []Node       `json:"nodes"`
}

// Rehearsed is a write that is kept from being made.
type Rehearsed struct {
	Object string `json:"object"`
	Target string `json:"target"`
	// What is what would be written; empty: the whole object, or nothing is to
	// be said of it.
	What string `json:"what,omitempty"`
	// Since is when it was first to be made like this, and Last when it was last.
	Since time.Time `json:"since"`
	Last  time.Time `json:"last"`
}

// API is the way to DigitalOcean's API and the token's quota.
type API struct {
	OK      bool      `json:"ok"`
	Checked time.Time `json:"checked,omitzero"`
	Class   string    `json:"class,omitempty"`
	Message string    `json:"message,omitempty"`
	// Limit and Remaining are requests an hour, as the API said at Learned, and
	// Reset is when the oldest that counts expires.
	Limit     int       `json:"limit"`
	Remaining int       `json:"remaining"`
	Reset     time.Time `json:"reset,omitzero"`
	Learned   time.Time `json:"learned,omitzero"`
	// MinuteUsed is how many requests this process sent within a minute.
	MinuteUsed  int `json:"minuteUsed"`
	MinuteLimit int `json:"minuteLimit"`
	// PausedUntil is until when no call is made; zero: there is no pause.
	PausedUntil time.Time `json:"pausedUntil,omitzero"`
	// Waiting is how many calls wait for quota.
	Waiting int `json:"waiting"`
}

// Snapshot is what is remembered of one kind of DigitalOcean's objects.
type Snapshot struct {
	Of      string `json:"of"`
	Objects int    `json:"objects"`
	// Listed is when the newest whole list was begun, and Oldest when that
	// object was read which was not read for longest; zero: never, or not
	// counted.
	Listed time.Time `json:"listed,omitzero"`
	Oldest time.Time `json:"oldest,omitzero"`
}

// Run is what a controller did last.
type Run struct {
	// Last is when the last run ended; zero: there was none.
	Last time.Time `json:"last,omitzero"`
	// Error is why it failed; empty: it didn't.
	Error string `json:"error,omitempty"`
	// Next is when the next run is.
	Next time.Time `json:"next,omitzero"`
}

// Controller is a controller of the manager's own.
type Controller struct {
	Name string `json:"name"`
	Run
}

// Firewall is the public access firewall.
type Firewall struct {
	ID      string `json:"id,omitempty"`
	Name    string `json:"name"`
	Rules   int    `json:"rules"`
	Targets int    `json:"targets"`
	// LeftOut are Services whose ports are not opened for want of room.
	LeftOut   []string  `json:"leftOut,omitempty"`
	AwaySince time.Time `json:"awaySince,omitzero"`
}

// Node is a Node and its droplet, as operators see them.
type Node struct {
	Name       string `json:"name"`
	ProviderID string `json:"providerID,omitempty"`
	DropletID  int    `json:"dropletID,omitempty"`
	State      string `json:"state"`
	// AwaySince is since when the Node is not as it must be; zero: it is.
	AwaySince time.Time `json:"awaySince,omitzero"`
	// What follows is the droplet's as it was at Read.
	Droplet   string    `json:"droplet,omitempty"`
	Status    string    `json:"status,omitempty"`
	Size      string    `json:"size,omitempty"`
	Addresses []string  `json:"addresses,omitempty"`
	Read      time.Time `json:"read,omitzero"`
}

// SortNodes sorts those that have been away for longest to the front, and the
// others by name.
func SortNodes(nodes []Node) {
	slices.SortFunc(nodes, func(a, b Node) int {
		return cmp.Or(compareSince(a.AwaySince, b.AwaySince), cmp.Compare(a.Name, b.Name))
	})
}

// Follow has the reports tell what a controller did last.
func (b *Book) Follow(name string, run func() Run) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runs[name] = run
}

// Controllers tells what each controller that is followed did last, by name.
func (b *Book) Controllers() []Controller {
	b.mu.Lock()
	defer b.mu.Unlock()
	controllers := make([]Controller, 0, len(b.runs))
	for name, run := range b.runs {
		controllers = append(controllers, Controller{name, run()})
	}
	slices.SortFunc(controllers, func(a, b Controller) int { return cmp.Compare(a.Name, b.Name) })
	return controllers
}
