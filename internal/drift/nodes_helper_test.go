package drift

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/instances"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/simulator"
)

// nodeWorld is a simulator with Nodes, and the check under test.
type nodeWorld struct {
	t      *testing.T
	sim    *simulator.Simulator
	kube   *fake.Clientset
	index  cache.Indexer
	events *record.FakeRecorder
	facts  *instances.Instances
	nodes  *Nodes
}

func newNodeWorld(t *testing.T, patterns []string, options ...simulator.Option) *nodeWorld {
	w := &nodeWorld{
		t: t, sim: simulator.New(options...), kube: fake.NewClientset(),
		index: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}), events: record.NewFakeRecorder(100),
	}
	token, _, err := doapi.NewToken("dop_v1_test")
	if err != nil {
		t.Fatal(err)
	}
	client, err := doapi.New(doapi.Options{TokenSource: doapi.StaticToken(token), Version: "test", Transport: w.sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	lister := corelisters.NewNodeLister(w.index)
	droplets := inventory.NewDroplets(client.Droplets, client.Account, instances.ClusterOf(lister), clock.RealClock{})
	settings := config.Nodes{TagLabels: patterns, DeletionBrake: config.Brake{Count: 3, Percent: 20, Window: time.Minute}}
	w.facts = instances.New(droplets, lister, events.NewRecorder(w.events, clock.RealClock{}), settings, nil, clock.RealClock{})
	w.nodes = NewNodes(NodesOptions{
		Facts: w.facts, Nodes: lister, Kube: w.kube, Tags: client.Tags, TagLabels: len(patterns) > 0,
	})
	return w
}

// add makes a droplet and its Node, ready and labelled as the framework does.
func (w *nodeWorld) add(name string, tags ...string) int {
	w.t.Helper()
	created := time.Now().Add(-time.Hour)
	id := w.sim.AddDroplet(simulator.DropletSpec{Name: name, Tags: tags, CreatedAt: created}).ID
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(created), Labels: map[string]string{"user": "label"}},
		Spec:       v1.NodeSpec{ProviderID: fmt.Sprint("digitalocean://", id)},
		Status:     v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
	}
	w.put(node)
	metadata, err := w.facts.InstanceMetadata(context.Background(), node)
	if err != nil {
		w.t.Fatal(err)
	}
	for key, value := range metadata.AdditionalLabels {
		node.Labels[key] = value
	}
	for _, key := range []string{v1.LabelInstanceType, v1.LabelInstanceTypeStable} {
		node.Labels[key] = metadata.InstanceType
	}
	for _, key := range []string{v1.LabelFailureDomainBetaRegion, v1.LabelTopologyRegion} {
		node.Labels[key] = metadata.Region
	}
	if _, err := w.kube.CoreV1().Nodes().Create(context.Background(), node, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *nodeWorld) put(node *v1.Node) {
	w.t.Helper()
	if err := w.index.Update(node); err != nil {
		w.t.Fatal(err)
	}
}

// check makes a look one drift period later, as the informers know the Nodes by
// then, and returns the patches of labels and the API's calls.
func (w *nodeWorld) check() (patches []string, calls []string, err error) {
	w.t.Helper()
	time.Sleep(DefaultPeriod)
	all, listErr := w.kube.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
	if listErr != nil {
		w.t.Fatal(listErr)
	}
	for i := range all.Items {
		w.put(&all.Items[i])
	}
	w.kube.ClearActions()
	w.sim.ResetRequests()
	err = w.nodes.Check(context.Background())
	for _, action := range w.kube.Actions() {
		if patch, ok := action.(clienttesting.PatchAction); ok {
			patches = append(patches, patch.GetName()+" "+string(patch.GetPatch()))
		}
	}
	for _, r := range w.sim.Requests() {
		calls = append(calls, r.Method+" "+r.Path)
	}
	return patches, calls, err
}

func (w *nodeWorld) change(id int, patch simulator.DropletPatch) {
	w.t.Helper()
	if err := w.sim.PatchDroplet(id, patch); err != nil {
		w.t.Fatal(err)
	}
}

// labelsIn are the labels of a patch.
func labelsIn(t *testing.T, patch string) map[string]any {
	t.Helper()
	var body struct {
		Metadata struct {
			UID    string
			Labels map[string]any
		}
	}
	name, text, _ := strings.Cut(patch, " ")
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatal(err)
	}
	if body.Metadata.UID != "uid-"+name {
		t.Errorf("the patch is not bound to the Node's UID: %s", patch)
	}
	return body.Metadata.Labels
}
