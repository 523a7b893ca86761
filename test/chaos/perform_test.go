package chaos

import (
	"fmt"
	"syscall"

	"digitalocean-cloud-controller-manager/simulator"
	"digitalocean-cloud-controller-manager/test/chaos/plan"
)

// perform does what the action says. What can't be done any more, as the object
// has gone otherwise, is an error that harms nothing.
func (s *storm) perform(a plan.Action) error {
	switch a.Kind {
	case plan.CreateService:
		return s.createService(a)
	case plan.EditService:
		return s.annotate(a.Object, a.Annotations)
	case plan.ChangePorts:
		return s.changePorts(a.Object, a.Ports)
	case plan.DeleteService:
		return s.deleteService(a.Object)
	case plan.RetypeService:
		return s.retype(a.Object, a.On)
	case plan.DisownService:
		return s.disown(a.Object, a.On)
	case plan.AddNode:
		return s.addNode(a.Object, a.Variant)
	case plan.RemoveNode:
		return s.removeNode(a.Object, true)
	case plan.StopDroplet:
		return s.power(a.Object, false)
	case plan.StartDroplet:
		return s.power(a.Object, true)
	case plan.DeleteDroplet:
		return s.loseDroplet(a.Object)
	case plan.RecreateDroplet:
		return s.recreate(a.Object)
	}
	return s.performElsewhere(a)
}

// performElsewhere does what happens to DigitalOcean and to processes.
func (s *storm) performElsewhere(a plan.Action) error {
	switch a.Kind {
	case plan.RotateCertificate:
		return s.rotate(a.Object)
	case plan.EditLoadBalancer:
		return s.onBalancer(a.Object, func(id string) error { return s.sim.EditLoadBalancer(id, balancerEdits[a.Variant]) })
	case plan.DeleteLoadBalancer:
		return s.onBalancer(a.Object, s.sim.DeleteLoadBalancer)
	case plan.FailLoadBalancer:
		return s.onBalancer(a.Object, func(id string) error { return s.fail(id, a) })
	case plan.EditFirewall:
		return s.onFirewall(func(id string) error { return s.sim.EditFirewall(id, firewallEdits[a.Variant]) })
	case plan.DeleteFirewall:
		return s.onFirewall(s.sim.DeleteFirewall)
	case plan.BreakAPI:
		id := s.sim.AddFault(a.Fault)
		s.later(a.For, func() { s.sim.RemoveFault(id) })
	case plan.KillManager:
		s.managers[a.Object].End(syscall.SIGKILL, a.For)
	case plan.TerminateManager:
		s.managers[a.Object].End(syscall.SIGTERM, a.For)
	case plan.PauseManager:
		m := s.managers[a.Object]
		m.Signal(syscall.SIGSTOP)
		s.later(a.For, func() { m.Signal(syscall.SIGCONT) })
	case plan.RestartAPIServer:
		s.restartAPIServer()
	default:
		return fmt.Errorf("nobody knows how to %s", a.Kind)
	}
	return nil
}

// restartAPIServer does so while the storm goes on.
func (s *storm) restartAPIServer() {
	s.background.Go(func() {
		s.restarting.Lock()
		defer s.restarting.Unlock()
		if err := s.plane.RestartAPIServer(); err != nil {
			s.t.Error(err)
		}
	})
}

func (s *storm) onBalancer(service string, do func(id string) error) error {
	id, err := s.record.balancerOf(service)
	if err != nil {
		return err
	}
	return do(id)
}

// fail has a load balancer be errored for a while.
func (s *storm) fail(id string, a plan.Action) error {
	if err := s.sim.EditLoadBalancer(id, func(lb *simulator.LoadBalancer) { lb.Status = "errored" }); err != nil {
		return err
	}
	s.later(a.For, func() {
		// It may be gone by then.
		_ = s.sim.EditLoadBalancer(id, func(lb *simulator.LoadBalancer) { lb.Status = "active" })
	})
	return nil
}

// balancerEdits are what people do to load balancers in the console.
var balancerEdits = []func(*simulator.LoadBalancer){
	func(lb *simulator.LoadBalancer) { lb.Name += "-renamed" },
	func(lb *simulator.LoadBalancer) { lb.DropletIDs = []int{} },
	func(lb *simulator.LoadBalancer) { lb.SizeUnit += 3 },
	func(lb *simulator.LoadBalancer) { lb.ForwardingRules = lb.ForwardingRules[:1] },
	func(lb *simulator.LoadBalancer) { lb.HealthCheck.Port = 9 },
	func(lb *simulator.LoadBalancer) { lb.Tags = nil },
	func(lb *simulator.LoadBalancer) { lb.Firewall.Allow = []string{"ip:192.0.2.99"} },
	func(lb *simulator.LoadBalancer) {
		lb.HTTPIdleTimeoutSeconds, lb.EnableProxyProtocol = 99, !lb.EnableProxyProtocol
	},
}

// firewallEdits are what people do to the firewall.
var firewallEdits = []func(*simulator.Firewall){
	func(fw *simulator.Firewall) { fw.InboundRules = nil },
	func(fw *simulator.Firewall) { fw.OutboundRules = nil },
	func(fw *simulator.Firewall) { fw.Tags = nil },
	func(fw *simulator.Firewall) {
		fw.InboundRules = append(fw.InboundRules, simulator.InboundRule{
			Protocol: "tcp", Ports: "22", Sources: &simulator.FirewallTarget{Addresses: []string{"0.0.0.0/0"}},
		})
	},
}

func (s *storm) onFirewall(do func(id string) error) error {
	for _, fw := range s.sim.Firewalls() {
		if fw.Name == firewallName {
			return do(fw.ID)
		}
	}
	return fmt.Errorf("there is no firewall %s", firewallName)
}

func (s *storm) certificateID(name string) (string, error) {
	for _, t := range s.sim.State().Teams {
		for _, c := range t.Certificates {
			if c.Name == name {
				return c.ID, nil
			}
		}
	}
	return "", fmt.Errorf("there is no certificate %s", name)
}

func (s *storm) rotate(name string) error {
	id, err := s.certificateID(name)
	if err != nil {
		return err
	}
	_, err = s.sim.RotateCertificate(id)
	return err
}
