package e2e

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
)

const firewallName = "k8s-public-access"

func withFirewall(e *environment) {
	e.variables["PUBLIC_ACCESS_FIREWALL_NAME"] = firewallName
	e.variables["PUBLIC_ACCESS_FIREWALL_TAGS"] = " k8s:worker , extra"
	e.mayWrite(createFirewall, updateFirewall, createTag)
}

// firewall is the public access firewall.
func (e *environment) firewall() (simulator.Firewall, error) {
	for _, fw := range e.sim.Firewalls() {
		if fw.Name == firewallName {
			return fw, nil
		}
	}
	return simulator.Firewall{}, fmt.Errorf("no such firewall among %d", len(e.sim.Firewalls()))
}

// opens waits until the firewall opens exactly these, as "protocol/ports", to
// everyone.
func (e *environment) opens(want ...string) simulator.Firewall {
	e.t.Helper()
	var fw simulator.Firewall
	e.eventually(30*time.Second, fmt.Sprint("firewall opens ", want), func() (err error) {
		if fw, err = e.firewall(); err != nil {
			return err
		}
		var got []string
		for _, rule := range fw.InboundRules {
			if slices.Contains(rule.Sources.Addresses, "0.0.0.0/0") {
				got = append(got, rule.Protocol+"/"+rule.Ports)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return fmt.Errorf("it opens %v", got)
		}
		return nil
	})
	return fw
}

// client is a client of the API as anybody's.
func (e *environment) client() *godo.Client {
	e.t.Helper()
	client := godo.NewFromToken(token)
	base, err := url.Parse(e.api.URL() + "/")
	if err != nil {
		e.t.Fatal(err)
	}
	client.BaseURL = base
	return client
}

func nodePort(port int32) func(*v1.Service) {
	return func(svc *v1.Service) {
		svc.Spec.Type = v1.ServiceTypeNodePort
		svc.Spec.Ports[0].NodePort = port
	}
}

func TestTheFirewallOpensWhatServicesNeed(t *testing.T) {
	e, _ := startWithNode(t, nil, withFirewall)
	e.addService("a", nodePort(30001))
	fw := e.opens("tcp/30001")
	if !slices.Equal(slices.Sorted(slices.Values(fw.Tags)), []string{"extra", "k8s:worker"}) {
		t.Errorf("the firewall is on droplets tagged %v", fw.Tags)
	}
	since := len(e.sim.Requests())
	for i := range 10 {
		e.addService(fmt.Sprint("burst-", i), nodePort(30002+int32(i)))
	}
	e.opens("tcp/30001-30011")
	if writes := e.writesSince(since); len(writes) > 2 {
		t.Errorf("ten Services at once cost %v", writes)
	}
	e.addService("hidden", func(svc *v1.Service) {
		nodePort(30100)(svc)
		svc.Annotations["kubernetes.digitalocean.com/firewall-managed"] = "false"
	})
	e.addService("web", nil)
	e.balanced("web")
	e.opens("tcp/30001-30011", "tcp/80")
	e.patchService("web", `{"metadata":{"annotations":{"`+prefix+`size-unit":"none"}}}`)
	e.event(20*time.Second, "web", "LoadBalancerConfigError")
	e.opens("tcp/30001-30011", "tcp/80")
	e.deleteService("web")
	e.opens("tcp/30001-30011")
	since = len(e.sim.Requests())
	e.stopManager()
	e.startManager()
	e.never(10*time.Second, "a restart writes nothing", func() error {
		for _, w := range e.writesSince(since) {
			if strings.Contains(w, "firewalls") {
				return fmt.Errorf("it wrote %s", w)
			}
		}
		return nil
	})
}

func TestAFirewallChangedOrDeletedByHandIsPutBack(t *testing.T) {
	e, _ := startWithNode(t, nil, withFirewall, driftEvery("2s"))
	e.addService("a", nodePort(30001))
	fw := e.opens("tcp/30001")
	if err := e.sim.EditFirewall(fw.ID, func(f *simulator.Firewall) { f.InboundRules = nil }); err != nil {
		t.Fatal(err)
	}
	e.opens("tcp/30001")
	e.event(20*time.Second, "cloud-controller-manager", "FirewallRestored")
	if err := e.sim.DeleteFirewall(fw.ID); err != nil {
		t.Fatal(err)
	}
	e.opens("tcp/30001")
}

func TestAFirewallOfThatNameIsTakenOverAndSaysWhatWasReplaced(t *testing.T) {
	e := prepare(t, nil, withFirewall)
	byHand := &godo.FirewallRequest{Name: firewallName, InboundRules: []godo.InboundRule{{
		Protocol: "tcp", PortRange: "22", Sources: &godo.Sources{Addresses: []string{"0.0.0.0/0"}},
	}}}
	other, _, err := e.client().Firewalls.Create(e.ctx, byHand)
	if err != nil {
		t.Fatal(err)
	}
	e.startManager()
	e.addNode(simulator.DropletSpec{Name: "w"}, sandbox.NodeOptions{})
	e.eventually(30*time.Second, "w", e.initialized("w"))
	e.addService("a", nodePort(30001))
	e.opens("tcp/30001")
	if all := e.sim.Firewalls(); len(all) != 1 || all[0].ID != other.ID {
		t.Errorf("firewalls %v, want %s alone", all, other.ID)
	}
	e.event(20*time.Second, "cloud-controller-manager", "FirewallTakenOver", "22")
}

func TestControllersAreChosenByName(t *testing.T) {
	e, _ := startWithNode(t, nil, withFirewall, driftEvery("1s"), func(e *environment) {
		e.args = append(e.args, "--controllers=*,-public-access-firewall-controller,-service-lb-controller")
	})
	e.addService("a", nodePort(30001))
	e.addService("web", nil)
	e.never(8*time.Second, "no firewall and no load balancer", func() error {
		if n, m := len(e.sim.Firewalls()), len(e.sim.LoadBalancers()); n+m > 0 {
			return fmt.Errorf("%d firewalls and %d load balancers", n, m)
		}
		return nil
	})
}
