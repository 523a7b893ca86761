// Package plan makes the list of what happens in a storm from a seed: the same
// seed, length and kind of storm give the same list, always. It does nothing
// itself.
package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"digitalocean-cloud-controller-manager/simulator"
)

// Kind is what an action does.
type Kind string

// Actions on Services. Their objects are names of Services.
const (
	CreateService Kind = "create Service"
	EditService   Kind = "edit Service"
	ChangePorts   Kind = "change ports of Service"
	DeleteService Kind = "delete Service"
	RetypeService Kind = "retype Service"
	DisownService Kind = "disown Service"
)

// Actions on droplets and Nodes. Their objects are names of both.
const (
	AddNode         Kind = "add Node"
	RemoveNode      Kind = "remove Node"
	StopDroplet     Kind = "stop droplet"
	StartDroplet    Kind = "start droplet"
	DeleteDroplet   Kind = "delete droplet"
	RecreateDroplet Kind = "re-create droplet"
)

// Actions at DigitalOcean, by hand or by bad luck.
const (
	RotateCertificate  Kind = "rotate certificate"
	EditLoadBalancer   Kind = "edit load balancer of Service"
	DeleteLoadBalancer Kind = "delete load balancer of Service"
	FailLoadBalancer   Kind = "fail load balancer of Service"
	EditFirewall       Kind = "edit firewall"
	DeleteFirewall     Kind = "delete firewall"
	BreakAPI           Kind = "break API"
)

// Actions on processes. The objects of the first three are names of managers.
const (
	KillManager      Kind = "kill manager"
	TerminateManager Kind = "terminate manager"
	PauseManager     Kind = "pause manager"
	RestartAPIServer Kind = "restart kube-apiserver"
)

// Port is one of a Service.
type Port struct {
	Port int32
	UDP  bool
}

// Action is one thing that happens.
type Action struct {
	// At is when, since the storm began.
	At     time.Duration
	Kind   Kind
	Object string
	// Annotations are set on the Service; an empty value removes one. A value
	// that begins with [CertificateOf] stands for a certificate's id.
	Annotations map[string]string
	Ports       []Port
	// On is the state that [RetypeService] (to LoadBalancer) and
	// [DisownService] bring about, and for new Services the traffic policy Local.
	On bool
	// Variant chooses among the ways of doing it.
	Variant int
	Fault   simulator.Fault
	// For is how long it lasts, where it ends by itself.
	For time.Duration
}

// CertificateOf begins a value that stands for the id of the certificate whose
// name follows.
const CertificateOf = "id of "

// String is the action on one line.
func (a Action) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%6.2fs %s", a.At.Seconds(), a.Kind)
	if a.Object != "" {
		b.WriteString(" " + a.Object)
	}
	switch a.Kind {
	case CreateService, RetypeService, DisownService:
		fmt.Fprintf(&b, " %t", a.On)
	case EditLoadBalancer, EditFirewall:
		fmt.Fprintf(&b, " #%d", a.Variant)
	case BreakAPI:
		// A fault is plain data, which always encodes.
		fault, _ := a.Fault.MarshalJSON()
		b.WriteString(" " + string(fault))
	}
	if a.For > 0 {
		fmt.Fprintf(&b, " for %s", a.For)
	}
	for _, p := range a.Ports {
		protocol := "TCP"
		if p.UDP {
			protocol = "UDP"
		}
		fmt.Fprintf(&b, " %d/%s", p.Port, protocol)
	}
	for _, key := range slices.Sorted(maps.Keys(a.Annotations)) {
		fmt.Fprintf(&b, " %s=%q", key[strings.LastIndex(key, "/")+1:], a.Annotations[key])
	}
	return b.String()
}
