package instances

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

func ignoring(t *testing.T, selector string) labels.Selector {
	t.Helper()
	ignore, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	return ignore
}

func TestIgnoredNodesAreNeverLookedUpNorRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := standardBrake
		settings.Ignore = ignoring(t, "managed-by=others")
		c := newCluster(t, settings)
		c.addWitness()
		gone, id := c.add("gone")
		gone.Labels = map[string]string{"managed-by": "others"}
		if err := c.sim.DeleteDroplet(id); err != nil {
			t.Fatal(err)
		}
		before := len(c.sim.Requests())
		for range 30 {
			if exists, err := c.instances.InstanceExists(context.Background(), gone); !exists || err != nil {
				t.Fatalf("exists %t, %v", exists, err)
			}
			if off, err := c.instances.InstanceShutdown(context.Background(), gone); off || err != nil {
				t.Fatalf("off %t, %v", off, err)
			}
			metadata, err := c.instances.InstanceMetadata(context.Background(), gone)
			if err != nil || metadata == nil || metadata.ProviderID != "" || len(metadata.NodeAddresses) != 0 || len(metadata.AdditionalLabels) != 0 {
				t.Fatalf("metadata %+v, %v", metadata, err)
			}
			time.Sleep(time.Minute)
		}
		if n := len(c.sim.Requests()); n != before {
			t.Errorf("%d calls", n-before)
		}
		if told := c.told(); told != "" {
			t.Errorf("told %s", told)
		}
		delete(gone.Labels, "managed-by")
		if diff := cmp.Diff([]string{"gone"}, c.removed(5*time.Minute)); diff != "" {
			t.Errorf("once it isn't ignored any more: %s", diff)
		}
	})
}

// The framework takes nil for a Node that is not to be initialised, and no error,
// which it would try again for ever.
func TestIgnoredNodeKeepsItsTaint(t *testing.T) {
	settings := standardBrake
	settings.Ignore = ignoring(t, "bare-metal")
	c := newCluster(t, settings)
	node := c.addNode("metal", "", time.Now())
	node.Labels = map[string]string{"bare-metal": ""}
	node.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}
	metadata, err := c.instances.InstanceMetadata(context.Background(), node)
	if metadata != nil || err != nil {
		t.Errorf("metadata %+v, %v", metadata, err)
	}
	if len(c.sim.Requests()) != 0 || c.told() != "" {
		t.Error("the Node was looked up, or something was told")
	}
}

func TestIgnoredNodesAreNotCounted(t *testing.T) {
	settings := standardBrake
	settings.Ignore = ignoring(t, "bare-metal")
	c := newCluster(t, settings)
	c.add("w")
	metal, _ := c.add("metal")
	metal.Labels = map[string]string{"bare-metal": ""}
	for s, n := range c.instances.countStates() {
		if want := map[state]int{stateInitialized: 1}[s]; n != want {
			t.Errorf("%d Nodes are %s, want %d", n, s, want)
		}
	}
	if known := c.instances.known(); len(known) != 1 {
		t.Errorf("droplets %v are the cluster's", known)
	}
	nodes := c.instances.nodes
	if _, err := nodes.Get("metal"); !apierrors.IsNotFound(err) {
		t.Errorf("the lister shows the ignored Node: %v", err)
	}
	if node, err := nodes.Get("w"); err != nil || node.Name != "w" {
		t.Errorf("the lister lacks a Node: %v", err)
	}
}
