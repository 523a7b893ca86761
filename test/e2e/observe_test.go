package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
	"digitalocean-cloud-controller-manager/test/harness"
)

// rehearsed is what /debug/state says would be written, by "object target".
func (e *environment) rehearsed(address string) (map[string]string, error) {
	status, body, err := e.get("http://" + address + "/debug/state?format=json")
	if err != nil || status != 200 {
		return nil, fmt.Errorf("state: %d, %w", status, err)
	}
	var report struct {
		Leads, ObserveOnly bool
		Rehearsed          []struct{ Object, Target, What string }
	}
	if err := json.Unmarshal([]byte(body), &report); err != nil {
		return nil, err
	}
	if report.Leads || !report.ObserveOnly {
		return nil, errors.New("it doesn't say that it only observes")
	}
	would := map[string]string{}
	for _, r := range report.Rehearsed {
		would[r.Object+" "+r.Target] = r.What
	}
	return would, nil
}

func TestObserveOnlyTellsEverythingAndWritesNothing(t *testing.T) {
	metrics, debug := harness.FreeAddress(t), harness.FreeAddress(t)
	e := prepare(t, nil, withFirewall, variable("METRICS_ADDR", metrics), variable("DEBUG_ADDR", debug), driftEvery("2s"))
	e.addNode(simulator.DropletSpec{Name: "w", Tags: []string{"k8s:worker"}}, sandbox.NodeOptions{})
	e.addService("web", annotated("type", "REGIONAL"))
	e.addService("door", nodePort(30123))
	e.args = append(e.args, "--observe-only")
	e.startManager()

	var would map[string]string
	e.eventually(60*time.Second, "what would be written is shown", func() (err error) {
		if would, err = e.rehearsed(debug); err != nil {
			return err
		}
		for _, what := range []struct{ key, part string }{
			{"load_balancer default/web", "create load balancer a"},
			{"firewall POST /v2/firewalls", "30123"},
			{"service PATCH default/web/status", finalizer},
			{"node PUT w", "the whole object"},
		} {
			if got, ok := would[what.key]; !ok || !strings.Contains(got, what.part) {
				return fmt.Errorf("no %q with %q in %q", what.key, what.part, would)
			}
		}
		return nil
	})
	node, err := e.node("w")
	if err != nil {
		t.Fatal(err)
	}
	e.never(10*time.Second, "nothing is written", func() error { return e.untouched(node.ResourceVersion) })
	families := e.scrape(metrics)
	for _, name := range []string{"digitalocean_ccm_rehearsed_writes", "digitalocean_ccm_rehearsed_writes_total"} {
		if families[name] == nil {
			t.Errorf("no metric %s", name)
		}
	}
	for _, what := range []string{`"load_balancer" target="default/web"`, `"firewall" target="POST /v2/firewalls"`} {
		if n := strings.Count(e.log.String(), "Would write, and only observes\" object="+what); n != 1 {
			t.Errorf("%s is told %d times", what, n)
		}
	}
}

// untouched tells whether a manager wrote anything to either world.
func (e *environment) untouched(nodeVersion string) error {
	if writes := e.writes(); len(writes) > 0 {
		return fmt.Errorf("writes %v", writes)
	}
	svc, err := e.service("web")
	if err != nil {
		return err
	}
	if len(svc.Finalizers) > 0 || svc.Annotations[idAnnotation] != "" || len(svc.Status.LoadBalancer.Ingress) > 0 {
		return fmt.Errorf("the Service was written to: %v", svc)
	}
	node, err := e.node("w")
	if err != nil {
		return err
	}
	if node.ResourceVersion != nodeVersion || !hasTaint(node, "node.cloudprovider.kubernetes.io/uninitialized") {
		return errors.New("the Node was written to")
	}
	if _, err := e.kube.CoordinationV1().Leases("kube-system").Get(e.ctx, "cloud-controller-manager", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("the lease was taken (%v)", err)
	}
	events, err := e.kube.CoreV1().Events("default").List(e.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, event := range events.Items {
		if c := event.Source.Component; c == managerAgent || c == "service-controller" || c == "cloud-controller-manager" || c == "cloud-node-controller" {
			return fmt.Errorf("event %s of %s", event.Reason, c)
		}
	}
	return nil
}
