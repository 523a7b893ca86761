package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
)

// publicManager is the environment variable with the path of the public manager's
// binary. Without it, what that makes is imitated.
const publicManager = "PUBLIC_MANAGER"

// migrated are Services of every kind that both managers know, by name.
func migrated(certificate string) map[string]func(*v1.Service) {
	https := func(pairs ...string) func(*v1.Service) {
		return func(svc *v1.Service) {
			annotated(append([]string{"type", "REGIONAL"}, pairs...)...)(svc)
			svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Name: "https", Port: 443, Protocol: v1.ProtocolTCP})
		}
	}
	return map[string]func(*v1.Service){
		"plain":       nil,
		"regional":    annotated("type", "REGIONAL"),
		"internal":    annotated("type", "REGIONAL", "network", "INTERNAL"),
		"named":       annotated("name", "my-balancer"),
		"http":        annotated("type", "REGIONAL", "protocol", "http"),
		"certificate": https("certificate-id", certificate, "protocol", "http"),
		"passthrough": https("tls-passthrough", "true"),
		"sized":       annotated("size-unit", "2"),
		"sticky":      annotated("type", "REGIONAL", "protocol", "http", "sticky-sessions-type", "cookies", "sticky-sessions-cookie-name", "lb", "sticky-sessions-cookie-ttl", "60"),
		"proxy":       annotated("type", "REGIONAL", "enable-proxy-protocol", "true"),
		"hostname":    annotated("hostname", "web.example.com"),
		"rules":       annotated("allow-rules", "ip:203.0.113.7,cidr:198.51.100.0/24", "deny-rules", "ip:203.0.113.9"),
		"local":       func(svc *v1.Service) { svc.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal },
		"udp": func(svc *v1.Service) {
			svc.Spec.Ports[0].Protocol = v1.ProtocolUDP
			svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Name: "tcp", Port: 81, Protocol: v1.ProtocolTCP})
		},
		"door": nodePort(30123),
	}
}

func TestTheManagerTakesThePublicOnesPlaceWithoutAWrite(t *testing.T) {
	e := prepare(t, []simulator.Option{simulator.WithResizeInterval(0)}, withFirewall, driftEvery("5s"))
	public := os.Getenv(publicManager)
	if public != "" {
		e.startBinary(public)
	} else {
		e.startManager()
	}
	e.addNode(simulator.DropletSpec{Name: "w", Tags: []string{"k8s:worker"}}, sandbox.NodeOptions{})
	e.eventually(30*time.Second, "w", e.initialized("w"))
	certificate := e.sim.AddCertificate(simulator.CertificateSpec{Name: "site", Team: team}).ID
	services := migrated(certificate)
	for name, edit := range services {
		e.addService(name, edit)
	}
	for name := range services {
		if name != "door" {
			e.balanced(name)
		}
	}
	e.eventually(30*time.Second, "the firewall", func() error { _, err := e.firewall(); return err })
	e.mayWrite(createFirewall, updateFirewall, createTag, deleteTag, tagResources)
	e.mayWarn("AnnotationWarning", "FirewallTakenOver") // of the one that comes before
	time.Sleep(6 * time.Second)                         // it settles: tags and rules that follow
	e.stopManager()
	if public == "" {
		for name := range services {
			e.asThePublicManagerMade(name)
		}
	}
	before := e.allWarnings()
	e.sim.ResetRequests()
	mark := len(e.log.String())
	e.startManager()
	e.eventually(60*time.Second, "all Services are synced", func() error {
		if n := strings.Count(e.log.String()[mark:], "Ensured load balancer"); n < len(services)-1 {
			return fmt.Errorf("%d of %d", n, len(services)-1)
		}
		return nil
	})
	e.never(12*time.Second, "our manager in its place", func() error {
		if writes := e.writes(); len(writes) > 0 {
			return fmt.Errorf("writes %v", writes)
		}
		if now := e.allWarnings(); len(now) > len(before) {
			return fmt.Errorf("warnings %v", now[len(before):])
		}
		return nil
	})
}

// startBinary starts another manager in place of ours.
func (e *environment) startBinary(path string) {
	e.t.Helper()
	m, err := sandbox.StartManager(e.ctx, sandbox.ManagerOptions{Binary: path, Kubeconfig: e.kubeconfig, Env: e.env(), Log: &e.log})
	if err != nil {
		e.t.Fatal(err)
	}
	e.manager = m
	e.t.Cleanup(func() { _ = m.Kill() })
}

// asThePublicManagerMade takes from a Service and its load balancer what the
// public manager doesn't know: the version of the defaults, the Service's tag,
// and the mode of addresses, which the API server then fills in.
func (e *environment) asThePublicManagerMade(name string) {
	e.t.Helper()
	svc, err := e.service(name)
	if err != nil {
		e.t.Fatal(err)
	}
	if id := svc.Annotations[idAnnotation]; id != "" {
		e.byHand(id, func(lb *simulator.LoadBalancer) {
			lb.Tags = slices.DeleteFunc(lb.Tags, func(tag string) bool { return strings.HasPrefix(tag, "k8s-svc:") })
		})
	}
	e.patchService(name, `{"metadata":{"annotations":{"`+versionAnnotation+`":null}}}`)
	if len(svc.Status.LoadBalancer.Ingress) == 0 {
		return
	}
	if name == "hostname" {
		svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{Hostname: "web.example.com"}}
	}
	e.vipOnly(name, svc.Status.LoadBalancer.Ingress)
}

// vipOnly writes a status as one that sets no modes does.
func (e *environment) vipOnly(name string, ingress []v1.LoadBalancerIngress) {
	e.t.Helper()
	svc, err := e.service(name)
	if err != nil {
		e.t.Fatal(err)
	}
	for i := range ingress {
		ingress[i].IPMode = nil
	}
	svc.Status.LoadBalancer.Ingress = ingress
	if _, err := e.kube.CoreV1().Services("default").UpdateStatus(e.ctx, svc, metav1.UpdateOptions{}); err != nil {
		e.t.Fatal(err)
	}
}

// allWarnings are the Warning events of anything but Nodes.
func (e *environment) allWarnings() []string {
	e.t.Helper()
	events, err := e.kube.CoreV1().Events(metav1.NamespaceAll).List(e.ctx, metav1.ListOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	var found []string
	for _, event := range events.Items {
		if event.Type == v1.EventTypeWarning && event.InvolvedObject.Kind != "Node" && !slices.Contains(others, event.Reason) {
			found = append(found, event.InvolvedObject.Name+" "+event.Reason+": "+event.Message)
		}
	}
	return found
}
