package instances

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/inventory"
)

// tellGone tells of a Node whose droplet is gone while its kubelet is ready: a
// machine answers as this Node that isn't its droplet, most often one that was
// made in its place with the same name. Such a Node is never removed.
func (i *Instances) tellGone(ctx context.Context, node *v1.Node, id int) {
	droplet, _ := i.droplets.Cached(id)
	if i.age(node, droplet) < youngAge {
		return
	}
	name := node.Name
	if droplet.Name != "" {
		name = droplet.Name // the Node may be called otherwise
	}
	// Droplets of other Nodes with the same name took nobody's place.
	successors, err := i.droplets.Named(ctx, name, append(i.known(), id), sweepAge)
	switch {
	case err != nil:
		i.notes.add(node, stateGone)
		klog.FromContext(ctx).V(2).Info("Can't look for a droplet in the place of one that is gone", "node", klog.KObj(node), "droplet", id, "reason", err)
	case len(successors) == 0:
		i.notes.add(node, stateGone)
		i.recorder.Forget(node, events.DropletReplaced)
		i.recorder.Tell(node, events.DropletGone, fmt.Sprintf("Droplet %d of this Node's provider ID does not exist any more, and no other droplet is known by the name %q, but the kubelet is ready: it runs on another machine. %s", id, name, howToReplace(node)))
	default:
		i.notes.add(node, stateReplaced)
		i.recorder.Forget(node, events.DropletGone)
		i.recorder.Tell(node, events.DropletReplaced, fmt.Sprintf("Droplet %d of this Node's provider ID does not exist any more; droplet %s has its name now. %s", id, listIDs(successors), howToReplace(node)))
	}
}

func howToReplace(node *v1.Node) string {
	return fmt.Sprintf("The Node is kept while it is ready, but gets no addresses and is no load balancer's backend. A provider ID can't be changed: delete the Node object (kubectl delete node %s) and restart the kubelet, so that it registers anew.", node.Name)
}

func listIDs(droplets []inventory.Droplet) string {
	ids := make([]string, len(droplets))
	for i, d := range droplets {
		ids[i] = fmt.Sprint(d.ID)
	}
	return strings.Join(ids, ", ")
}
