package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/simulator"
)

// world is everything at one moment, for the invariants to judge.
type world struct {
	services  []*v1.Service
	nodes     []*v1.Node
	droplets  map[int]simulator.Droplet
	balancers []*godo.LoadBalancer
	// certificates are their ids by name.
	certificates map[string]string
	firewalls    []*godo.Firewall
	tags         map[string]int
	targetTag    bool

	strangers map[string]bool
	seen      map[types.UID]history
	born      map[string]types.UID
	murders   []string
}

// now looks at everything.
func (s *storm) now(ctx context.Context) (*world, error) {
	services, err := s.kube.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	nodes, err := s.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	w := &world{
		droplets: map[int]simulator.Droplet{}, certificates: map[string]string{}, tags: map[string]int{},
		targetTag: s.plan.TargetTag, strangers: s.strangers.ids, seen: map[types.UID]history{},
	}
	for i := range services.Items {
		if svc := &services.Items[i]; svc.Name != "kubernetes" {
			w.services = append(w.services, svc)
		}
	}
	for i := range nodes.Items {
		w.nodes = append(w.nodes, &nodes.Items[i])
	}
	if err := w.lookAtCloud(s.sim); err != nil {
		return nil, err
	}
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	for uid, h := range s.record.seen {
		w.seen[uid] = *h
	}
	w.born, w.murders = maps.Clone(s.record.born), slices.Clone(s.record.murders)
	return w, nil
}

func (w *world) lookAtCloud(sim *simulator.Simulator) error {
	for _, t := range sim.State().Teams {
		for _, c := range t.Certificates {
			w.certificates[c.Name] = c.ID
		}
		for _, tag := range t.Tags {
			w.tags[tag.Name] = tag.Resources.Count
		}
		for _, d := range t.Droplets {
			w.droplets[d.ID] = d
		}
		for _, lb := range t.LoadBalancers {
			converted, err := convert[godo.LoadBalancer](lb)
			if err != nil {
				return err
			}
			w.balancers = append(w.balancers, converted)
		}
		for _, fw := range t.Firewalls {
			converted, err := convert[godo.Firewall](fw)
			if err != nil {
				return err
			}
			w.firewalls = append(w.firewalls, converted)
		}
	}
	return nil
}

// convert reads the simulator's object as the API's client does.
func convert[T any](object any) (*T, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write %T: %w", object, err)
	}
	converted := new(T)
	if err := json.Unmarshal(text, converted); err != nil {
		return nil, fmt.Errorf("read %T: %w", object, err)
	}
	return converted, nil
}

// defaults are the managers', which have no configuration of their own.
var defaults = annotation.Defaults{Type: annotation.TypeRegionalNetwork}

func parse(svc *v1.Service) (annotation.Spec, []annotation.Problem) {
	return annotation.Parse(svc, defaults)
}

// of are the load balancers that were made for a Service.
func (w *world) of(uid types.UID) []*godo.LoadBalancer {
	var own []*godo.LoadBalancer
	for _, lb := range w.balancers {
		if w.born[lb.ID] == uid {
			own = append(own, lb)
		}
	}
	return own
}
