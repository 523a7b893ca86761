package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
	"digitalocean-cloud-controller-manager/test/harness"
)

// oftenSwept makes the framework look at all Nodes each five seconds, not
// minutes.
func oftenSwept(e *environment) { e.args = append(e.args, "--node-status-update-frequency=5s") }

func TestIPv6ThatIsEnabledLaterReachesTheNode(t *testing.T) {
	e := start(t, nil, oftenSwept)
	d := e.addNode(simulator.DropletSpec{Name: "w"}, sandbox.NodeOptions{})
	e.eventually(30*time.Second, "node", e.initialized("w"))
	address := "2001:db8::77"
	if err := e.sim.PatchDroplet(d.ID, simulator.DropletPatch{PublicIPv6: &address}); err != nil {
		t.Fatal(err)
	}
	// What is known of the droplet of a ready Node may be minutes old.
	e.ready("w", false)
	e.eventually(40*time.Second, "IPv6 address", func() error {
		node, err := e.node("w")
		if err == nil && !slices.Contains(node.Status.Addresses, v1.NodeAddress{Type: v1.NodeExternalIP, Address: address}) {
			err = fmt.Errorf("addresses %v", node.Status.Addresses)
		}
		return err
	})
}

func TestReadyNodeWhoseDropletWasReplacedIsKeptAndTold(t *testing.T) {
	metrics := harness.FreeAddress(t)
	e := start(t, nil, oftenSwept, variable("METRICS_ADDR", metrics))
	old := e.addNode(simulator.DropletSpec{Name: "worker-1"}, sandbox.NodeOptions{})
	e.addNode(simulator.DropletSpec{Name: "worker-2"}, sandbox.NodeOptions{})
	for _, name := range []string{"worker-1", "worker-2"} {
		e.eventually(30*time.Second, name, e.initialized(name))
	}
	// A manager that has just started asks at once.
	e.stopManager()
	if err := e.sim.DeleteDroplet(old.ID); err != nil {
		t.Fatal(err)
	}
	next := e.sim.AddDroplet(simulator.DropletSpec{Team: team, Name: "worker-1"})
	e.startManager()
	// It has to wait: the Node is really as young as it says.
	e.event(youngAge+time.Minute, "worker-1", "DropletReplaced", fmt.Sprint(old.ID), fmt.Sprint(next.ID), "kubectl delete node worker-1")
	if _, err := e.node("worker-1"); err != nil {
		t.Errorf("the ready node: %v", err)
	}
	_, body, err := e.get("http://" + metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`digitalocean_ccm_nodes{state="replaced"} 1`, `digitalocean_ccm_nodes{state="initialized"} 1`, `digitalocean_ccm_nodes{state="ambiguous"} 0`,
		"digitalocean_ccm_snapshot_droplets ", "digitalocean_ccm_snapshot_age_seconds ",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in the metrics", want)
		}
	}
}

// forbid takes a verb on a resource from the manager's roles.
func (e *environment) forbid(resource, verb string) {
	e.t.Helper()
	roles, err := e.kube.RbacV1().ClusterRoles().List(e.ctx, metav1.ListOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	taken := false
	for _, role := range roles.Items {
		if !strings.Contains(role.Name, "cloud-controller-manager") {
			continue
		}
		for i, rule := range role.Rules {
			if slices.Contains(rule.Resources, resource) && slices.Contains(rule.Verbs, verb) {
				role.Rules[i].Verbs = slices.DeleteFunc(rule.Verbs, func(v string) bool { return v == verb })
				taken = true
			}
		}
		if _, err := e.kube.RbacV1().ClusterRoles().Update(e.ctx, &role, metav1.UpdateOptions{}); err != nil {
			e.t.Fatal(err)
		}
	}
	if !taken {
		e.t.Fatalf("no role of the manager has %s on %s", verb, resource)
	}
}

func TestNodeThatTheManagerMayNotRemoveIsTold(t *testing.T) {
	e := prepare(t, nil)
	e.forbid("nodes", "delete")
	e.mayBeDenied("delete", "nodes")
	e.startManager()
	dead := e.addNode(simulator.DropletSpec{Name: "dead"}, sandbox.NodeOptions{})
	e.addNode(simulator.DropletSpec{Name: "alive"}, sandbox.NodeOptions{})
	for _, name := range []string{"dead", "alive"} {
		e.eventually(30*time.Second, name, e.initialized(name))
		e.old(name)
	}
	if err := e.sim.DeleteDroplet(dead.ID); err != nil {
		t.Fatal(err)
	}
	e.ready("dead", false)
	e.event(time.Minute, "dead", "DeletingNodeFailed", "forbidden")
	e.event(2*time.Minute, "dead", "NodeNotRemoved", fmt.Sprint(dead.ID), "ClusterRole")
}
