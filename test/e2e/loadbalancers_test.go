package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
)

// prefix of most annotations.
const prefix = "service.beta.kubernetes.io/do-loadbalancer-"

// annotated sets annotations of the prefix.
func annotated(pairs ...string) func(*v1.Service) {
	return func(svc *v1.Service) {
		for i := 0; i < len(pairs); i += 2 {
			svc.Annotations[prefix+pairs[i]] = pairs[i+1]
		}
	}
}

// becomes waits until the load balancer is as check wants it.
func (e *environment) becomes(id, what string, check func(simulator.LoadBalancer) bool) simulator.LoadBalancer {
	e.t.Helper()
	var now simulator.LoadBalancer
	e.eventually(40*time.Second, what, func() (err error) {
		if now, err = e.loadBalancer(id); err == nil && !check(now) {
			err = fmt.Errorf("it is %+v", now)
		}
		return err
	})
	return now
}

// warnings are the reasons of Warning events on an object.
func (e *environment) warnings(object string) []string {
	e.t.Helper()
	list, err := e.kube.CoreV1().Events(metav1.NamespaceAll).List(e.ctx, metav1.ListOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	var reasons []string
	for _, event := range list.Items {
		if event.InvolvedObject.Name == object && event.Type == v1.EventTypeWarning {
			reasons = append(reasons, event.Reason+": "+event.Message)
		}
	}
	return reasons
}

func TestWaitingForALoadBalancerIsNoWarning(t *testing.T) {
	e, _ := startWithNode(t, []simulator.Option{simulator.WithLoadBalancerActivation(12 * time.Second)})
	e.sim.ResetRequests()
	e.addService("web", nil)
	e.balanced("web")
	if warnings := e.warnings("web"); len(warnings) > 0 {
		t.Errorf("warnings: %q", warnings)
	}
	if diff := cmp.Diff([]string{"POST /v2/load_balancers 202"}, e.writes()); diff != "" {
		t.Errorf("writes: %s", diff)
	}
	if reads := len(e.sim.Requests()) - 1; reads > 6 {
		t.Errorf("%d reads while it was made", reads)
	}
}

func TestNodesThatJoinTogetherAreOneWrite(t *testing.T) {
	e, _ := startWithNode(t, nil)
	e.addService("web", nil)
	_, lb := e.balanced("web")
	e.sim.ResetRequests()
	for i := range 8 {
		e.addNode(simulator.DropletSpec{Name: fmt.Sprint("late-", i)}, sandbox.NodeOptions{})
	}
	e.becomes(lb.ID, "nine droplets", func(lb simulator.LoadBalancer) bool { return len(lb.DropletIDs) == 9 })
	if writes := e.writes(); len(writes) > 2 {
		t.Errorf("%d writes for nodes that join together: %v", len(writes), writes)
	}
	for _, r := range e.sim.Requests() {
		if r.Method == "GET" && strings.HasPrefix(r.Path, "/v2/load_balancers") {
			t.Errorf("%s %s: a node that joins needs no look at the load balancer", r.Method, r.Path)
		}
	}
}

func TestBackendsFollowWhileTheServiceIsInvalid(t *testing.T) {
	e, first := startWithNode(t, nil)
	e.addService("web", annotated("type", "REGIONAL"))
	_, lb := e.balanced("web")
	e.patchService("web", `{"metadata":{"annotations":{"`+prefix+`protocol":"htttp"}}}`)
	e.event(30*time.Second, "web", "LoadBalancerConfigError", prefix+`protocol: "htttp"`, "tcp")
	second := e.addNode(simulator.DropletSpec{Name: "w2"}, sandbox.NodeOptions{})
	now := e.becomes(lb.ID, "the new node serves", func(lb simulator.LoadBalancer) bool { return slices.Contains(lb.DropletIDs, second.ID) })
	if !slices.Contains(now.DropletIDs, first.ID) || !cmp.Equal(now.ForwardingRules, lb.ForwardingRules) {
		t.Errorf("more than the droplets changed: %+v", now)
	}
}

func TestAnnotationsComeAndGo(t *testing.T) {
	e, _ := startWithNode(t, []simulator.Option{simulator.WithResizeInterval(0)})
	e.addService("web", annotated("type", "REGIONAL"))
	_, before := e.balanced("web")
	e.patchService("web", `{"metadata":{"annotations":{
		"`+prefix+`http-idle-timeout-seconds":"120","`+prefix+`enable-proxy-protocol":"true","`+prefix+`size-unit":"3",
		"`+prefix+`healthcheck-check-interval-seconds":"7","`+prefix+`deny-rules":"ip:203.0.113.9"}}}`)
	set := e.becomes(before.ID, "settings", func(lb simulator.LoadBalancer) bool { return lb.SizeUnit == 3 })
	if !set.EnableProxyProtocol || set.HTTPIdleTimeoutSeconds != 120 || set.HealthCheck.CheckIntervalSeconds != 7 ||
		!cmp.Equal(set.Firewall.Deny, []string{"ip:203.0.113.9"}) {
		t.Errorf("load balancer %+v", set)
	}
	e.event(20*time.Second, "web", "LoadBalancerUpdated", "size unit 1 -> 3")
	svc, err := e.service("web")
	if err != nil {
		t.Fatal(err)
	}
	e.eventually(20*time.Second, "the mode for the PROXY protocol", func() error {
		if svc, err = e.service("web"); err != nil {
			return err
		}
		if mode := svc.Status.LoadBalancer.Ingress[0].IPMode; mode == nil || *mode != v1.LoadBalancerIPModeProxy {
			return fmt.Errorf("status %+v", svc.Status.LoadBalancer)
		}
		return nil
	})

	e.sim.ResetRequests()
	e.patchService("web", `{"metadata":{"annotations":{
		"`+prefix+`http-idle-timeout-seconds":null,"`+prefix+`enable-proxy-protocol":null,"`+prefix+`size-unit":null,
		"`+prefix+`healthcheck-check-interval-seconds":null,"`+prefix+`deny-rules":null}}}`)
	after := e.becomes(before.ID, "defaults", func(lb simulator.LoadBalancer) bool { return lb.SizeUnit == 1 })
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("not as before: %s", diff)
	}
	if diff := cmp.Diff([]string{"PUT /v2/load_balancers/" + before.ID + " 200"}, e.writes()); diff != "" {
		t.Errorf("writes: %s", diff)
	}
}

func TestARefusedResizeDoesNotHoldUpTheRest(t *testing.T) {
	e, _ := startWithNode(t, []simulator.Option{simulator.WithResizeInterval(time.Hour)})
	e.addService("web", annotated("type", "REGIONAL"))
	_, lb := e.balanced("web")
	e.patchService("web", `{"metadata":{"annotations":{"`+prefix+`size-unit":"2"}}}`)
	e.becomes(lb.ID, "the first resize", func(lb simulator.LoadBalancer) bool { return lb.SizeUnit == 2 })
	e.patchService("web", `{"metadata":{"annotations":{"`+prefix+`size-unit":"3","`+prefix+`http-idle-timeout-seconds":"90"}}}`)
	e.becomes(lb.ID, "idle timeout", func(lb simulator.LoadBalancer) bool { return lb.HTTPIdleTimeoutSeconds == 90 && lb.SizeUnit == 2 })
	e.event(20*time.Second, "web", "LoadBalancerResizeRefused", "2 -> 3")
}

func TestARenewedCertificateIsFollowed(t *testing.T) {
	e, _ := startWithNode(t, nil)
	e.mayWarn("AnnotationWarning")
	cert := e.sim.AddCertificate(simulator.CertificateSpec{Name: "site", Type: "lets_encrypt", Team: team})
	e.addService("by-id", annotated("type", "REGIONAL", "protocol", "https", "certificate-id", cert.ID))
	e.addService("by-name", annotated("type", "REGIONAL", "protocol", "https", "certificate-name", "site"))
	_, byID := e.balanced("by-id")
	_, byName := e.balanced("by-name")
	renewed, err := e.sim.RotateCertificate(cert.ID)
	if err != nil {
		t.Fatal(err)
	}
	e.sim.ResetRequests()
	// A restart looks at everything anew.
	e.stopManager()
	e.startManager()
	e.event(40*time.Second, "by-id", "CertificateRenewed", cert.ID, renewed.ID)
	svc, err := e.service("by-id")
	if err != nil || svc.Annotations[prefix+"certificate-id"] != renewed.ID {
		t.Errorf("the annotation is %q (%v), want %s", svc.Annotations[prefix+"certificate-id"], err, renewed.ID)
	}
	for _, lb := range []simulator.LoadBalancer{byID, byName} {
		now, err := e.loadBalancer(lb.ID)
		if err != nil || now.ForwardingRules[0].CertificateID != renewed.ID {
			t.Errorf("rules %+v (%v)", now.ForwardingRules, err)
		}
	}
	if writes := e.writes(); len(writes) > 0 {
		t.Errorf("writes: %v", writes)
	}
}

func TestAnErroredLoadBalancerIsMadeAgain(t *testing.T) {
	e, _ := startWithNode(t, []simulator.Option{simulator.WithLoadBalancerActivation(8 * time.Second)})
	e.mayWrite(deleteLB)
	e.addService("web", nil)
	var first string
	e.eventually(20*time.Second, "creation", func() error {
		all := e.sim.LoadBalancers()
		if len(all) == 0 {
			return fmt.Errorf("none")
		}
		first = all[0].ID
		return nil
	})
	if err := e.sim.EditLoadBalancer(first, func(lb *simulator.LoadBalancer) { lb.Status = "errored" }); err != nil {
		t.Fatal(err)
	}
	e.event(30*time.Second, "web", "LoadBalancerErrored", first)
	if _, lb := e.balanced("web"); lb.ID == first {
		t.Error("it is still the errored one")
	}
	if n := len(e.sim.LoadBalancers()); n != 1 {
		t.Errorf("%d load balancers, want 1", n)
	}
}

func TestLostMarksAreMadeUpForByTheAddress(t *testing.T) {
	e, _ := startWithNode(t, nil)
	e.addService("web", nil)
	_, lb := e.balanced("web")
	e.stopManager()
	if err := e.sim.EditLoadBalancer(lb.ID, func(lb *simulator.LoadBalancer) {
		lb.Name, lb.Tags = "renamed", slices.DeleteFunc(lb.Tags, func(tag string) bool { return strings.HasPrefix(tag, "k8s-svc:") })
	}); err != nil {
		t.Fatal(err)
	}
	e.patchService("web", `{"metadata":{"annotations":{"`+idAnnotation+`":null}}}`)
	e.sim.ResetRequests()
	e.startManager()
	if svc, _ := e.balanced("web"); svc.Annotations[idAnnotation] != lb.ID {
		t.Errorf("id %q, want %s", svc.Annotations[idAnnotation], lb.ID)
	}
	for _, write := range e.writes() {
		if strings.HasPrefix(write, "POST /v2/load_balancers ") {
			t.Errorf("%s: another load balancer was made", write)
		}
	}
}
