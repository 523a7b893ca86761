package plan

import (
	"maps"
	"slices"
)

// service draws one of those Services that exist and that fit.
func (g *generator) service(fits func(*service) bool) (string, bool) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(g.services)) {
		if fits(g.services[name]) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "", false
	}
	return pick(g, names), true
}

func any1(*service) bool         { return true }
func isBalanced(s *service) bool { return s.balanced && !s.disowned }

func (g *generator) createService() (Action, bool) {
	var free []string
	for i := range Services {
		if name := ServiceName(i); g.services[name] == nil {
			free = append(free, name)
		}
	}
	if len(free) == 0 {
		return Action{}, false
	}
	name := pick(g, free)
	g.services[name] = &service{balanced: true}
	return Action{Object: name, Annotations: g.annotations(name), Ports: g.ports(), On: g.chance(0.3)}, true
}

func (g *generator) editService() (Action, bool) {
	name, ok := g.service(any1)
	return Action{Object: name, Annotations: g.annotations(name)}, ok
}

func (g *generator) changePorts() (Action, bool) {
	name, ok := g.service(any1)
	return Action{Object: name, Ports: g.ports()}, ok
}

func (g *generator) deleteService() (Action, bool) {
	name, ok := g.service(any1)
	delete(g.services, name)
	return Action{Object: name}, ok
}

func (g *generator) retypeService() (Action, bool) {
	name, ok := g.service(any1)
	if !ok {
		return Action{}, false
	}
	s := g.services[name]
	s.balanced = !s.balanced
	return Action{Object: name, On: s.balanced}, true
}

func (g *generator) disownService() (Action, bool) {
	name, ok := g.service(func(s *service) bool { return s.balanced })
	if !ok {
		return Action{}, false
	}
	s := g.services[name]
	s.disowned = !s.disowned
	return Action{Object: name, On: s.disowned}, true
}

// ports draws one to three ports.
func (g *generator) ports() []Port {
	all := []Port{{Port: 80}, {Port: 443}, {Port: 8080}, {Port: 9000}}
	g.rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	ports := all[:1+g.rand.IntN(3)]
	if g.chance(0.15) {
		ports = append(ports, Port{Port: 53, UDP: true})
	}
	return ports
}
