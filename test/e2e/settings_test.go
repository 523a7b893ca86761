package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
)

const planAnnotation = "kubernetes.digitalocean.com/load-balancer-plan"

// annotate sets an annotation of the prefix on a Service; "" removes it.
func (e *environment) annotate(service, suffix, value string) {
	e.t.Helper()
	text := fmt.Sprintf("%q", value)
	if value == "" {
		text = "null"
	}
	e.patchService(service, `{"metadata":{"annotations":{"`+prefix+suffix+`":`+text+`}}}`)
}

func TestAProjectActsAtCreationOnly(t *testing.T) {
	e, _ := startWithNode(t, nil)
	project := e.addProject()
	e.addService("web", annotated("project-id", project))
	_, lb := e.balanced("web")
	if lb.ProjectID != project {
		t.Errorf("made in project %s, want %s", lb.ProjectID, project)
	}
	e.byHand(lb.ID, func(lb *simulator.LoadBalancer) { lb.ProjectID = "" })
	e.annotate("web", "size-unit", "2")
	now := e.becomes(lb.ID, "two units", func(lb simulator.LoadBalancer) bool { return lb.SizeUnit == 2 })
	if now.ProjectID == project {
		t.Error("moved back")
	}
}

func TestCiphersComeAndGo(t *testing.T) {
	e, _ := startWithNode(t, nil)
	certificate := e.sim.AddCertificate(simulator.CertificateSpec{Name: "web"})
	e.addService("web", annotated("type", "REGIONAL", "certificate-name", certificate.Name, "tls-cipher-policy", "STRONG", "tls-ports", "80"))
	_, lb := e.balanced("web")
	if lb.TLSCipherPolicy != "STRONG" {
		t.Errorf("ciphers %s", lb.TLSCipherPolicy)
	}
	e.annotate("web", "tls-cipher-policy", "")
	isDefault := func(lb simulator.LoadBalancer) bool { return lb.TLSCipherPolicy == "DEFAULT" }
	e.becomes(lb.ID, "default ciphers", isDefault)

	e.annotate("web", "tls-cipher-policy", "STRONG")
	e.becomes(lb.ID, "strong ciphers", func(lb simulator.LoadBalancer) bool { return lb.TLSCipherPolicy == "STRONG" })
	e.stopManager()
	e.annotate("web", "tls-cipher-policy", "")
	e.startManager()
	e.becomes(lb.ID, "default ciphers, though nobody was there when the wish ended", isDefault)
}

func TestARetainedLoadBalancerIsTakenOverByItsID(t *testing.T) {
	e, droplet := startWithNode(t, nil, driftEvery("5s"))
	e.addService("web", annotated("retain-on-delete", "true"))
	e.mayWrite(removeDroplets, untagResources, addDroplets, tagResources, createTag)
	e.mayWarn("LoadBalancerFirstContact", "LoadBalancersOrphaned")
	_, lb := e.balanced("web")
	e.deleteService("web")
	e.event(40*time.Second, "web", "LoadBalancerRetained", lb.ID, lb.IP)
	e.eventually(30*time.Second, "the Service goes", e.gone("web"))
	if now := e.becomes(lb.ID, "no droplets", func(lb simulator.LoadBalancer) bool { return len(lb.DropletIDs) == 0 }); now.IP != lb.IP {
		t.Errorf("address %s, was %s", now.IP, lb.IP)
	}
	e.addService("other", func(svc *v1.Service) { svc.Annotations[idAnnotation] = lb.ID })
	e.becomes(lb.ID, "serves again", func(lb simulator.LoadBalancer) bool { return slices.Equal(lb.DropletIDs, []int{droplet.ID}) })
	svc, _ := e.balanced("other")
	if got := svc.Status.LoadBalancer.Ingress[0].IP; got != lb.IP {
		t.Errorf("address %s, want %s", got, lb.IP)
	}
}

func TestAServiceThatStopsBeingALoadBalancerKeepsIt(t *testing.T) {
	e, _ := startWithNode(t, nil)
	e.addService("web", annotated("retain-on-delete", "ture"))
	e.mayWarn("LoadBalancerConfigError", "SyncLoadBalancerFailed")
	e.event(30*time.Second, "web", "LoadBalancerConfigError", "retain-on-delete", "true or false")
	e.annotate("web", "retain-on-delete", "true")
	_, lb := e.balanced("web")
	e.annotate("web", "retain-on-delete", "yes")
	e.mayWrite(removeDroplets, untagResources, addDroplets)
	e.patchService("web", `{"spec":{"type":"ClusterIP"}}`)
	e.event(40*time.Second, "web", "LoadBalancerRetained", lb.ID)
	e.patchService("web", `{"spec":{"type":"LoadBalancer"},"metadata":{"annotations":{"`+prefix+`retain-on-delete":"true"}}}`)
	e.becomes(lb.ID, "serves again", func(lb simulator.LoadBalancer) bool { return len(lb.DropletIDs) == 1 })
}

func TestLabelsOfNodesChooseBackendsAtOnce(t *testing.T) {
	e, first := startWithNode(t, nil)
	second := e.addNode(simulator.DropletSpec{Name: "second"}, sandbox.NodeOptions{})
	e.eventually(30*time.Second, "second", e.initialized("second"))
	e.labelNode("second", "pool", "edge")
	e.addService("web", annotated("node-selector", "pool in (edge)"))
	e.mayWrite(addDroplets, removeDroplets, updateLB)
	_, lb := e.balanced("web")
	serves := func(what string, want ...int) {
		t.Helper()
		e.becomes(lb.ID, what, func(lb simulator.LoadBalancer) bool {
			return slices.Equal(slices.Sorted(slices.Values(lb.DropletIDs)), slices.Sorted(slices.Values(want)))
		})
	}
	serves("the selected Node", second.ID)
	e.labelNode(first.Name, "pool", "edge")
	serves("both", first.ID, second.ID)
	e.labelNode("second", "pool", "web")
	serves("the other", first.ID)
	e.mayWarn("LoadBalancerConfigError", "SyncLoadBalancerFailed", "NoEligibleBackends")
	e.labelNode(first.Name, "pool", "web")
	e.event(30*time.Second, "web", "LoadBalancerConfigError", "node-selector", "allow-empty-backends")
	serves("the last one stays", first.ID)
	e.annotate("web", "allow-empty-backends", "true")
	serves("none")
}

func TestModeAndAccessOfTheClustersNodes(t *testing.T) {
	e, _ := startWithNode(t, nil)
	e.addService("web", annotated("type", "REGIONAL", "protocol", "http", "ip-mode", "VIP", "allow-rules", "cidr:198.51.100.0/24", "allow-cluster-nodes", "true"))
	svc, lb := e.balanced("web")
	if mode := svc.Status.LoadBalancer.Ingress[0].IPMode; mode == nil || *mode != v1.LoadBalancerIPModeVIP {
		t.Errorf("mode %v", mode)
	}
	if n := len(lb.Firewall.Allow); n != 2 {
		t.Errorf("allowed %v", lb.Firewall.Allow)
	}
	e.mayWrite(updateLB)
	e.addNode(simulator.DropletSpec{Name: "late"}, sandbox.NodeOptions{})
	e.becomes(lb.ID, "the new Node may come in", func(lb simulator.LoadBalancer) bool { return len(lb.Firewall.Allow) == 3 })
	e.annotate("web", "ip-mode", "")
	e.eventually(30*time.Second, "mode Proxy", func() error {
		svc, err := e.service("web")
		if err == nil && *svc.Status.LoadBalancer.Ingress[0].IPMode != v1.LoadBalancerIPModeProxy {
			err = fmt.Errorf("status %v", svc.Status.LoadBalancer)
		}
		return err
	})
}

func TestTerraformsLoadBalancerGetsBackendsAndNothingElse(t *testing.T) {
	e, droplet := startWithNode(t, nil, driftEvery("5s"))
	theirs := e.sim.AddDroplet(simulator.DropletSpec{Name: "theirs"})
	made, _, err := e.client().LoadBalancers.Create(e.ctx, &godo.LoadBalancerRequest{
		Name: "terraform", Type: "REGIONAL", Region: "nyc3", SizeUnit: 2, DropletIDs: []int{theirs.ID},
		ForwardingRules: []godo.ForwardingRule{{EntryProtocol: "http", EntryPort: 8080, TargetProtocol: "http", TargetPort: 30080}},
	})
	if err != nil {
		t.Fatal(err)
	}
	e.eventually(30*time.Second, "active", func() error {
		if lb, err := e.loadBalancer(made.ID); err != nil || lb.Status != "active" {
			return fmt.Errorf("status %q, %v", lb.Status, err)
		}
		return nil
	})
	before, _ := e.loadBalancer(made.ID)
	e.mayWrite(addDroplets, removeDroplets, createTag, tagResources)
	e.mayWarn("LoadBalancerFirstContact")
	e.addService("web", func(svc *v1.Service) {
		svc.Annotations[idAnnotation] = made.ID
		svc.Annotations[prefix+"manage"] = "backends"
	})
	now := e.becomes(made.ID, "the cluster's droplet", func(lb simulator.LoadBalancer) bool { return slices.Contains(lb.DropletIDs, droplet.ID) })
	now.DropletIDs, now.Tags, before.Tags = before.DropletIDs, nil, nil
	if diff := cmp.Diff(before, now); diff != "" {
		t.Errorf("more than the droplets changed: %s", diff)
	}
	e.deleteService("web")
	e.eventually(40*time.Second, "the Service goes", e.gone("web"))
	e.becomes(made.ID, "Terraform's droplet alone", func(lb simulator.LoadBalancer) bool { return slices.Equal(lb.DropletIDs, []int{theirs.ID}) })
}

func TestDriftIsReportedAndLeft(t *testing.T) {
	e, _ := startWithNode(t, []simulator.Option{simulator.WithResizeInterval(0)}, driftEvery("5s"))
	e.addService("web", annotated("drift", "report"))
	e.mayWarn("LoadBalancerDrift")
	_, lb := e.balanced("web")
	lb = e.unmarked(lb.ID)
	e.byHand(lb.ID, func(lb *simulator.LoadBalancer) { lb.SizeUnit = 3 })
	e.event(lag+30*time.Second, "web", "LoadBalancerDrift", "left as it is", "size unit 3 -> 1")
	e.never(12*time.Second, "put back", func() error {
		now, err := e.loadBalancer(lb.ID)
		if err == nil && now.SizeUnit != 3 {
			err = fmt.Errorf("size unit %d", now.SizeUnit)
		}
		return err
	})
	e.annotate("web", "drift", "revert")
	e.becomes(lb.ID, "put back", func(lb simulator.LoadBalancer) bool { return lb.SizeUnit == 1 })
}

func TestADryRunWritesAPlanAndNothingElse(t *testing.T) {
	e, _ := startWithNode(t, nil)
	e.sim.ResetRequests()
	e.addService("web", annotated("dry-run", "true"))
	e.event(30*time.Second, "web", "LoadBalancerPlan", "create load balancer")
	var svc *v1.Service
	e.eventually(20*time.Second, "plan", func() (err error) {
		if svc, err = e.service("web"); err == nil && !strings.Contains(svc.Annotations[planAnnotation], "forwarding rule tcp:80->tcp:80") {
			err = fmt.Errorf("annotations %v", svc.Annotations)
		}
		return err
	})
	if writes := e.writes(); len(writes) > 0 || svc.Annotations[idAnnotation] != "" || len(svc.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("writes %v, Service %+v", writes, svc)
	}
	e.annotate("web", "dry-run", "")
	e.balanced("web")
	e.eventually(20*time.Second, "the plan goes", func() error {
		svc, err := e.service("web")
		if err == nil && svc.Annotations[planAnnotation] != "" {
			err = fmt.Errorf("annotations %v", svc.Annotations)
		}
		return err
	})
}
