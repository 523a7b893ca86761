package instances

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/providerid"
	book "digitalocean-cloud-controller-manager/internal/state"
)

// isAway tells whether a Node in the state is not as it must be. One that isn't
// a droplet's is none of the manager's business, and one that is off was turned
// off.
func (s state) isAway() bool {
	return s != stateInitialized && s != stateForeign && s != stateShutdown
}

// awaySince is since when a Node that is in the state is not as it must be;
// zero: it is.
func (i *Instances) awaySince(node *v1.Node, s state) time.Time {
	if !s.isAway() {
		return time.Time{}
	}
	if s == stateDeletionBlocked {
		if since := i.brake.heldSince(node); !since.IsZero() {
			return since
		}
	}
	if since := i.notes.since(node); !since.IsZero() && !isUninitialized(node) {
		return since
	}
	return node.CreationTimestamp.Time
}

// Away returns since when each Node that is not as it must be has been so.
func (i *Instances) Away() []time.Time {
	var away []time.Time
	for _, node := range i.all() {
		if since := i.awaySince(node, stateOf(node, i.factsOf(node))); !since.IsZero() {
			away = append(away, since)
		}
	}
	return away
}

// Report describes every Node and its droplet as it was last read. It makes no
// call.
func (i *Instances) Report() []book.Node {
	all := i.all()
	i.notes.keep(all)
	nodes := make([]book.Node, 0, len(all))
	for _, node := range all {
		nodes = append(nodes, i.describe(node))
	}
	book.SortNodes(nodes)
	return nodes
}

func (i *Instances) describe(node *v1.Node) book.Node {
	s := stateOf(node, i.factsOf(node))
	n := book.Node{Name: node.Name, ProviderID: node.Spec.ProviderID, State: string(s), AwaySince: i.awaySince(node, s)}
	for _, address := range node.Status.Addresses {
		if address.Type == v1.NodeInternalIP || address.Type == v1.NodeExternalIP {
			n.Addresses = append(n.Addresses, address.Address)
		}
	}
	id, err := providerid.Parse(node.Spec.ProviderID)
	if err != nil {
		return n // none, or a stranger's
	}
	n.DropletID = id
	if droplet, ok := i.droplets.Cached(id); ok {
		n.Droplet, n.Status, n.Size, n.Read = droplet.Name, droplet.Status, droplet.Size, droplet.Read
		n.Addresses = droplet.Addresses()
	}
	return n
}
