package plan

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"digitalocean-cloud-controller-manager/simulator"
)

// node draws one of the Nodes in a state. The first is never drawn: see
// [FirstNodes].
func (g *generator) node(states ...nodeState) (string, bool) {
	var names []string
	for i := 1; i < Nodes; i++ {
		if name := NodeName(i); slices.Contains(states, g.nodes[name]) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "", false
	}
	return pick(g, names), true
}

// become draws a Node and changes its state.
func (g *generator) become(to nodeState, from ...nodeState) (Action, bool) {
	name, ok := g.node(from...)
	if ok {
		g.nodes[name] = to
	}
	return Action{Object: name}, ok
}

func (g *generator) addNode() (Action, bool) {
	a, ok := g.become(nodeRuns, nodeAbsent)
	a.Variant = g.rand.IntN(4)
	return a, ok
}

func (g *generator) removeNode() (Action, bool) {
	return g.become(nodeAbsent, nodeRuns, nodeStopped)
}

func (g *generator) stopDroplet() (Action, bool)  { return g.become(nodeStopped, nodeRuns) }
func (g *generator) startDroplet() (Action, bool) { return g.become(nodeRuns, nodeStopped) }

func (g *generator) deleteDroplet() (Action, bool) {
	if g.gone >= maxGone {
		return Action{}, false
	}
	a, ok := g.become(nodeGone, nodeRuns, nodeStopped)
	if ok {
		g.gone++
	}
	return a, ok
}

func (g *generator) recreateDroplet() (Action, bool) {
	return g.become(nodeRuns, nodeGone, nodeRuns)
}

func (g *generator) rotateCertificate() (Action, bool) {
	return Action{Object: CertificateName(g.rand.IntN(Certificates))}, true
}

// byHand draws a Service whose load balancer may be changed by hand once more.
func (g *generator) byHand() (string, bool) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(g.services)) {
		if isBalanced(g.services[name]) && g.edits[name] < handEdits {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "", false
	}
	name := pick(g, names)
	g.edits[name]++
	return name, true
}

func (g *generator) editLoadBalancer() (Action, bool) {
	name, ok := g.byHand()
	return Action{Object: name, Variant: g.rand.IntN(8)}, ok
}

func (g *generator) deleteLoadBalancer() (Action, bool) {
	name, ok := g.byHand()
	return Action{Object: name}, ok
}

func (g *generator) failLoadBalancer() (Action, bool) {
	name, ok := g.byHand()
	return Action{Object: name, For: time.Second + rand64(g.rand, 4*time.Second)}, ok
}

func (g *generator) editFirewall() (Action, bool) {
	g.edits["firewall"]++
	return Action{Variant: g.rand.IntN(4)}, g.edits["firewall"] <= handEdits
}

func (g *generator) deleteFirewall() (Action, bool) {
	g.edits["firewall"]++
	return Action{}, g.edits["firewall"] <= handEdits
}

// paths are what faults strike; the empty one is everything.
var paths = []string{"", "", "/v2/load_balancers", "/v2/load_balancers/*", "/v2/droplets", "/v2/droplets/*", "/v2/firewalls", "/v2/tags", "/v2/certificates"}

// lagging are the lists that may lag behind.
var lagging = []string{"/v2/load_balancers", "/v2/droplets", "/v2/firewalls"}

// breakAPI draws a fault that ends by itself.
func (g *generator) breakAPI() (Action, bool) {
	f := pick(g, faults)
	f.Path = pick(g, paths)
	if g.chance(0.4) {
		f.Method = pick(g, []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete})
	}
	if f.Errored {
		f.Method, f.Path = http.MethodPost, "/v2/load_balancers"
	}
	if f.ListLag > 0 {
		f.Method = http.MethodGet
		if !slices.Contains(lagging, f.Path) {
			f.Path = lagging[0]
		}
	}
	f.Probability = pick(g, []float64{0.2, 0.5, 1})
	length := 500*time.Millisecond + rand64(g.rand, 5*time.Second)
	if f.Quota == "hour" {
		if g.options.Short {
			return Action{}, false
		}
		f.Count = 1
	}
	if f.Quota == "minute" {
		f.Count, f.Header = 1, map[string]string{"Retry-After": "2"}
	}
	return Action{Fault: f, For: length}, true
}

// faults are the ways in which the API goes wrong.
var faults = []simulator.Fault{
	{Status: http.StatusInternalServerError},
	{Status: http.StatusInternalServerError, AfterActing: true},
	{Status: http.StatusServiceUnavailable, Body: "<html><body>upstream unavailable</body></html>"},
	{Status: http.StatusBadGateway, AfterActing: true},
	{Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "1"}},
	{Reset: true},
	{Reset: true, AfterActing: true},
	{Delay: 1500 * time.Millisecond},
	{Delay: 700 * time.Millisecond, Reset: true, AfterActing: true},
	{Trickle: time.Second},
	{Truncate: true, AfterActing: true},
	{Malformed: true, AfterActing: true},
	{OmitItems: 1},
	{OmitItems: -1},
	{OmitLinks: true},
	{ListLag: 3 * time.Second},
	{ListLag: 8 * time.Second},
	{Quota: "minute"},
	{Quota: "hour"},
	{Errored: true},
}
