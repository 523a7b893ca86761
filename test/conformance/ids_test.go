package conformance

import (
	"strconv"
	"strings"

	"digitalocean-cloud-controller-manager/simulator"
)

func (w *walk) state() simulator.TeamState {
	for _, t := range w.sim.State().Teams {
		if t.Name == "blue" {
			return t
		}
	}
	w.Fatal("the team is gone")
	return simulator.TeamState{}
}

// pick is one of all, or none in few cases.
func pick[T any](w *walk, all []T, id func(T) string) string {
	if len(all) == 0 || w.chance(6) {
		return w.one("0", "12345", "00000000-0000-4000-8000-000000000000")
	}
	return id(all[w.random.IntN(len(all))])
}

func (w *walk) dropletID() string {
	return pick(w, w.sim.Droplets(), func(d simulator.Droplet) string { return strconv.Itoa(d.ID) })
}

func (w *walk) volume() simulator.Volume {
	if all := w.state().Volumes; len(all) > 0 {
		return all[w.random.IntN(len(all))]
	}
	return simulator.Volume{Name: "none", Region: &simulator.Region{}}
}

// id is one of what a path's segment names.
func (w *walk) id(kind string, before []string) string {
	switch kind {
	case "droplets":
		return w.dropletID()
	case "load_balancers":
		return pick(w, w.sim.LoadBalancers(), func(lb simulator.LoadBalancer) string { return lb.ID })
	case "firewalls":
		return pick(w, w.sim.Firewalls(), func(f simulator.Firewall) string { return f.ID })
	case "tags":
		return pick(w, w.state().Tags, func(t simulator.Tag) string { return t.Name })
	case "certificates":
		return pick(w, w.state().Certificates, func(c simulator.Certificate) string { return c.ID })
	case "vpcs":
		return pick(w, w.state().VPCs, func(v simulator.VPC) string { return v.ID })
	case "projects":
		if w.chance(20) {
			return "default"
		}
		return pick(w, w.state().Projects, func(p simulator.Project) string { return p.ID })
	case "volumes":
		return pick(w, w.state().Volumes, func(v simulator.Volume) string { return v.ID })
	case "snapshots":
		return pick(w, w.state().Snapshots, func(s simulator.VolumeSnapshot) string { return s.ID })
	case "keys":
		return pick(w, w.state().SSHKeys, func(k simulator.SSHKey) string { return w.one(strconv.Itoa(k.ID), k.Fingerprint) })
	case "images":
		return w.one("ubuntu-24-04-x64", "debian-13-x64", "none")
	case "subnets":
		return pick(w, w.state().Subnets, func(s simulator.VPCSubnet) string { return s.ID })
	case "reserved_ips", "floating_ips", "reserved_ipv6":
		v6 := kind == "reserved_ipv6"
		var found []string
		for _, r := range w.state().ReservedIPs {
			if (len(r.IP) > 15) == v6 || (v6 && r.IP[4] == ':') {
				found = append(found, r.IP)
			}
		}
		return pick(w, found, func(ip string) string { return ip })
	case "actions":
		return w.actionID(before)
	}
	w.Fatalf("no id for %s", kind)
	return ""
}

// actionID is an action, to whose object the path is turned.
func (w *walk) actionID(before []string) string {
	for range 50 {
		if len(w.actions) == 0 {
			break
		}
		a := w.actions[w.random.IntN(len(w.actions))]
		if len(before) == 3 {
			return a.id
		}
		// Both names of reserved addresses are names of the same.
		both := strings.HasSuffix(a.path[2], "_ips") && strings.HasSuffix(before[2], "_ips")
		if a.path[2] == before[2] || both {
			copy(before[3:], a.path[3:])
			return a.id
		}
	}
	return "1"
}
