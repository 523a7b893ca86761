// Package instances tells Kubernetes about the droplets behind its Nodes: it
// implements the framework's InstancesV2 on the snapshot of package inventory.
//
// Its first rule is that a Node is never lost by mistake. The framework removes
// a Node for which [Instances.InstanceExists] says false, so that answer needs
// the API's word for this very droplet, twice, and a brake holds when many
// Nodes look gone at once.
package instances

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/providerid"
)

// Instances implements [cloudprovider.InstancesV2].
type Instances struct {
	droplets *inventory.Droplets
	nodes    corelisters.NodeLister
	recorder *events.Recorder
	clock    clock.WithTicker
	settings config.Nodes
	brake    *brake
	notes    *notes
	waiting  chan struct{}
}

var _ cloudprovider.InstancesV2 = (*Instances)(nil)

// New makes an Instances. The lister tells which other Nodes there are, which
// bounds how many may be removed at once.
func New(droplets *inventory.Droplets, nodes corelisters.NodeLister, recorder *events.Recorder, settings config.Nodes, metrics *Metrics, clock clock.WithTicker) *Instances {
	return &Instances{
		droplets: droplets, nodes: Unignored(nodes, settings.Ignore), recorder: recorder, clock: clock, settings: settings,
		brake: newBrake(settings.DeletionBrake, metrics, clock), notes: newNotes(clock),
		waiting: make(chan struct{}, waitSlots),
	}
}

// InstanceExists tells whether the Node's droplet exists. False means that the
// framework removes the Node. A Node that isn't a droplet's exists as far as we
// know.
func (i *Instances) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	if node.Spec.ProviderID == "" || i.ignores(node) {
		return true, nil // InstanceMetadata looks for its droplet, if anybody does
	}
	id, err := providerid.Parse(node.Spec.ProviderID)
	if err != nil {
		i.tellForeign(node)
		return true, nil
	}
	droplet, err := i.droplets.Watch(ctx, id)
	switch {
	case err == nil:
		i.seen(node, droplet)
		return true, nil
	case errors.Is(err, inventory.ErrGone):
		return i.decideGone(node, id)
	case errors.Is(err, inventory.ErrNotBelieved):
		i.hold(node, fmt.Sprintf("DigitalOcean doesn't find droplet %d, but the Node is kept, as the API token doesn't show the rest of the cluster either. Check that the token is of the right team.", id))
		return false, fmt.Errorf("node %q: %w", node.Name, err)
	default:
		return false, fmt.Errorf("node %q: %w", node.Name, err)
	}
}

// youngAge is how long a Node and its droplet are never gone: the API may not
// find a droplet that was made a moment ago.
const youngAge = 2 * time.Minute

func (i *Instances) decideGone(node *v1.Node, id int) (exists bool, err error) {
	droplet, seen := i.droplets.Cached(id)
	if !seen && isUninitialized(node) {
		// Nobody has seen the droplet yet: the provider ID may be wrong.
		i.notes.add(node, stateWaitingForDroplet)
		i.tellIfOld(node, waitBelowAge, events.NodeWithoutDroplet, fmt.Sprintf("DigitalOcean has no droplet %d, and never had one that this Node was initialised from. Check the kubelet's --provider-id; if the machine is gone, remove the Node with: kubectl delete node %s", id, node.Name))
		return false, fmt.Errorf("node %q: droplet %d is not found and was never seen", node.Name, id)
	}
	if age := i.age(node, droplet); age < youngAge {
		return false, fmt.Errorf("node %q: droplet %d is not found, but is too young (%s) to be called gone", node.Name, id, age.Round(time.Second))
	}
	i.noteGone(node, id)
	all := i.all()
	i.notes.keep(all)
	if err := i.brake.mayRemove(node, all); err != nil {
		if errors.Is(err, errBlocked) {
			i.hold(node, fmt.Sprintf("Droplet %d does not exist any more, but the Node is kept, as too many Nodes look gone at once. Check that the API token is of the right team and that the droplets really are gone; then set %s=off and restart the manager, or delete the Nodes by hand.", id, config.EnvNodeBrake))
		}
		return false, fmt.Errorf("node %q: droplet %d is gone: %w", node.Name, id, err)
	}
	i.notes.letGo(node)
	return false, nil
}

// age is the time since Node and droplet are both there.
func (i *Instances) age(node *v1.Node, droplet inventory.Droplet) time.Duration {
	created := node.CreationTimestamp.Time
	if droplet.Created.After(created) {
		created = droplet.Created
	}
	return i.clock.Since(created)
}

// removalTakes is how long the framework may take to remove a Node, at most.
const removalTakes = time.Minute

// noteGone notes that a Node's droplet is gone, and tells when the Node should
// have been removed for that already: the API server refuses it or waits.
func (i *Instances) noteGone(node *v1.Node, id int) {
	letGo := i.notes.add(node, stateGone)
	if letGo.IsZero() || i.clock.Since(letGo) < removalTakes {
		return
	}
	i.notes.add(node, stateNotRemoved)
	i.recorder.Tell(node, events.NodeNotRemoved, fmt.Sprintf("Droplet %d does not exist any more and the Node was to be removed, but it is still there. "+
		"Either the manager may not remove Nodes, as an event DeletingNodeFailed then says (its ClusterRole needs the verb delete on nodes), or a finalizer holds the Node. To remove it by hand: kubectl delete node %s", id, node.Name))
}

// seen notes that the API showed the Node's droplet.
func (i *Instances) seen(node *v1.Node, droplet inventory.Droplet) {
	if i.brake.seen(node, droplet.Read) {
		i.recorder.Forget(node, events.NodeDeletionBlocked)
	}
	if i.notes.seen(node, droplet.Read) {
		for _, reason := range []events.Reason{events.DropletGone, events.DropletReplaced, events.NodeNotRemoved} {
			i.recorder.Forget(node, reason)
		}
	}
}

// hold notes and tells that a Node which looks gone is kept.
func (i *Instances) hold(node *v1.Node, message string) {
	i.brake.hold(node)
	i.recorder.Tell(node, events.NodeDeletionBlocked, message)
}

// InstanceShutdown tells whether the Node's droplet is powered off. It re-uses
// what InstanceExists read a moment before.
func (i *Instances) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	if i.ignores(node) {
		return false, nil
	}
	id, err := providerid.Parse(node.Spec.ProviderID)
	if err != nil {
		return false, nil // not ours, told by InstanceExists
	}
	droplet, err := i.droplets.Watch(ctx, id)
	if err != nil {
		return false, fmt.Errorf("node %q: %w", node.Name, err)
	}
	return droplet.IsShutdown(), nil
}

func (i *Instances) tellIfOld(node *v1.Node, age time.Duration, reason events.Reason, message string) {
	if i.clock.Since(node.CreationTimestamp.Time) >= age {
		i.recorder.Tell(node, reason, message)
	}
}

func (i *Instances) tellForeign(node *v1.Node) {
	i.recorder.Tell(node, events.ForeignProviderID, fmt.Sprintf("Provider ID %q is not of the form digitalocean://<droplet id>, so the Node is left alone: it gets no address, is never removed, and is no load balancer's backend. "+
		"A provider ID can't be changed: if the machine is a droplet, start its kubelet without --provider-id (or with the right one), delete the Node object and restart the kubelet.", node.Spec.ProviderID))
}
