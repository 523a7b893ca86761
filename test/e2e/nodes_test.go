package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
)

func TestNodesAreInitialized(t *testing.T) {
	e := start(t, nil, variable("NODE_LABELS_FROM_TAGS", "pool:*"))
	byName := e.addNode(simulator.DropletSpec{Name: "By-Name", Region: "ams3", Size: "s-4vcpu-8gb", PrivateIPv4: "10.20.0.5", PublicIPv4: "203.0.113.9", IPv6: true, PublicIPv6: "2001:db8::9", Tags: []string{"pool:web", "other"}},
		sandbox.NodeOptions{NotReady: true})
	e.eventually(30*time.Second, "node by-name", e.initialized("by-name"))
	node, err := e.node("by-name")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprint("digitalocean://", byName.ID); node.Spec.ProviderID != want {
		t.Errorf("provider ID %q, want %q", node.Spec.ProviderID, want)
	}
	wantAddresses := []v1.NodeAddress{
		{Type: v1.NodeInternalIP, Address: "10.20.0.5"},
		{Type: v1.NodeExternalIP, Address: "203.0.113.9"},
		{Type: v1.NodeExternalIP, Address: "2001:db8::9"},
		{Type: v1.NodeHostName, Address: "by-name"},
	}
	if diff := cmp.Diff(wantAddresses, node.Status.Addresses); diff != "" {
		t.Errorf("addresses: %s", diff)
	}
	for key, want := range map[string]string{
		"node.kubernetes.io/instance-type": "s-4vcpu-8gb",
		"topology.kubernetes.io/region":    "ams3",
		"digitalocean.com/droplet-id":      fmt.Sprint(byName.ID),
		"digitalocean.com/gpu":             "false",
		"digitalocean.com/tag-pool":        "web",
	} {
		if got := node.Labels[key]; got != want {
			t.Errorf("label %s is %q, want %q", key, got, want)
		}
	}
	if _, ok := node.Labels["topology.kubernetes.io/zone"]; ok {
		t.Error("a zone label was made up")
	}
}

func TestNodesAreFoundInEveryWay(t *testing.T) {
	e := start(t, nil)
	byID := e.sim.AddDroplet(simulator.DropletSpec{Team: team, Name: "another-name"})
	e.register("by-id", sandbox.NodeOptions{ProviderID: fmt.Sprint("digitalocean://", byID.ID)})
	e.eventually(30*time.Second, "node by provider ID", e.initialized("by-id"))

	e.sim.AddDroplet(simulator.DropletSpec{Team: team, Name: "yet-another", PrivateIPv4: "10.20.0.77"})
	e.register("by-address", sandbox.NodeOptions{NodeIP: "10.20.0.77"})
	e.eventually(30*time.Second, "node by its --node-ip", e.initialized("by-address"))

	e.addNode(simulator.DropletSpec{Name: "private", NoPublicIPv4: true}, sandbox.NodeOptions{})
	e.eventually(30*time.Second, "node without a public address", e.initialized("private"))
	node, err := e.node("private")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range node.Status.Addresses {
		if a.Type == v1.NodeExternalIP {
			t.Errorf("a private droplet's node has the external address %q", a.Address)
		}
	}
}

func TestNodeWhoseDropletComesLate(t *testing.T) {
	e := start(t, nil)
	e.register("late", sandbox.NodeOptions{})
	e.event(40*time.Second, "late", "DropletNotFound", `"late"`)
	if node, err := e.node("late"); err != nil || !hasTaint(node, "node.cloudprovider.kubernetes.io/uninitialized") {
		t.Fatalf("the node lost its taint without a droplet (%v)", err)
	}
	d := e.sim.AddDroplet(simulator.DropletSpec{Team: team, Name: "late", Pending: true})
	time.Sleep(3 * time.Second)
	if node, err := e.node("late"); err != nil || !hasTaint(node, "node.cloudprovider.kubernetes.io/uninitialized") {
		t.Fatalf("the node lost its taint without an address (%v)", err)
	}
	private, public := "10.20.0.8", "203.0.113.80"
	if err := e.sim.PatchDroplet(d.ID, simulator.DropletPatch{PrivateIPv4: &private, PublicIPv4: &public}); err != nil {
		t.Fatal(err)
	}
	e.eventually(25*time.Second, "node whose droplet got its address late", e.initialized("late"))
}

func TestNodesThatAreNotOursAreLeftAlone(t *testing.T) {
	e := start(t, nil)
	for name, id := range map[string]string{"number": "123456", "aws": "aws:///us-east-1a/i-1", "k3s": "k3s://k3s", "zero": "digitalocean://0"} {
		e.register(name, sandbox.NodeOptions{ProviderID: id, NotReady: true})
		e.event(30*time.Second, name, "ForeignProviderID", id, "digitalocean://")
	}
	e.never(12*time.Second, "foreign nodes", func() error {
		for _, name := range []string{"number", "aws", "k3s", "zero"} {
			if _, err := e.node(name); err != nil {
				return err
			}
		}
		return nil
	})
	for _, r := range e.sim.Requests() {
		if r.Path != "/v2/regions" && r.Path != "/v2/account" {
			t.Errorf("a foreign node cost the call %s", r.Path)
		}
	}
}

func TestTwoDropletsOfOneNameAreAnError(t *testing.T) {
	e := start(t, nil)
	first := e.sim.AddDroplet(simulator.DropletSpec{Team: team, Name: "twin"})
	second := e.sim.AddDroplet(simulator.DropletSpec{Team: team, Name: "twin"})
	e.register("twin", sandbox.NodeOptions{})
	e.event(30*time.Second, "twin", "DropletAmbiguous", fmt.Sprint(first.ID), fmt.Sprint(second.ID))
}

func TestShutdownTaintFollowsPower(t *testing.T) {
	e := start(t, nil)
	d := e.addNode(simulator.DropletSpec{Name: "w"}, sandbox.NodeOptions{})
	e.eventually(30*time.Second, "node", e.initialized("w"))
	const taint = "node.cloudprovider.kubernetes.io/shutdown"
	if err := e.sim.StopDroplet(d.ID); err != nil {
		t.Fatal(err)
	}
	e.ready("w", false)
	e.eventually(20*time.Second, "shutdown taint", func() error {
		if node, err := e.node("w"); err != nil || !hasTaint(node, taint) {
			return fmt.Errorf("no taint (%v)", err)
		}
		return nil
	})
	if err := e.sim.StartDroplet(d.ID); err != nil {
		t.Fatal(err)
	}
	e.ready("w", true)
	e.eventually(20*time.Second, "shutdown taint gone", func() error {
		if node, err := e.node("w"); err != nil || hasTaint(node, taint) {
			return fmt.Errorf("still tainted (%v)", err)
		}
		return nil
	})
}

func TestRestartWithManyNodesCostsPages(t *testing.T) {
	const nodes = 1000
	e := prepare(t, nil)
	var group errgroup.Group
	group.SetLimit(20)
	for i := range nodes {
		name := fmt.Sprint("w", i)
		d := e.sim.AddDroplet(simulator.DropletSpec{Team: team, Name: name, CreatedAt: time.Now().Add(-time.Hour)})
		node := sandbox.NewNode(name, sandbox.NodeOptions{ProviderID: fmt.Sprint("digitalocean://", d.ID)})
		node.Spec.Taints = nil // initialised by the manager before
		group.Go(func() error {
			_, err := sandbox.RegisterNode(e.ctx, e.kube, node)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	e.startManager()
	e.eventually(2*time.Minute, "all nodes are looked at", func() error {
		list, err := e.kube.CoreV1().Nodes().List(e.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, node := range list.Items {
			if len(node.Status.Addresses) < 3 {
				return fmt.Errorf("%s has the addresses %v", node.Name, node.Status.Addresses)
			}
		}
		return nil
	})
	// Five pages, the first once more to learn how many there are, the regions,
	// and the account twice.
	if n := len(e.sim.Requests()); n > 5+1+3 {
		t.Errorf("%d calls", n)
	}
	if writes := e.writes(); len(writes) > 0 {
		t.Errorf("writes: %v", writes)
	}
}

func (e *environment) ready(name string, ready bool) {
	e.t.Helper()
	if err := sandbox.SetNodeReady(e.ctx, e.kube, name, ready); err != nil {
		e.t.Fatal(err)
	}
}

// youngAge is how long a Node is never called gone, with a margin.
const youngAge = 2*time.Minute + 5*time.Second

// old has a Node be so old that it may be called gone.
func (e *environment) old(name string) {
	e.t.Helper()
	if err := e.plane.AgeNode(e.ctx, name, youngAge); err != nil {
		e.t.Fatal(err)
	}
}

func TestNodeOfADeletedDropletGoesAndNoOther(t *testing.T) {
	const foreign = "dop_v1_ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
	file := writeToken(t, token)
	e := start(t, []simulator.Option{simulator.WithToken(foreign, "team-b")}, variable("DO_ACCESS_TOKEN", ""), variable("DO_ACCESS_TOKEN_FILE", file))
	var droplets []simulator.Droplet
	for i := range 3 {
		name := fmt.Sprint("w", i)
		droplets = append(droplets, e.addNode(simulator.DropletSpec{Name: name}, sandbox.NodeOptions{}))
		e.eventually(30*time.Second, name, e.initialized(name))
		e.old(name)
	}

	all := func() error {
		nodes, err := e.kube.CoreV1().Nodes().List(e.ctx, metav1.ListOptions{})
		if err == nil && len(nodes.Items) != 3 {
			err = fmt.Errorf("%d nodes, want 3", len(nodes.Items))
		}
		return err
	}
	for _, d := range droplets {
		e.ready(d.Name, false)
	}
	e.never(8*time.Second, "nodes with living droplets", all)

	replaceToken(t, file, foreign)
	e.never(30*time.Second, "another team's token", all)
	e.event(10*time.Second, "w0", "NodeDeletionBlocked", "token")
	replaceToken(t, file, token)

	for name, fault := range map[string]simulator.Fault{
		"server errors": {Path: "/v2/droplets", Status: 500},
		"a proxy's 404": {Path: "/v2/droplets", Status: 404, Body: "<html>not found</html>"},
		"half answers":  {Path: "/v2/droplets", Truncate: true},
		"short lists":   {Path: "/v2/droplets", OmitItems: -1},
		"no quota":      {Path: "/v2/droplets", Status: 429, Header: map[string]string{"Retry-After": "2"}},
		"late answers":  {Path: "/v2/droplets", Delay: 20 * time.Second, Status: 404},
		"cut lines":     {Path: "/v2/droplets", Reset: true},
	} {
		id := e.sim.AddFault(fault)
		e.never(12*time.Second, name, all)
		e.sim.RemoveFault(id)
	}

	if err := e.sim.DeleteDroplet(droplets[0].ID); err != nil {
		t.Fatal(err)
	}
	e.eventually(90*time.Second, "node of the deleted droplet goes", func() error {
		nodes, err := e.kube.CoreV1().Nodes().List(e.ctx, metav1.ListOptions{})
		if err == nil && len(nodes.Items) == 3 {
			err = fmt.Errorf("still there")
		}
		return err
	})
	e.never(10*time.Second, "the other nodes", func() error {
		for _, d := range droplets[1:] {
			if _, err := e.node(d.Name); err != nil {
				return err
			}
		}
		return nil
	})
}
