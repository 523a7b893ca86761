package plan

import "time"

// maxRestarts is how often the API server is restarted in one storm.
const maxRestarts = 2

// killManager ends one as a crash does; it comes back a moment later.
func (g *generator) killManager() (Action, bool) {
	return Action{Object: pick(g, Managers), For: rand64(g.rand, 2*time.Second)}, true
}

func (g *generator) terminateManager() (Action, bool) { return g.killManager() }

// pauseManager stops one as a machine that is suspended does, for longer or
// shorter than its lease lasts.
func (g *generator) pauseManager() (Action, bool) {
	return Action{Object: pick(g, Managers), For: time.Second + rand64(g.rand, 10*time.Second)}, true
}

func (g *generator) restartAPIServer() (Action, bool) {
	g.restarts++
	return Action{}, g.restarts <= maxRestarts
}
