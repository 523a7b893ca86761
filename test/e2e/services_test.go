package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
)

const (
	idAnnotation   = "kubernetes.digitalocean.com/load-balancer-id"
	typeAnnotation = "service.beta.kubernetes.io/do-loadbalancer-type"
	finalizer      = "service.kubernetes.io/load-balancer-cleanup"
)

// addService makes a LoadBalancer Service for port 80 after edit.
func (e *environment) addService(name string, edit func(*v1.Service)) *v1.Service {
	e.t.Helper()
	e.mayWrite(createLB)
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Annotations: map[string]string{}},
		Spec: v1.ServiceSpec{
			Type:     v1.ServiceTypeLoadBalancer,
			Selector: map[string]string{"app": name},
			Ports:    []v1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080), Protocol: v1.ProtocolTCP}},
		},
	}
	if edit != nil {
		edit(svc)
	}
	created, err := e.kube.CoreV1().Services("default").Create(e.ctx, svc, metav1.CreateOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	return created
}

func (e *environment) service(name string) (*v1.Service, error) {
	return e.kube.CoreV1().Services("default").Get(e.ctx, name, metav1.GetOptions{})
}

// startWithNode starts everything, with one Node that is initialised.
func startWithNode(t *testing.T, simulated []simulator.Option, options ...option) (*environment, simulator.Droplet) {
	t.Helper()
	e := start(t, simulated, options...)
	droplet := e.addNode(simulator.DropletSpec{Name: "w"}, sandbox.NodeOptions{})
	e.eventually(30*time.Second, "w", e.initialized("w"))
	return e, droplet
}

// balanced waits until the Service has its load balancer's address, and
// returns both.
func (e *environment) balanced(name string) (*v1.Service, simulator.LoadBalancer) {
	e.t.Helper()
	var svc *v1.Service
	var lb simulator.LoadBalancer
	e.eventually(60*time.Second, "address of Service "+name, func() error {
		var err error
		if svc, err = e.service(name); err != nil {
			return err
		}
		if lb, err = e.loadBalancer(svc.Annotations[idAnnotation]); err != nil {
			return err
		}
		if len(svc.Status.LoadBalancer.Ingress) == 0 {
			return errors.New("no ingress")
		}
		return nil
	})
	return svc, lb
}

func (e *environment) loadBalancer(id string) (simulator.LoadBalancer, error) {
	for _, lb := range e.sim.LoadBalancers() {
		if lb.ID == id {
			return lb, nil
		}
	}
	return simulator.LoadBalancer{}, fmt.Errorf("no load balancer %q among %d", id, len(e.sim.LoadBalancers()))
}

func (e *environment) patchService(name, patch string) {
	e.t.Helper()
	e.mayWrite(updateLB)
	if _, err := e.kube.CoreV1().Services("default").Patch(e.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		e.t.Fatal(err)
	}
}

func (e *environment) deleteService(name string) {
	e.t.Helper()
	e.mayWrite(deleteLB)
	if err := e.kube.CoreV1().Services("default").Delete(e.ctx, name, metav1.DeleteOptions{}); err != nil {
		e.t.Fatal(err)
	}
}

func (e *environment) gone(name string) func() error {
	return func() error {
		if _, err := e.service(name); !apierrors.IsNotFound(err) {
			return fmt.Errorf("Service still there (%v)", err)
		}
		return nil
	}
}

func TestLoadBalancerFromCreationToDeletion(t *testing.T) {
	e := start(t, []simulator.Option{simulator.WithLoadBalancerActivation(3 * time.Second)})
	var ids []int
	for _, name := range []string{"w1", "w2"} {
		ids = append(ids, e.addNode(simulator.DropletSpec{Name: name}, sandbox.NodeOptions{}).ID)
		e.eventually(30*time.Second, name, e.initialized(name))
	}
	created := e.addService("web", nil)
	svc, lb := e.balanced("web")

	if diff := cmp.Diff([]string{"POST /v2/load_balancers 202"}, e.writes()); diff != "" {
		t.Errorf("writes: %s", diff)
	}
	if !cmp.Equal(svc.Finalizers, []string{finalizer}) {
		t.Errorf("finalizers %v", svc.Finalizers)
	}
	if got := svc.Annotations[typeAnnotation]; got != "REGIONAL_NETWORK" {
		t.Errorf("type annotation %q", got)
	}
	ingress := svc.Status.LoadBalancer.Ingress
	if len(ingress) != 1 || ingress[0].IP != lb.IP || ingress[0].IPMode == nil || *ingress[0].IPMode != v1.LoadBalancerIPModeVIP {
		t.Errorf("status %+v, want %s with mode VIP", ingress, lb.IP)
	}
	if want := "a" + strings.ReplaceAll(string(created.UID), "-", "")[:31]; lb.Name != want {
		t.Errorf("name %q, want %q", lb.Name, want)
	}
	if lb.Region.Slug != "nyc3" || lb.Type != "REGIONAL_NETWORK" || lb.Network != "EXTERNAL" || lb.SizeUnit != 1 {
		t.Errorf("load balancer %+v", lb)
	}
	wantRules := []simulator.ForwardingRule{{EntryProtocol: "tcp", EntryPort: 80, TargetProtocol: "tcp", TargetPort: 80}}
	if diff := cmp.Diff(wantRules, lb.ForwardingRules); diff != "" {
		t.Errorf("rules: %s", diff)
	}
	if h := lb.HealthCheck; h.Protocol != "http" || h.Port != 10256 || h.Path != "/healthz" || h.CheckIntervalSeconds != 3 {
		t.Errorf("health check %+v", h)
	}
	if !cmp.Equal(sorted(lb.DropletIDs), sorted(ids)) {
		t.Errorf("droplets %v, want %v", lb.DropletIDs, ids)
	}
	if want := []string{"k8s:" + clusterID, "k8s-svc:" + string(created.UID)}; !cmp.Equal(lb.Tags, want) {
		t.Errorf("tags %v, want %v", lb.Tags, want)
	}
	e.event(20*time.Second, "web", "LoadBalancerCreated", lb.ID)

	e.sim.ResetRequests()
	e.deleteService("web")
	e.eventually(30*time.Second, "deletion", e.gone("web"))
	if diff := cmp.Diff([]string{"DELETE /v2/load_balancers/" + lb.ID + " 204"}, e.writes()); diff != "" {
		t.Errorf("writes of the deletion: %s", diff)
	}
	if n := len(e.sim.LoadBalancers()); n != 0 {
		t.Errorf("%d load balancers are left", n)
	}
}

func sorted(ids []int) []int {
	s := append([]int(nil), ids...)
	for i := range s {
		for j := i; j > 0 && s[j] < s[j-1]; j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
	return s
}

func TestServiceChangesReachTheLoadBalancer(t *testing.T) {
	e, _ := startWithNode(t, nil)
	e.mayWrite(removeDroplets)
	e.addService("web", nil)
	_, lb := e.balanced("web")
	e.sim.ResetRequests()

	e.patchService("web", `{"spec":{"ports":[{"name":"http","port":80,"targetPort":8080},{"name":"alt","port":8081,"targetPort":8080}]}}`)
	e.eventually(20*time.Second, "second port", func() error {
		now, err := e.loadBalancer(lb.ID)
		if err == nil && len(now.ForwardingRules) != 2 {
			err = fmt.Errorf("rules %v", now.ForwardingRules)
		}
		return err
	})
	e.event(20*time.Second, "web", "LoadBalancerUpdated", "+tcp:8081->tcp:8081")

	second := e.addNode(simulator.DropletSpec{Name: "w2"}, sandbox.NodeOptions{})
	e.eventually(30*time.Second, "second droplet", func() error {
		now, err := e.loadBalancer(lb.ID)
		if err == nil && len(now.DropletIDs) != 2 {
			err = fmt.Errorf("droplets %v", now.DropletIDs)
		}
		return err
	})
	if err := e.kube.CoreV1().Nodes().Delete(e.ctx, "w", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.eventually(30*time.Second, "first droplet leaves", func() error {
		now, err := e.loadBalancer(lb.ID)
		if err == nil && !cmp.Equal(now.DropletIDs, []int{second.ID}) {
			err = fmt.Errorf("droplets %v", now.DropletIDs)
		}
		return err
	})
	want := []string{
		"PUT /v2/load_balancers/" + lb.ID + " 200",
		"POST /v2/load_balancers/" + lb.ID + "/droplets 204",
		"DELETE /v2/load_balancers/" + lb.ID + "/droplets 204",
	}
	if diff := cmp.Diff(want, e.writes()); diff != "" {
		t.Errorf("writes: %s", diff)
	}
}

func TestRestartWritesNothing(t *testing.T) {
	e := start(t, nil)
	for i := range 3 {
		name := fmt.Sprint("w", i)
		e.addNode(simulator.DropletSpec{Name: name}, sandbox.NodeOptions{})
		e.eventually(30*time.Second, name, e.initialized(name))
	}
	for _, name := range []string{"a", "b", "c"} {
		e.addService(name, nil)
		e.balanced(name)
	}
	e.stopManager()
	e.sim.ResetRequests()
	mark := len(e.log.String())
	e.startManager()
	e.eventually(30*time.Second, "the new manager has synced the Services", func() error {
		if n := strings.Count(e.log.String()[mark:], `Ensured load balancer`); n < 3 {
			return fmt.Errorf("%d of 3", n)
		}
		return nil
	})
	if writes := e.writes(); len(writes) > 0 {
		t.Errorf("writes of a restart: %v", writes)
	}
}

func TestLoadBalancerIsFoundAgainAfterACrash(t *testing.T) {
	tests := map[string]struct {
		fault simulator.Fault
	}{
		"the answer to the creation is lost": {simulator.Fault{Method: "POST", Path: "/v2/load_balancers", Count: 1, AfterActing: true, Reset: true}},
		"the creation fails with an effect":  {simulator.Fault{Method: "POST", Path: "/v2/load_balancers", Count: 1, AfterActing: true, Status: 500}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e, _ := startWithNode(t, nil)
			e.sim.AddFault(test.fault)
			e.addService("web", nil)
			e.eventually(20*time.Second, "creation", func() error {
				if len(e.sim.LoadBalancers()) == 0 {
					return errors.New("no load balancer")
				}
				return nil
			})
			e.killManager()
			e.startManager()
			e.balanced("web")
			if n := len(e.sim.LoadBalancers()); n != 1 {
				t.Errorf("%d load balancers, want 1", n)
			}
		})
	}
}

func TestServiceIsDeletedWhileTheManagerIsAway(t *testing.T) {
	e, _ := startWithNode(t, nil)
	e.addService("web", nil)
	e.balanced("web")
	e.stopManager()
	e.deleteService("web")
	e.sim.ResetRequests()
	fault := e.sim.AddFault(simulator.Fault{Method: "DELETE", Status: 500})
	e.startManager()
	e.never(8*time.Second, "finalizer while the API fails", func() error {
		svc, err := e.service("web")
		if err == nil && !cmp.Equal(svc.Finalizers, []string{finalizer}) {
			err = fmt.Errorf("finalizers %v", svc.Finalizers)
		}
		return err
	})
	e.sim.RemoveFault(fault)
	e.eventually(60*time.Second, "deletion", e.gone("web"))
	if n := len(e.sim.LoadBalancers()); n != 0 {
		t.Errorf("%d load balancers are left", n)
	}
}

func TestLoadBalancerDeletedByHandDoesNotHoldTheServiceUp(t *testing.T) {
	e, _ := startWithNode(t, nil)
	e.addService("web", nil)
	_, lb := e.balanced("web")
	e.deleteByHand(lb.ID)
	e.sim.ResetRequests()
	e.deleteService("web")
	e.eventually(30*time.Second, "deletion", e.gone("web"))
	if writes := e.writes(); len(writes) > 0 {
		t.Errorf("writes: %v", writes)
	}
}

func TestAnotherTeamsTokenDoesNotDropTheFinalizer(t *testing.T) {
	const foreign = "dop_v1_ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
	file := writeToken(t, token)
	e, _ := startWithNode(t, []simulator.Option{simulator.WithToken(foreign, "team-b")}, variable("DO_ACCESS_TOKEN", ""), variable("DO_ACCESS_TOKEN_FILE", file))
	e.addService("web", nil)
	e.balanced("web")
	replaceToken(t, file, foreign)
	time.Sleep(3 * time.Second)
	e.deleteService("web")
	e.never(12*time.Second, "finalizer with another team's token", func() error {
		_, err := e.service("web")
		return err
	})
	replaceToken(t, file, token)
	e.eventually(60*time.Second, "deletion with the right token", e.gone("web"))
	if n := len(e.sim.LoadBalancers()); n != 0 {
		t.Errorf("%d load balancers are left", n)
	}
}

func TestBadServicesAreToldAndHealWhenEdited(t *testing.T) {
	e, _ := startWithNode(t, nil)
	e.addService("bad", func(svc *v1.Service) {
		svc.Annotations["service.beta.kubernetes.io/do-loadbalancer-size-unit"] = "many"
		svc.Annotations["service.beta.kubernetes.io/do-loadbalancer-network"] = "PUBLIC"
		svc.Spec.Ports[0].Protocol = v1.ProtocolSCTP
	})
	e.event(20*time.Second, "bad", "LoadBalancerConfigError",
		`do-loadbalancer-size-unit: "many"`, "from 1 to 200", `do-loadbalancer-network: "PUBLIC"`, "EXTERNAL or INTERNAL", `spec.ports[0].protocol: "SCTP"`, "TCP or UDP")
	if n := len(e.writes()); n != 0 {
		t.Errorf("%d writes for a Service that can't be", n)
	}
	e.patchService("bad", `{"metadata":{"annotations":{"service.beta.kubernetes.io/do-loadbalancer-size-unit":"2","service.beta.kubernetes.io/do-loadbalancer-network":null}},
		"spec":{"ports":[{"name":"http","port":80,"protocol":"TCP"}]}}`)
	_, lb := e.balanced("bad")
	if lb.SizeUnit != 2 {
		t.Errorf("size unit %d, want 2", lb.SizeUnit)
	}
}

func TestLoadBalancerWithoutBackendsIsExplained(t *testing.T) {
	e := start(t, nil)
	e.addNode(simulator.DropletSpec{Name: "private", NoPublicIPv4: true}, sandbox.NodeOptions{})
	e.eventually(30*time.Second, "private", e.initialized("private"))
	e.addService("web", nil)
	e.event(30*time.Second, "web", "NoEligibleBackends", "private", "no public IPv4 address")
}

// deleteByHand deletes a load balancer with another client's request.
func (e *environment) deleteByHand(id string) {
	e.t.Helper()
	resp, err := request(e.ctx, "DELETE", e.api.URL()+"/v2/load_balancers/"+id, token)
	if err != nil || resp.StatusCode != 204 {
		e.t.Fatalf("delete by hand: %v %v", resp, err)
	}
}

func TestAnnotationIsWrittenWithTheTypeInOnePatch(t *testing.T) {
	e, _ := startWithNode(t, nil, variable("DEFAULT_LB_TYPE", "REGIONAL"))
	e.addService("web", nil)
	svc, lb := e.balanced("web")
	if svc.Annotations[typeAnnotation] != "REGIONAL" || lb.Type != "REGIONAL" {
		text, _ := json.Marshal(svc.Annotations)
		t.Errorf("annotations %s, load balancer of type %s", text, lb.Type)
	}
	if want := int(svc.Spec.Ports[0].NodePort); lb.ForwardingRules[0].TargetPort != want {
		t.Errorf("target port %d, want the node port %d", lb.ForwardingRules[0].TargetPort, want)
	}
	if n := len(svc.Status.LoadBalancer.Ingress); n != 2 {
		t.Errorf("%d addresses in the status, want an IPv4 and an IPv6 one: %+v", n, svc.Status.LoadBalancer.Ingress)
	}
}

func TestRefusedTokenIsToldOnTheServiceAndTriedOnceAMinute(t *testing.T) {
	e, _ := startWithNode(t, nil)
	e.mayWarn("TokenRefused", "LoadBalancerRequestFailed")
	e.sim.RejectTokens(true)
	e.sim.ResetRequests()
	e.addService("web", nil)
	e.event(30*time.Second, "web", "LoadBalancerRequestFailed", "refuses", "token")
	time.Sleep(20 * time.Second)
	if n := len(e.sim.Requests()); n > 2 {
		t.Errorf("%d calls with a refused token in half a minute", n)
	}
}

func TestDropletThatDiesWhileTheLoadBalancerIsMadeIsLeftOut(t *testing.T) {
	e := start(t, []simulator.Option{simulator.WithLoadBalancerActivation(4 * time.Second)})
	var droplets []simulator.Droplet
	for _, name := range []string{"w1", "w2"} {
		droplets = append(droplets, e.addNode(simulator.DropletSpec{Name: name}, sandbox.NodeOptions{}))
		e.eventually(30*time.Second, name, e.initialized(name))
	}
	if err := e.sim.DeleteDroplet(droplets[0].ID); err != nil {
		t.Fatal(err)
	}
	e.addService("web", nil)
	if _, lb := e.balanced("web"); !cmp.Equal(lb.DropletIDs, []int{droplets[1].ID}) {
		t.Errorf("droplets %v, want %d alone", lb.DropletIDs, droplets[1].ID)
	}
}

func TestAServiceCanNotTakeAnothersLoadBalancer(t *testing.T) {
	e, _ := startWithNode(t, nil)
	e.addService("victim", nil)
	_, victim := e.balanced("victim")
	e.addService("rival", nil)
	_, rival := e.balanced("rival")
	e.sim.ResetRequests()

	// A new Service names the id, and one that has its own changes to it.
	e.addService("thief", func(svc *v1.Service) {
		svc.Annotations[idAnnotation] = victim.ID
		svc.Spec.Ports[0].Port = 9999
	})
	e.patchService("rival", `{"metadata":{"annotations":{"`+idAnnotation+`":"`+victim.ID+`"}}}`)
	e.event(30*time.Second, "thief", "LoadBalancerNotOwned", victim.ID, "default/victim")
	e.deleteService("thief")
	e.eventually(30*time.Second, "deletion", e.gone("thief"))
	e.deleteService("rival")
	e.eventually(30*time.Second, "deletion", e.gone("rival"))

	now, err := e.loadBalancer(victim.ID)
	if err != nil || now.Name != victim.Name || !cmp.Equal(now.ForwardingRules, victim.ForwardingRules) {
		t.Errorf("the victim's load balancer is %+v (%v)", now, err)
	}
	if diff := cmp.Diff([]string{"DELETE /v2/load_balancers/" + rival.ID + " 204"}, e.writes()); diff != "" {
		t.Errorf("writes: %s", diff)
	}
}

func TestLoadBalancerIsFoundByItsMarkWhateverItsName(t *testing.T) {
	e, _ := startWithNode(t, nil)
	e.addService("web", func(svc *v1.Service) {
		svc.Annotations["service.beta.kubernetes.io/do-loadbalancer-name"] = "web"
	})
	_, lb := e.balanced("web")
	e.stopManager()
	e.patchService("web", `{"metadata":{"annotations":{"service.beta.kubernetes.io/do-loadbalancer-name":"other","`+idAnnotation+`":null}}}`)
	e.startManager()
	e.eventually(60*time.Second, "rename", func() error {
		now, err := e.loadBalancer(lb.ID)
		if err == nil && now.Name != "other" {
			err = fmt.Errorf("its name is %s", now.Name)
		}
		return err
	})
	if n := len(e.sim.LoadBalancers()); n != 1 {
		t.Errorf("%d load balancers, want 1", n)
	}
}

func TestTypeThereAndBackAgainIsNoLoss(t *testing.T) {
	e, _ := startWithNode(t, nil)
	e.mayWrite(deleteLB)
	e.addService("web", nil)
	_, first := e.balanced("web")
	e.patchService("web", `{"spec":{"type":"ClusterIP"}}`)
	e.eventually(30*time.Second, "load balancer goes", func() error {
		if n := len(e.sim.LoadBalancers()); n != 0 {
			return fmt.Errorf("%d are left", n)
		}
		svc, err := e.service("web")
		if err == nil && svc.Annotations[idAnnotation] != "" {
			err = errors.New("its id is still there")
		}
		return err
	})
	e.patchService("web", `{"spec":{"type":"LoadBalancer"}}`)
	if _, second := e.balanced("web"); second.ID == first.ID {
		t.Error("the id is the deleted one's")
	}
	events, err := e.kube.CoreV1().Events("default").List(e.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range events.Items {
		if event.Reason == "LoadBalancerNotFound" {
			t.Errorf("told as a loss: %s", event.Message)
		}
	}
}

func TestSourcesAreRestrictedAndMisspeltAnnotationsTold(t *testing.T) {
	e, _ := startWithNode(t, nil)
	e.addService("web", func(svc *v1.Service) {
		svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "203.0.113.7/32"}
		svc.Annotations["service.beta.kubernetes.io/do-loadbalancer-typ"] = "REGIONAL"
	})
	_, lb := e.balanced("web")
	if diff := cmp.Diff([]string{"cidr:10.0.0.0/8", "ip:203.0.113.7"}, lb.Firewall.Allow); diff != "" {
		t.Errorf("sources: %s", diff)
	}
	e.event(30*time.Second, "web", "AnnotationWarning", "do-loadbalancer-typ", "do-loadbalancer-type")
}
