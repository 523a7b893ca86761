package reconciler

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/targets"
	"digitalocean-cloud-controller-manager/simulator"
)

// label sets labels of a Node, and tells the handler of Nodes.
func (s *stand) label(name string, labels map[string]string) {
	s.t.Helper()
	object, exists, err := s.nodes.GetByKey(name)
	if err != nil || !exists {
		s.t.Fatalf("no Node %q: %v", name, err)
	}
	was := object.(*v1.Node)
	is := was.DeepCopy()
	is.Labels = labels
	if err := s.nodes.Update(is); err != nil {
		s.t.Fatal(err)
	}
	s.NodeHandler().OnUpdate(was, is)
	s.later(2 * time.Second)
}

func (s *stand) wantDroplets(want ...int) {
	s.t.Helper()
	got := slices.Sorted(slices.Values(s.mine().DropletIDs))
	if slices.Sort(want); !slices.Equal(got, want) {
		s.t.Errorf("droplets %v, want %v", got, want)
	}
}

var edge = map[string]string{"pool": "edge"}

func TestASelectorChoosesBackendsAndLabelsActAtOnce(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		a, b := s.addNode(simulator.DropletSpec{Name: "a"}), s.addNode(simulator.DropletSpec{Name: "b"})
		s.label("a", edge)
		before := s.ready(annotation.NodeSelector, "pool=edge")
		s.wantDroplets(a.ID)
		s.label("b", edge)
		s.wantDroplets(a.ID, b.ID)
		s.wantWrites("POST /v2/load_balancers/" + before.ID + "/droplets")
		s.label("a", map[string]string{"pool": "web"})
		s.wantDroplets(b.ID)
		s.wantWrites("DELETE /v2/load_balancers/" + before.ID + "/droplets")
		s.label("a", map[string]string{"pool": "web", "x": "y"})
		s.wantCalls()
		s.edit(annotation.NodeSelector, "")
		if n := len(s.mine().DropletIDs); n != 3 {
			s.t.Errorf("%d droplets without a selector", n)
		}
	})
}

func TestASelectorThatSelectsNothingKeepsTheLastBackends(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		a := s.addNode(simulator.DropletSpec{Name: "a"})
		s.label("a", edge)
		s.ready(annotation.NodeSelector, "pool=edge")
		s.label("a", nil)
		s.wantDroplets(a.ID)
		s.wantNews(annotation.AllowEmptyBackends, events.LoadBalancerConfigError)
		s.addNode(simulator.DropletSpec{Name: "c"})
		s.sync()
		s.wantDroplets(a.ID)
		s.edit(annotation.AllowEmptyBackends, "true")
		s.wantDroplets()
		s.label("a", edge)
		s.wantDroplets(a.ID)
	})
}

func TestAnInvalidSelectorFreezesTheBackends(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		a := s.addNode(simulator.DropletSpec{Name: "a"})
		s.label("a", edge)
		s.ready(annotation.NodeSelector, "pool=edge")
		s.edit(annotation.NodeSelector, "pool=edge=x")
		s.label("a", nil)
		s.addNode(simulator.DropletSpec{Name: "c"})
		s.later(time.Second)
		s.sync()
		s.wantDroplets(a.ID)
		s.wantWrites()
	})
}

func TestANewLoadBalancerMayWaitForSelectedNodes(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		s.ready(annotation.NodeSelector, "pool=edge")
		s.wantDroplets()
		a := s.addNode(simulator.DropletSpec{Name: "a"})
		s.label("a", edge)
		s.wantDroplets(a.ID)
	})
}

// The tag is on every Node that can be a backend.
func TestASelectorIsNotTargetedByTag(t *testing.T) {
	spec := annotation.Spec{Type: annotation.TypeRegional, NodeSelector: "pool=edge"}
	candidates := []loadbalancer.Candidate{{Node: "a", DropletID: 1, Labels: edge}, {Node: "b", DropletID: 2}}
	for _, test := range []struct {
		selector, tag string
		droplets      []int
	}{{"pool=edge", "", []int{1}}, {"!spot", "workers", nil}, {"", "workers", nil}} {
		spec.NodeSelector = test.selector
		desired := loadbalancer.Desired{}
		desired.DropletIDs = loadbalancer.SelectBackends(spec, "", candidates).DropletIDs
		r := &Reconciler{target: Target{Tag: targets.New("workers", nil, nil, clock.RealClock{}), Wanted: true}}
		r.aim(&work{candidates: candidates}, nil, &desired)
		if desired.Tag != test.tag || !slices.Equal(desired.DropletIDs, test.droplets) {
			t.Errorf("%q: tag %q, droplets %v", test.selector, desired.Tag, desired.DropletIDs)
		}
	}
}

// change changes a Node, and tells the handler of Nodes.
func (s *stand) change(name string, edit func(*v1.Node)) {
	s.t.Helper()
	object, exists, err := s.nodes.GetByKey(name)
	if err != nil || !exists {
		s.t.Fatalf("no Node %q: %v", name, err)
	}
	was := object.(*v1.Node)
	is := was.DeepCopy()
	edit(is)
	if err := s.nodes.Update(is); err != nil {
		s.t.Fatal(err)
	}
	s.NodeHandler().OnUpdate(was, is)
	s.later(2 * time.Second)
}

// Services share what was read of Nodes a moment ago, but nothing of before a
// change: the Service that is synced right after it isn't synced for it again.
func TestNodesAsOfBeforeAChangeAreNotShared(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		a := s.addNode(simulator.DropletSpec{Name: "a"})
		backends := func() (ids []int) {
			w := &work{}
			if err := s.shareBackends(s.t.Context(), w); err != nil {
				s.t.Fatal(err)
			}
			for _, c := range w.candidates {
				ids = append(ids, c.DropletID)
			}
			return ids
		}
		if got := backends(); !slices.Contains(got, a.ID) {
			s.t.Fatalf("%v lack %d", got, a.ID)
		}
		before := s.shared.version()
		node, _, _ := s.nodes.GetByKey("a")
		if err := s.nodes.Delete(node); err != nil {
			s.t.Fatal(err)
		}
		s.NodeHandler().OnDelete(node)
		if got := backends(); slices.Contains(got, a.ID) {
			s.t.Errorf("its Node is gone, and it is among %v", got)
		}
		late := &work{candidates: []loadbalancer.Candidate{{Node: "a", DropletID: a.ID}}}
		s.shared.put(late, time.Now(), before) // one that began before the change
		if got := backends(); slices.Contains(got, a.ID) {
			s.t.Errorf("what was read before came back: %v", got)
		}
	})
}

// A load balancer that is refused with its backends may be so for a droplet that
// is gone meanwhile. As long as that can't be found out, nobody is to blame.
func TestARefusalThatMayBeForADropletIsTriedAgainSoon(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		s.ready()
		before := s.mine().DropletIDs
		a := s.addNode(simulator.DropletSpec{Name: "a"})
		if _, err := s.droplets.Get(s.t.Context(), a.ID, time.Hour, func() []int { return nil }); err != nil {
			s.t.Fatal(err)
		}
		s.news()
		s.sim.AddFault(simulator.Fault{Method: "POST", Path: "/v2/load_balancers/*/droplets", Status: 422, Count: 1})
		for _, path := range []string{"/v2/droplets", "/v2/droplets/*"} {
			s.sim.AddFault(simulator.Fault{Method: "GET", Path: path, Status: 503})
		}
		s.sync()
		s.later(30 * time.Second)
		s.sim.ClearFaults()
		s.later(time.Minute)
		s.wantDroplets(append(before, a.ID)...)
		for _, e := range s.news() {
			if strings.Contains(e, "refuses this Service") {
				s.t.Error(e)
			}
		}
	})
}

func TestBackendsFollowNodesThatComeGoAndAreExcluded(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		a := s.addNode(simulator.DropletSpec{Name: "a"})
		s.ready()
		before := s.mine().DropletIDs
		b := s.addNode(simulator.DropletSpec{Name: "b"})
		node, _, _ := s.nodes.GetByKey("b")
		s.NodeHandler().OnAdd(node, false)
		s.later(2 * time.Second)
		with := append(slices.Clone(before), b.ID)
		s.wantDroplets(with...)
		for name, exclude := range map[string]func(*v1.Node){
			"label": func(n *v1.Node) { n.Labels = map[string]string{v1.LabelNodeExcludeBalancers: ""} },
			"taint": func(n *v1.Node) {
				n.Spec.Taints = []v1.Taint{{Key: taintToBeDeleted, Effect: v1.TaintEffectNoSchedule}}
			},
		} {
			s.change("b", exclude)
			if got := s.mine().DropletIDs; slices.Contains(got, b.ID) {
				s.t.Errorf("excluded by its %s, and a backend among %v", name, got)
			}
			s.change("b", func(n *v1.Node) { n.Labels, n.Spec.Taints = nil, nil })
			s.wantDroplets(with...)
		}
		s.change("b", func(n *v1.Node) { n.Spec.ProviderID = "digitalocean://" + strconv.Itoa(a.ID) })
		s.wantDroplets(before...)
		object, _, _ := s.nodes.GetByKey("a")
		if err := s.nodes.Delete(object); err != nil {
			s.t.Fatal(err)
		}
		node, _, _ = s.nodes.GetByKey("b")
		if err := s.nodes.Delete(node); err != nil {
			s.t.Fatal(err)
		}
		s.NodeHandler().OnDelete(object)
		s.later(2 * time.Second)
		if got := s.mine().DropletIDs; slices.Contains(got, a.ID) {
			s.t.Errorf("its Node is gone, and it is a backend among %v", got)
		}
	})
}

func TestNodesThatAreNoNewsCostNothing(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		s.addNode(simulator.DropletSpec{Name: "a"})
		s.ready()
		node, _, _ := s.nodes.GetByKey("a")
		s.NodeHandler().OnAdd(node, true)
		s.change("a", func(n *v1.Node) { n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady}} })
		if n := s.again.others.Len() + s.again.urgent.Len(); n > 0 {
			s.t.Errorf("%d Services wait", n)
		}
		s.wantCalls()
	})
}

// The framework has taken the Service on, and the lister doesn't show it yet.
func TestANodeThatComesBeforeTheFinalizerIsSeenBecomesABackend(t *testing.T) {
	for name, tell := range map[string]func(handler cache.ResourceEventHandler, was, is *v1.Node){
		"a Node comes":       func(h cache.ResourceEventHandler, _, is *v1.Node) { h.OnAdd(is, false) },
		"a label selects it": func(h cache.ResourceEventHandler, was, is *v1.Node) { h.OnUpdate(was, is) },
	} {
		t.Run(name, func(t *testing.T) {
			inStand(t, nil, func(s *stand) {
				a := s.addNode(simulator.DropletSpec{Name: "a"})
				s.label("a", edge)
				s.ready(annotation.NodeSelector, "pool=edge")
				b := s.addNode(simulator.DropletSpec{Name: "b"})
				seen := s.web()
				lagging := seen.DeepCopy()
				lagging.Finalizers = nil
				if err := s.services.Update(lagging); err != nil {
					s.t.Fatal(err)
				}
				object, _, _ := s.nodes.GetByKey("b")
				was := object.(*v1.Node)
				is := was.DeepCopy()
				is.Labels = edge
				if err := s.nodes.Update(is); err != nil {
					s.t.Fatal(err)
				}
				tell(s.NodeHandler(), was, is)
				if err := s.services.Update(seen); err != nil {
					s.t.Fatal(err)
				}
				s.later(2 * time.Second)
				s.wantDroplets(a.ID, b.ID)
			})
		})
	}
}
