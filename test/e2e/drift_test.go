package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/simulator"
)

// lag is how long a list is not believed after a write of the manager's own.
const lag = time.Minute

const versionAnnotation = "kubernetes.digitalocean.com/load-balancer-defaults-version"

// byHand changes a load balancer in the console.
func (e *environment) byHand(id string, edit func(*simulator.LoadBalancer)) {
	e.t.Helper()
	if err := e.sim.EditLoadBalancer(id, edit); err != nil {
		e.t.Fatal(err)
	}
}

// driftEvery sets how often drift is looked for. The cluster's tag, and marks
// that have served their purpose, are looked for at every third time.
func driftEvery(period string) option {
	return func(e *environment) {
		e.variables["DRIFT_PERIOD"] = period
		e.mayWrite(deleteTag)
	}
}

// unmarked waits until the load balancer has lost the mark of its creation.
func (e *environment) unmarked(id string) simulator.LoadBalancer {
	e.t.Helper()
	return e.becomes(id, "loses its mark", func(lb simulator.LoadBalancer) bool {
		return !slices.ContainsFunc(lb.Tags, func(tag string) bool { return strings.HasPrefix(tag, "k8s-svc:") })
	})
}

func unnamedOf(lb simulator.LoadBalancer) simulator.LoadBalancer {
	lb.Name = ""
	return lb
}

func TestDriftIsRevertedAndTold(t *testing.T) {
	e, _ := startWithNode(t, []simulator.Option{simulator.WithResizeInterval(0)}, driftEvery("5s"))
	e.addService("web", annotated("type", "REGIONAL"))
	e.mayWrite(updateLB)
	_, before := e.balanced("web")
	before = e.unmarked(before.ID)
	time.Sleep(lag) // until then the manager believes its own write
	e.sim.ResetRequests()
	e.byHand(before.ID, func(lb *simulator.LoadBalancer) {
		lb.Name, lb.SizeUnit = "renamed", 2
		lb.ForwardingRules[0].TargetPort = 8080
	})
	e.becomes(before.ID, "what was changed is put back", func(lb simulator.LoadBalancer) bool {
		return lb.SizeUnit == 1 && cmp.Equal(lb.ForwardingRules, before.ForwardingRules)
	})
	e.event(20*time.Second, "web", "LoadBalancerDrift", "size unit 2 -> 1", "->tcp:8080", "do-loadbalancer-size-unit")
	now, err := e.loadBalancer(before.ID)
	if err != nil || now.Name != "renamed" {
		t.Errorf("the name that was given in the console is %q (%v)", now.Name, err)
	}
	if diff := cmp.Diff(unnamedOf(before), unnamedOf(now)); diff != "" {
		t.Errorf("not as before: %s", diff)
	}
	if diff := cmp.Diff([]string{"PUT /v2/load_balancers/" + before.ID + " 200"}, e.writes()); diff != "" {
		t.Errorf("writes: %s", diff)
	}
	for _, warning := range e.warnings("web") {
		if !strings.HasPrefix(warning, "LoadBalancerDrift: ") {
			t.Errorf("told %q", warning)
		}
	}
}

func TestALookForDriftIsOneListWhileNothingChanges(t *testing.T) {
	e, _ := startWithNode(t, nil, driftEvery("3s"))
	e.addService("a", nil)
	e.addService("b", nil)
	for _, name := range []string{"a", "b"} {
		_, lb := e.balanced(name)
		e.unmarked(lb.ID)
	}
	time.Sleep(5 * time.Second)
	e.sim.ResetRequests()
	time.Sleep(15 * time.Second)
	looks := 0
	for _, r := range e.sim.Requests() {
		switch {
		case r.Method != "GET":
			t.Errorf("%s %s", r.Method, r.Path)
		case r.Path == "/v2/load_balancers":
			looks++
		case strings.HasPrefix(r.Path, "/v2/load_balancers/"):
			t.Errorf("GET %s beside the list", r.Path)
		}
	}
	if looks < 3 || looks > 7 {
		t.Errorf("%d lists in five periods", looks)
	}
}

func TestAMissingLoadBalancerIsMadeAgainWithoutAnEdit(t *testing.T) {
	e, _ := startWithNode(t, nil, driftEvery("5s"))
	e.addService("web", nil)
	_, before := e.balanced("web")
	time.Sleep(lag)
	if err := e.sim.DeleteLoadBalancer(before.ID); err != nil {
		t.Fatal(err)
	}
	e.eventually(60*time.Second, "another load balancer and its address", func() error {
		svc, err := e.service("web")
		if err != nil {
			return err
		}
		now, err := e.loadBalancer(svc.Annotations[idAnnotation])
		if err != nil {
			return err
		}
		if i := svc.Status.LoadBalancer.Ingress; len(i) == 0 || i[0].IP != now.IP {
			return fmt.Errorf("status %v, address %s", i, now.IP)
		}
		return nil
	})
	e.event(20*time.Second, "web", "LoadBalancerNotFound", before.ID, before.IP)
}

func TestDriftIsLeftWhereItIsNotLookedFor(t *testing.T) {
	e, _ := startWithNode(t, []simulator.Option{simulator.WithResizeInterval(0)}, variable("DRIFT_PERIOD", "0"))
	e.addService("web", annotated("type", "REGIONAL"))
	_, lb := e.balanced("web")
	time.Sleep(lag)
	e.sim.ResetRequests()
	e.byHand(lb.ID, func(lb *simulator.LoadBalancer) { lb.SizeUnit = 2 })
	e.never(15*time.Second, "drift is left", func() error {
		now, err := e.loadBalancer(lb.ID)
		if err == nil && now.SizeUnit != 2 {
			err = fmt.Errorf("size %d", now.SizeUnit)
		}
		return err
	})
	if writes := e.writes(); len(writes) > 0 {
		t.Errorf("writes: %v", writes)
	}
	// An edit puts it back, and says so.
	e.mayWarn("LoadBalancerDrift")
	e.patchService("web", `{"metadata":{"annotations":{"`+prefix+`http-idle-timeout-seconds":"90"}}}`)
	e.becomes(lb.ID, "an edit writes everything", func(lb simulator.LoadBalancer) bool { return lb.SizeUnit == 1 && lb.HTTPIdleTimeoutSeconds == 90 })
}

func TestOrphansAreToldOnTheLease(t *testing.T) {
	e, _ := startWithNode(t, nil, driftEvery("5s"))
	e.addService("web", nil)
	_, lb := e.balanced("web")
	e.stopManager()
	// The Service goes for good while no manager looks.
	e.patchService("web", `{"metadata":{"finalizers":null}}`)
	e.deleteService("web")
	e.eventually(20*time.Second, "deletion", e.gone("web"))
	e.sim.ResetRequests()
	e.startManager()
	e.event(60*time.Second, "cloud-controller-manager", "LoadBalancersOrphaned", lb.ID, lb.Name)
	if writes := e.writes(); len(writes) > 0 {
		t.Errorf("writes: %v", writes)
	}
}

// A Service of the public manager's, whose load balancer differs from what this
// manager would make.
func TestFirstContactWaits(t *testing.T) {
	const period = 20 * time.Second
	e, _ := startWithNode(t, []simulator.Option{simulator.WithResizeInterval(0)}, driftEvery(period.String()))
	e.addService("web", annotated("type", "REGIONAL"))
	_, lb := e.balanced("web")
	e.stopManager()
	e.mayWrite(addDroplets)
	e.patchService("web", `{"metadata":{"annotations":{"`+versionAnnotation+`":null}}}`)
	e.byHand(lb.ID, func(lb *simulator.LoadBalancer) {
		lb.Tags = slices.DeleteFunc(lb.Tags, func(tag string) bool { return strings.HasPrefix(tag, "k8s-svc:") })
		lb.SizeUnit, lb.DropletIDs = 2, nil
	})
	e.sim.ResetRequests()
	started := time.Now()
	e.startManager()
	e.event(40*time.Second, "web", "LoadBalancerFirstContact", lb.ID, "size unit 2 -> 1")
	e.becomes(lb.ID, "its backends are kept up to date", func(lb simulator.LoadBalancer) bool { return len(lb.DropletIDs) == 1 })
	if now, err := e.loadBalancer(lb.ID); err != nil || now.SizeUnit != 2 {
		t.Errorf("size %d at once (%v)", now.SizeUnit, err)
	}
	e.becomes(lb.ID, "the settings follow", func(lb simulator.LoadBalancer) bool { return lb.SizeUnit == 1 })
	if took := time.Since(started); took < period {
		t.Errorf("changed after %s", took)
	}
	var svc *v1.Service
	e.eventually(20*time.Second, "the version of the defaults", func() (err error) {
		if svc, err = e.service("web"); err == nil && svc.Annotations[versionAnnotation] != "1" {
			err = fmt.Errorf("annotations %v", svc.Annotations)
		}
		return err
	})
	want := []string{"POST /v2/load_balancers/" + lb.ID + "/droplets 204", "PUT /v2/load_balancers/" + lb.ID + " 200"}
	if diff := cmp.Diff(want, e.writes()); diff != "" {
		t.Errorf("writes: %s", diff)
	}
}
