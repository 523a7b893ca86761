package chaos

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"digitalocean-cloud-controller-manager/internal/providerid"
	"digitalocean-cloud-controller-manager/simulator"
)

const markPrefix = "k8s-svc:"

// record is what was seen from the first moment on.
type record struct {
	storm *storm
	stop  context.CancelFunc
	mu    sync.Mutex
	// current are the Services by name, and seen everything that ever was.
	current map[string]*v1.Service
	seen    map[types.UID]*history
	nodes   map[string]*v1.Node
	// born tells for which Service a load balancer was made, by the mark that it
	// is made with.
	born map[string]types.UID
	// removing are Nodes that the storm itself removes.
	removing map[string]bool
	// murders are Nodes that somebody else removed while their droplet lived.
	murders []string
}

// history is what a Service once was.
type history struct {
	name string
	// released is true once its load balancer may have been left to others.
	released bool
	// reported is true once differences of its load balancer were to be left.
	reported bool
}

// observe watches Services, Nodes and load balancers until it is stopped.
func observe(s *storm) *record {
	s.t.Helper()
	r := &record{
		storm: s, current: map[string]*v1.Service{}, seen: map[types.UID]*history{}, nodes: map[string]*v1.Node{},
		born: map[string]types.UID{}, removing: map[string]bool{},
	}
	factory := informers.NewSharedInformerFactory(s.kube, 0)
	services, nodes := factory.Core().V1().Services().Informer(), factory.Core().V1().Nodes().Informer()
	for informer, handler := range map[cache.SharedIndexInformer]cache.ResourceEventHandler{
		services: cache.ResourceEventHandlerFuncs{AddFunc: r.serviceIs, UpdateFunc: func(_, o any) { r.serviceIs(o) }, DeleteFunc: r.serviceGone},
		nodes:    cache.ResourceEventHandlerFuncs{AddFunc: r.nodeIs, UpdateFunc: func(_, o any) { r.nodeIs(o) }, DeleteFunc: r.nodeGone},
	} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			s.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(s.ctx)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	r.stop = func() {
		cancel()
		factory.Shutdown()
	}
	go func() {
		for s.pause(30 * time.Millisecond) {
			r.look(s.sim.LoadBalancers())
		}
	}()
	return r
}

func (r *record) serviceIs(object any) {
	svc := object.(*v1.Service)
	if svc.Namespace != namespace || svc.Name == "kubernetes" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current[svc.Name] = svc
	h := r.seen[svc.UID]
	if h == nil {
		h = &history{name: svc.Name}
		r.seen[svc.UID] = h
	}
	spec, _ := parse(svc)
	h.released = h.released || spec.Disowned || spec.RetainOnDelete
	h.reported = h.reported || spec.Drift == "report"
}

func (r *record) serviceGone(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	svc := object.(*v1.Service)
	r.mu.Lock()
	defer r.mu.Unlock()
	if current, ok := r.current[svc.Name]; ok && current.UID == svc.UID {
		delete(r.current, svc.Name)
	}
}

func (r *record) nodeIs(object any) {
	node := object.(*v1.Node)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes[node.Name] = node
}

func (r *record) nodeGone(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	node := object.(*v1.Node)
	droplet, lives := dropletOf(r.storm.sim, node)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.nodes, node.Name)
	if r.removing[string(node.UID)] || !lives {
		return
	}
	r.murders = append(r.murders, fmt.Sprintf("Node %s was deleted while its droplet %d lived", node.Name, droplet.ID))
}

// dropletOf is the droplet of a Node: that of its provider ID, or until it has
// one that of its name.
func dropletOf(sim *simulator.Simulator, node *v1.Node) (simulator.Droplet, bool) {
	if id, err := providerid.Parse(node.Spec.ProviderID); err == nil {
		return sim.Droplet(id)
	}
	for _, d := range sim.Droplets() {
		if d.Name == node.Name {
			return d, true
		}
	}
	return simulator.Droplet{}, false
}

// look notes for which Services load balancers were made.
func (r *record) look(all []simulator.LoadBalancer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, lb := range all {
		for _, tag := range lb.Tags {
			if uid, ok := strings.CutPrefix(tag, markPrefix); ok && r.born[lb.ID] == "" && !r.storm.strangers.ids[lb.ID] {
				r.born[lb.ID] = types.UID(uid)
			}
		}
	}
}

// services are those that exist, as they were last.
func (r *record) services() []*v1.Service {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*v1.Service
	for _, svc := range r.current {
		all = append(all, svc)
	}
	return all
}

// service is the one of that name, or nil.
func (r *record) service(name string) *v1.Service {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current[name]
}

// balancerOf is the id of a Service's load balancer.
func (r *record) balancerOf(name string) (string, error) {
	svc := r.service(name)
	if svc == nil {
		return "", fmt.Errorf("there is no Service %s", name)
	}
	for _, lb := range r.storm.sim.LoadBalancers() {
		r.mu.Lock()
		owner := r.born[lb.ID]
		r.mu.Unlock()
		if owner == svc.UID {
			return lb.ID, nil
		}
	}
	return "", fmt.Errorf("Service %s has no load balancer", name)
}

func (r *record) willRemove(node *v1.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removing[string(node.UID)] = true
}
