package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// Services and Nodes are how many names of each there are.
	Services, Nodes = 8, 7
	// FirstNodes are there when the storm begins, and one of them stays: a
	// cluster without a droplet has nobody to vouch for an answer.
	FirstNodes = 4
	// Certificates are how many there are.
	Certificates = 3
	// handEdits is how often a Service's load balancer, or the firewall, is
	// changed by hand in one storm: one more would be a fight, in which the
	// manager gives way for longer than a storm lasts.
	handEdits = 2
	// maxGone is how many droplets vanish under their Nodes: of more at once the
	// manager believes none, which is for an operator to resolve.
	maxGone = 2
)

// Managers are the names of the managers that compete.
var Managers = []string{"one", "two"}

// Options of a storm.
type Options struct {
	Seed   uint64
	Length time.Duration
	// Short leaves out what takes the manager more than half a minute to
	// recover from: those of its waits that can't be shortened are longer.
	Short bool
}

// Plan is a storm.
type Plan struct {
	// TargetTag has load balancers target a tag instead of droplets.
	TargetTag bool
	// Kinds are what this storm does: each does some of everything only, so that
	// what is rare isn't drowned.
	Kinds   []Kind
	Actions []Action
}

// New makes a storm.
func New(o Options) Plan {
	g := &generator{
		rand: rand.New(rand.NewPCG(o.Seed, 0)), options: o,
		services: map[string]*service{}, nodes: map[string]nodeState{}, edits: map[string]int{},
	}
	for i := range FirstNodes {
		g.nodes[NodeName(i)] = nodeRuns
	}
	p := Plan{TargetTag: g.chance(0.3), Kinds: g.weather()}
	pace := time.Duration(100+g.rand.IntN(400)) * time.Millisecond
	for at := pace; at < o.Length; at += pace/4 + rand64(g.rand, 2*pace) {
		if a, ok := g.next(p.Kinds); ok {
			a.At = at
			p.Actions = append(p.Actions, a)
		}
	}
	return p
}

// ServiceName, NodeName and CertificateName name the i-th, from 0.
func ServiceName(i int) string     { return fmt.Sprintf("service-%d", i) }
func NodeName(i int) string        { return fmt.Sprintf("node-%d", i) }
func CertificateName(i int) string { return fmt.Sprintf("certificate-%d", i) }

func rand64(r *rand.Rand, n time.Duration) time.Duration { return time.Duration(r.Int64N(int64(n))) }

type nodeState int

const (
	nodeAbsent nodeState = iota
	nodeRuns
	nodeStopped
	// nodeGone is a Node whose droplet was deleted.
	nodeGone
)

type service struct{ balanced, disowned bool }

// generator follows what the actions so far have brought about, so that most of
// what comes next makes sense.
type generator struct {
	rand     *rand.Rand
	options  Options
	services map[string]*service
	nodes    map[string]nodeState
	edits    map[string]int
	gone     int
	restarts int
}

func (g *generator) chance(p float64) bool { return g.rand.Float64() < p }

func pick[T any](g *generator, from []T) T { return from[g.rand.IntN(len(from))] }

// maker makes the next action of a kind, if there can be one.
type maker struct {
	kind Kind
	// weight is how often it is drawn.
	weight int
	// slow is left out of short storms.
	slow bool
	make func(*generator) (Action, bool)
}

var makers = []maker{
	{CreateService, 14, false, (*generator).createService},
	{EditService, 14, false, (*generator).editService},
	{ChangePorts, 6, false, (*generator).changePorts},
	{DeleteService, 6, false, (*generator).deleteService},
	{RetypeService, 4, false, (*generator).retypeService},
	{DisownService, 3, false, (*generator).disownService},
	{AddNode, 5, false, (*generator).addNode},
	{RemoveNode, 3, false, (*generator).removeNode},
	{StopDroplet, 3, false, (*generator).stopDroplet},
	{StartDroplet, 3, false, (*generator).startDroplet},
	{DeleteDroplet, 2, true, (*generator).deleteDroplet},
	{RecreateDroplet, 2, true, (*generator).recreateDroplet},
	{RotateCertificate, 3, false, (*generator).rotateCertificate},
	{EditLoadBalancer, 5, true, (*generator).editLoadBalancer},
	{DeleteLoadBalancer, 3, true, (*generator).deleteLoadBalancer},
	{FailLoadBalancer, 2, true, (*generator).failLoadBalancer},
	{EditFirewall, 2, false, (*generator).editFirewall},
	{DeleteFirewall, 1, true, (*generator).deleteFirewall},
	{BreakAPI, 12, false, (*generator).breakAPI},
	{KillManager, 4, false, (*generator).killManager},
	{TerminateManager, 2, false, (*generator).terminateManager},
	{PauseManager, 2, true, (*generator).pauseManager},
	{RestartAPIServer, 1, true, (*generator).restartAPIServer},
}

// weather chooses the kinds of this storm.
func (g *generator) weather() []Kind {
	var kinds []Kind
	for _, m := range makers {
		chosen := m.kind == CreateService || g.chance(0.7)
		if chosen && !(m.slow && g.options.Short) {
			kinds = append(kinds, m.kind)
		}
	}
	return kinds
}

// next draws an action; of a kind that can't be now it makes none.
func (g *generator) next(kinds []Kind) (Action, bool) {
	total := 0
	for _, m := range makers {
		if slices.Contains(kinds, m.kind) {
			total += m.weight
		}
	}
	n := g.rand.IntN(total)
	for _, m := range makers {
		if !slices.Contains(kinds, m.kind) {
			continue
		}
		if n -= m.weight; n < 0 {
			a, ok := m.make(g)
			a.Kind = m.kind
			return a, ok
		}
	}
	return Action{}, false
}
