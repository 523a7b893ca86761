package firewall

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// from says who may use an opening.
type from string

const (
	// fromSources: the opening's sources.
	fromSources from = "sources"
	// fromBalancer: the Service's load balancer; nobody while its id is unknown.
	fromBalancer from = "load balancer"
	// fromBalancerOrAll: the same, but everyone while the id is unknown, since a
	// load balancer that is being made would find no healthy backend.
	fromBalancerOrAll from = "load balancer, or everyone until it is known"
	// fromCurrent: the addresses that the firewall admits now, as it isn't known
	// which it should.
	fromCurrent from = "whoever is admitted now"
	// fromCurrentBalancer: the Service's load balancer, if it is admitted now.
	fromCurrentBalancer from = "load balancer, if it is admitted now"
)

// opening is a port of the nodes that a Service needs to be reached at.
type opening struct {
	protocol string
	port     int
	from     from
	// sources are those of fromSources.
	sources []peer
}

// Needs is what a Service needs of the firewall.
type Needs struct {
	openings []opening
	// balancer is the id of the Service's load balancer; may be empty.
	balancer string
	// Problems are what is wrong with the Service, as far as it concerns the
	// firewall.
	Problems []annotation.Problem
}

// Shape is what can't be changed on a load balancer that exists.
type Shape struct{ Type, Network string }

// good is what was last understood of a Service.
type good struct {
	openings []opening
	balancer string
	shape    Shape
}

// Settings are what all Services share.
type Settings struct {
	// Defaults are those of annotations.
	Defaults annotation.Defaults
	// BalancerNodePorts opens the node ports and the health check port of
	// Services with a REGIONAL load balancer to that load balancer. Without it
	// they are left to another firewall, which lets the VPC in.
	BalancerNodePorts bool
	// Shape tells the type and network of a load balancer that exists, without
	// an API call; it may be nil.
	Shape func(id string) (Shape, bool)
}

// Need says what a Service needs. last is what Need last understood of the same
// Service, nil for nothing; a Service that can't be understood keeps it, as its
// load balancer does. It returns what to pass as last the next time.
func Need(svc *v1.Service, s Settings, last *good) (Needs, *good) {
	if !concerns(svc) {
		return Needs{}, nil
	}
	managed, problem := annotation.FirewallManaged(svc)
	if !managed {
		return Needs{}, nil
	}
	var needs Needs
	if svc.Spec.Type == v1.ServiceTypeNodePort {
		needs, last = nodePorts(svc), nil
	} else {
		needs, last = balanced(svc, s, last)
	}
	if problem != nil {
		needs.Problems = append(needs.Problems, *problem)
	}
	needs.keepControlPlane(svc)
	return needs, last
}

// concerns tells whether the firewall has to do with the Service at all. A load
// balancer of a class is another implementation's.
func concerns(svc *v1.Service) bool {
	switch svc.Spec.Type {
	case v1.ServiceTypeNodePort:
		return true
	case v1.ServiceTypeLoadBalancer:
		return svc.Spec.LoadBalancerClass == nil
	}
	return false
}

func transport(p v1.Protocol) (string, bool) {
	switch p {
	case "", v1.ProtocolTCP:
		return protocolTCP, true
	case v1.ProtocolUDP:
		return protocolUDP, true
	}
	return "", false
}

// nodePorts opens a NodePort Service's node ports to everyone. One that isn't
// allocated (yet) is skipped.
func nodePorts(svc *v1.Service) Needs {
	var n Needs
	for i, port := range svc.Spec.Ports {
		protocol, ok := transport(port.Protocol)
		switch {
		case !ok:
			n.Problems = append(n.Problems, annotation.Problem{
				Field: fmt.Sprintf("spec.ports[%d].protocol", i), Value: string(port.Protocol), Allowed: "must be TCP or UDP, which is what DigitalOcean's firewalls know",
			})
		case port.NodePort != 0:
			n.openings = append(n.openings, opening{protocol, int(port.NodePort), fromSources, everyone})
		}
	}
	return n
}

// balanced is what a Service with a load balancer needs.
func balanced(svc *v1.Service, s Settings, last *good) (Needs, *good) {
	spec, problems := annotation.Parse(svc, s.Defaults)
	shape := Shape{spec.Type, spec.Network}
	id := spec.LoadBalancerID
	known, exists := s.shapeOf(id, last)
	if exists {
		// The annotations may ask for what can't be: the load balancer stays as
		// it is.
		shape = known
		spec.Type, spec.Network = known.Type, known.Network
	}
	if !s.concern(shape) && (exists || !isShapeWrong(problems)) {
		// Whatever else is wrong with it, the firewall has nothing to do with it.
		return Needs{balancer: id}, &good{nil, id, shape}
	}
	// Backends, certificates and the VPC don't matter here.
	desired, more := loadbalancer.Desire(svc, spec, loadbalancer.Inputs{CertificateID: "any", Cluster: loadbalancer.Cluster{VPC: "any"}}.Assuming(spec))
	problems = append(problems, more...)
	if len(problems) == 0 {
		openings := s.openings(desired, shape)
		return Needs{openings: openings, balancer: id}, &good{openings, id, shape}
	}
	if last != nil {
		return Needs{openings: last.openings, balancer: cmp.Or(id, last.balancer), Problems: problems}, last
	}
	return Needs{openings: current(svc, desired), balancer: id, Problems: problems}, nil
}

func (s Settings) shapeOf(id string, last *good) (Shape, bool) {
	if id == "" {
		return Shape{}, false
	}
	if s.Shape != nil {
		if shape, ok := s.Shape(id); ok {
			return shape, true
		}
	}
	if last != nil && last.balancer == id {
		return last.shape, true
	}
	return Shape{}, false
}

// concern tells whether load balancers of the shape need anything of the
// firewall.
func (s Settings) concern(shape Shape) bool {
	if shape.Type == annotation.TypeRegional {
		return s.BalancerNodePorts
	}
	return shape.Network != annotation.NetworkInternal
}

// isShapeWrong tells whether the Service asks for a shape that doesn't exist.
func isShapeWrong(problems []annotation.Problem) bool {
	return slices.ContainsFunc(problems, func(p annotation.Problem) bool {
		return p.Field == annotation.Type || p.Field == annotation.Network
	})
}

// openings are what a load balancer needs. A network load balancer hands packets
// on unread, so they reach the node at the Service's port with the address of
// the client.
func (s Settings) openings(d loadbalancer.Desired, shape Shape) []opening {
	var openings []opening
	switch shape.Type {
	case annotation.TypeRegionalNetwork:
		sources := sourcesOf(d.AllowRules)
		for _, r := range d.ForwardingRules {
			openings = append(openings, opening{r.TargetProtocol, r.TargetPort, fromSources, sources})
		}
		openings = append(openings, opening{protocolTCP, d.HealthCheck.Port, fromBalancerOrAll, nil})
	case annotation.TypeRegional:
		for _, r := range d.ForwardingRules {
			protocol := protocolTCP
			if r.TargetProtocol == annotation.ProtocolUDP {
				protocol = protocolUDP
			}
			openings = append(openings, opening{protocol, r.TargetPort, fromBalancer, nil})
		}
		openings = append(openings, opening{protocolTCP, d.HealthCheck.Port, fromBalancer, nil})
	}
	return openings
}

// sourcesOf are the peers of allow rules, or everyone where there are none.
func sourcesOf(allow []string) []peer {
	if len(allow) == 0 {
		return everyone
	}
	var peers []peer
	for _, rule := range allow {
		_, address, _ := strings.Cut(rule, ":") // they are in normal form
		peers = append(peers, addressPeer(address))
	}
	return peers
}

// current keeps what is open of a Service that can't be understood, and of
// which nothing is known from before: its sources may be what is wrong.
func current(svc *v1.Service, d loadbalancer.Desired) []opening {
	var openings []opening
	for _, port := range svc.Spec.Ports {
		if protocol, ok := transport(port.Protocol); ok {
			openings = append(openings, opening{protocol, int(port.Port), fromCurrent, nil})
		}
	}
	if d.HealthCheck.Port != 0 {
		openings = append(openings, opening{protocolTCP, d.HealthCheck.Port, fromCurrentBalancer, nil})
	}
	return openings
}

// controlPlanePorts are where etcd, the kubelet, the controller managers and the
// scheduler listen: none of them is ever meant for everyone.
var controlPlanePorts = []int{2379, 2380, 10250, 10255, 10257, 10258, 10259}

// keepControlPlane drops openings of such ports to everyone.
func (n *Needs) keepControlPlane(svc *v1.Service) {
	n.openings = slices.DeleteFunc(slices.Clone(n.openings), func(o opening) bool {
		if o.protocol != protocolTCP || !slices.Contains(controlPlanePorts, o.port) || o.from != fromSources ||
			!slices.ContainsFunc(o.sources, func(p peer) bool { return p == everyIPv4 || p == everyIPv6 }) {
			return false
		}
		n.Problems = append(n.Problems, annotation.Problem{
			Field: "spec.ports", Value: fmt.Sprint(o.port),
			Allowed: "must not be a port of Kubernetes' own components, which the nodes would show to everyone: choose another port, or restrict the sources",
		})
		return true
	})
}

// grants adds what the Service needs to what is admitted. actual is what the
// firewall admits now; gone are load balancers that don't exist.
func (n Needs) grants(to, actual access, gone map[string]bool) {
	own := peer{kindLoadBalancer, n.balancer}
	hasOwn := n.balancer != "" && !gone[n.balancer]
	for _, o := range n.openings {
		var peers []peer
		switch {
		case o.from == fromSources:
			peers = o.sources
		case o.from == fromCurrent:
			peers = actual.admitted(o.protocol, o.port)
		case o.from == fromCurrentBalancer && !actual[flow{protocol: o.protocol, peer: own}].contains(o.port):
		case hasOwn:
			peers = []peer{own}
		case n.balancer == "" && o.from == fromBalancerOrAll:
			peers = everyone
		}
		for _, p := range peers {
			to.add(flow{protocol: o.protocol, peer: p}, Range{o.port, o.port})
		}
	}
}

// admitted are the addresses that the port is open to.
func (a access) admitted(protocol string, port int) []peer {
	var peers []peer
	for f, ports := range a {
		if !f.outbound && !f.deny && f.protocol == protocol && f.peer.kind == kindAddress && ports.contains(port) {
			peers = append(peers, f.peer)
		}
	}
	return peers
}
