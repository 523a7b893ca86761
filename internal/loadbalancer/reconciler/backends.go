package reconciler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/providerid"
)

// readBackends reads the Nodes as they are now, and their droplets as they were
// since the time. A droplet that can't be looked up is an error: leaving it out
// would take it from a load balancer that it serves.
func (r *Reconciler) readBackends(ctx context.Context, w *work, since time.Time) error {
	nodes, err := r.nodes.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	ids := make(map[string]int, len(nodes))
	var all []int
	for _, node := range nodes {
		if id, err := providerid.Parse(node.Spec.ProviderID); err == nil {
			ids[node.Name] = id
			all = append(all, id)
		}
	}
	w.candidates, w.waiting = make([]loadbalancer.Candidate, 0, len(nodes)), false
	for _, node := range nodes {
		candidate := loadbalancer.Candidate{Node: node.Name, DropletID: ids[node.Name], Excluded: exclusion(node), Labels: node.Labels}
		ready := true
		if candidate.Excluded == "" {
			ready, err = r.fill(ctx, w, node, &candidate, all, since)
			if errors.Is(err, doapi.ErrThrottled) {
				return &requestError{"look up the droplets of Nodes", err}
			}
			if err != nil {
				return fmt.Errorf("node %q: %w", node.Name, err)
			}
		}
		w.waiting = w.waiting || (!ready && r.clock.Since(node.CreationTimestamp.Time) < youngFor)
		w.candidates = append(w.candidates, candidate)
	}
	return nil
}

// taintToBeDeleted is the cluster autoscaler's on Nodes that it will remove.
const taintToBeDeleted = "ToBeDeletedByClusterAutoscaler"

// exclusion tells why a Node is no backend whatever its droplet is. It agrees
// with the framework's service controller.
func exclusion(node *v1.Node) string {
	if value, ok := node.Labels[v1.LabelNodeExcludeBalancers]; ok {
		if exclude, err := strconv.ParseBool(value); err != nil || exclude {
			return "it has the label " + v1.LabelNodeExcludeBalancers
		}
	}
	if slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == taintToBeDeleted }) {
		return "the cluster autoscaler is about to remove it"
	}
	if node.DeletionTimestamp != nil {
		return "it is being deleted"
	}
	return ""
}

// fill looks up the Node's droplet. ready is false when it may become a backend
// in a while.
func (r *Reconciler) fill(ctx context.Context, w *work, node *v1.Node, c *loadbalancer.Candidate, all []int, since time.Time) (ready bool, err error) {
	if node.Spec.ProviderID == "" {
		c.Excluded = "it has no provider ID yet"
		return false, nil
	}
	if c.DropletID == 0 {
		c.Excluded = fmt.Sprintf("its provider ID %q isn't a droplet's", node.Spec.ProviderID)
		return true, nil
	}
	peers := func() []int { return all }
	droplet, err := r.droplets.Get(ctx, c.DropletID, r.clock.Since(since), peers)
	if err == nil && !droplet.HasAddress() {
		droplet, err = r.droplets.Get(ctx, c.DropletID, youngAgain, peers)
	}
	if w.refused && errors.Is(err, inventory.ErrNotBelieved) {
		// Two answers say the same: this one, and the refusal of the whole list
		// of droplets. A Node needs more for its removal; a backend doesn't.
		err = inventory.ErrWasGone
	}
	switch {
	case inventory.IsGone(err):
		c.Excluded = fmt.Sprintf("its droplet %d does not exist any more", c.DropletID)
		return true, nil
	case err != nil:
		return false, err
	}
	c.Public, c.Private = slices.Concat(droplet.PublicIPv4, droplet.PublicIPv6), droplet.PrivateIPv4
	c.PublicIPv4, c.PublicIPv6 = len(droplet.PublicIPv4) > 0, len(droplet.PublicIPv6) > 0
	if !droplet.HasAddress() {
		c.Excluded, c.Unshown = fmt.Sprintf("its droplet %d has no address yet", c.DropletID), true
		return false, nil
	}
	return true, nil
}

// goneAge is how old the knowledge of a droplet may be whose Node is gone, and
// when it is looked at again where the API's word isn't definite.
const goneAge = 10 * time.Second

// unclearPatience is how long droplets without a Node may stay backends as the API
// doesn't tell whether they are gone.
const unclearPatience = 5 * time.Minute

// withoutGone returns the load balancer without the backends whose droplets are
// gone by the API's definite word: DigitalOcean takes those out by itself. To
// ask for a droplet is one call or two for all load balancers, to take it out of
// each is one for each, so few load balancers are not worth it. Of the droplets
// that are unclear nothing definite is known yet.
func (r *Reconciler) withoutGone(ctx context.Context, w *work, lb *godo.LoadBalancer, desired loadbalancer.Desired) (_ *godo.LoadBalancer, unclear []int) {
	surplus := r.withoutNode(w, lb, desired)
	if len(surplus) == 0 || 2*len(surplus) >= len(r.allIDs()) {
		return lb, nil
	}
	var gone []int
	for _, id := range surplus {
		switch _, err := r.droplets.Get(ctx, id, goneAge, func() []int { return surplus }); {
		case inventory.IsGone(err):
			gone = append(gone, id)
		case err != nil:
			unclear = append(unclear, id)
		}
	}
	if len(gone) == 0 {
		return lb, unclear
	}
	r.balancers.WrittenDroplets(lb.ID, nil, gone)
	without := *lb
	without.DropletIDs = slices.DeleteFunc(slices.Clone(lb.DropletIDs), func(id int) bool { return slices.Contains(gone, id) })
	return &without, unclear
}

// keptForNow adds the droplets that are unclear to what is desired, where no
// settings are to be written with it anyhow: most of them are gone, and nothing
// is left to do when that is known. A droplet that stays unclear goes after a
// while.
func (r *Reconciler) keptForNow(w *work, lb *godo.LoadBalancer, desired loadbalancer.Desired, unclear []int) loadbalancer.Desired {
	if unclear = r.stillPatient(w.svc, unclear); len(unclear) == 0 {
		return desired
	}
	if changes, _ := r.differences(w, lb, desired); len(loadbalancer.Of(loadbalancer.ChangeSettings, changes)) > 0 {
		return desired
	}
	desired.DropletIDs = slices.Sorted(slices.Values(slices.Concat(desired.DropletIDs, unclear)))
	r.again.after(keyOf(w.svc), goneAge)
	return desired
}

// stillPatient notes which droplets are unclear, and returns those that aren't for
// too long.
func (r *Reconciler) stillPatient(svc *v1.Service, unclear []int) []int {
	before, now := r.recall(svc).unclear, r.clock.Now()
	if len(before)+len(unclear) == 0 {
		return nil
	}
	since := make(map[int]time.Time, len(unclear))
	for _, id := range unclear {
		since[id] = now
		if begun, known := before[id]; known {
			since[id] = begun
		}
	}
	r.note(svc, func(m *memory) { m.unclear = since })
	return slices.DeleteFunc(unclear, func(id int) bool { return now.Sub(since[id]) >= unclearPatience })
}

// withoutNode are the backends that go and have no Node; one that has tells of
// its droplet itself.
func (r *Reconciler) withoutNode(w *work, lb *godo.LoadBalancer, desired loadbalancer.Desired) []int {
	if desired.Tag != "" || lb.Tag != "" {
		return nil
	}
	settings, _ := r.heed(w, lb, desired.Settings) // others' droplets are no surplus
	_, surplus := loadbalancer.Split(settings.DropletIDs, lb.DropletIDs)
	return slices.DeleteFunc(surplus, func(id int) bool {
		return slices.ContainsFunc(w.candidates, func(c loadbalancer.Candidate) bool { return c.DropletID == id })
	})
}

// servingOf are the droplets that the load balancer sends to; lb may be nil.
func servingOf(lb *godo.LoadBalancer) []int {
	if lb == nil {
		return nil
	}
	return lb.DropletIDs
}

// judgeBackends tells what keeps Nodes from being backends, and returns what is
// wrong with the Service where the load balancer would lose the last ones.
func (r *Reconciler) judgeBackends(w *work, lb *godo.LoadBalancer, backends loadbalancer.Backends) []annotation.Problem {
	if lb != nil && len(lb.DropletIDs) > 0 {
		if problems := backends.SelectorProblem(w.spec); len(problems) > 0 {
			return problems // it keeps those that it has
		}
	}
	r.tellBackends(w.svc, backends)
	return nil
}

// tellBackends explains why there is none, if so.
func (r *Reconciler) tellBackends(svc *v1.Service, backends loadbalancer.Backends) {
	if why := backends.Explain(); why != "" {
		r.recorder.Tell(svc, events.NoEligibleBackends, "The load balancer has nothing to send to: "+why+".")
	} else {
		r.recorder.Forget(svc, events.NoEligibleBackends)
	}
	if why := backends.ExplainStack(); why != "" {
		r.recorder.Tell(svc, events.BackendsLeftOut, why)
	} else {
		r.recorder.Forget(svc, events.BackendsLeftOut)
	}
}
