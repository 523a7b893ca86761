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
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/internal/doapi"
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
	waiting  chan struct{}
}

var _ cloudprovider.InstancesV2 = (*Instances)(nil)

// New makes an Instances. The lister tells which other Nodes there are, which
// bounds how many may be removed at once.
func New(droplets *inventory.Droplets, nodes corelisters.NodeLister, recorder *events.Recorder, settings config.Nodes, metrics *Metrics, clock clock.WithTicker) *Instances {
	return &Instances{
		droplets: droplets, nodes: nodes, recorder: recorder, clock: clock, settings: settings,
		brake: newBrake(settings.DeletionBrake, metrics, clock), waiting: make(chan struct{}, waitSlots),
	}
}

// How old an answer may be. The framework looks at every initialised Node each
// five minutes: the snapshot must be just too old by then. A Node that is being
// initialised needs addresses that its droplet got a moment ago.
const (
	sweepAge = 4*time.Minute + 30*time.Second
	initAge  = time.Minute
	pollAge  = 4 * time.Second
)

// InstanceExists tells whether the Node's droplet exists. False means that the
// framework removes the Node. A Node that isn't a droplet's exists as far as we
// know.
func (i *Instances) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	if node.Spec.ProviderID == "" {
		return true, nil // InstanceMetadata looks for its droplet
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
	created := node.CreationTimestamp.Time
	if droplet, ok := i.droplets.Cached(id); ok && droplet.Created.After(created) {
		created = droplet.Created
	}
	if _, seen := i.droplets.Cached(id); !seen && isUninitialized(node) {
		// Nobody has seen the droplet yet: the provider ID may be wrong.
		i.tellIfOld(node, waitBelowAge, events.NodeWithoutDroplet, fmt.Sprintf("DigitalOcean has no droplet %d, and never had one that this Node was initialised from. Check the kubelet's --provider-id; if the machine is gone, remove the Node with: kubectl delete node %s", id, node.Name))
		return false, fmt.Errorf("node %q: droplet %d is not found and was never seen", node.Name, id)
	}
	if age := i.clock.Since(created); age < youngAge {
		return false, fmt.Errorf("node %q: droplet %d is not found, but is too young (%s) to be called gone", node.Name, id, age.Round(time.Second))
	}
	if err := i.brake.mayRemove(node, i.all()); err != nil {
		if errors.Is(err, errBlocked) {
			i.hold(node, fmt.Sprintf("Droplet %d does not exist any more, but the Node is kept, as too many Nodes look gone at once. Check that the API token is of the right team and that the droplets really are gone; then set %s=off and restart the manager, or delete the Nodes by hand.", id, config.EnvNodeBrake))
		}
		return false, fmt.Errorf("node %q: droplet %d is gone: %w", node.Name, id, err)
	}
	return false, nil
}

// seen notes that the API showed the Node's droplet.
func (i *Instances) seen(node *v1.Node, droplet inventory.Droplet) {
	if i.brake.seen(node, droplet.Read) {
		i.recorder.Forget(node, events.NodeDeletionBlocked)
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

// How long InstanceMetadata waits for a droplet that isn't there yet. The
// framework tries again after a wait that doubles each time, and after two
// minutes hardly ever; waiting here keeps the reaction to seconds while the
// Node is new.
const (
	waitBelowAge = 10 * time.Minute
	waitAtMost   = 12 * time.Second
	waitInterval = 2 * time.Second
	// waitSlots is how many Nodes may wait at once, of the framework's workers:
	// Nodes whose droplet never comes must not hold up the others.
	waitSlots = 10
)

// errNotYet is trouble that time alone may mend within seconds.
var errNotYet = errors.New("not ready yet")

// InstanceMetadata returns the Node's provider ID, addresses, type, region and
// labels. For a Node that is not ours and that somebody else has initialised,
// the result is empty, which the framework ignores.
func (i *Instances) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	deadline := i.clock.Now().Add(waitAtMost)
	for {
		metadata, err := i.metadata(ctx, node)
		if err == nil {
			return metadata, nil
		}
		if !errors.Is(err, errNotYet) || !i.isNew(node) || !i.clock.Now().Before(deadline) {
			return nil, fmt.Errorf("node %q: %w", node.Name, err)
		}
		select {
		case i.waiting <- struct{}{}:
		default:
			return nil, fmt.Errorf("node %q: %w", node.Name, err)
		}
		err = i.wait(ctx, err)
		<-i.waiting
		if err != nil {
			return nil, fmt.Errorf("node %q: %w", node.Name, err)
		}
	}
}

// wait waits a moment; when the context ends first, it returns the error.
func (i *Instances) wait(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return err
	case <-i.clock.After(waitInterval):
		return nil
	}
}

func (i *Instances) isNew(node *v1.Node) bool {
	return isUninitialized(node) && i.clock.Since(node.CreationTimestamp.Time) < waitBelowAge
}

func (i *Instances) metadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	if node.Spec.ProviderID != "" {
		if _, err := providerid.Parse(node.Spec.ProviderID); err != nil {
			i.tellForeign(node)
			if isUninitialized(node) {
				return nil, err
			}
			return &cloudprovider.InstanceMetadata{}, nil
		}
	}
	i.brake.tidy(i.all)
	droplet, err := i.dropletOf(ctx, node)
	if err != nil {
		return nil, err
	}
	i.seen(node, droplet)
	if !droplet.HasAddress() {
		i.tellIfOld(node, time.Minute, events.DropletWithoutAddress, fmt.Sprintf("Droplet %d has no address yet.", droplet.ID))
		return nil, fmt.Errorf("%w: droplet %d has no address", errNotYet, droplet.ID)
	}
	i.recorder.Forget(node, events.DropletWithoutAddress)
	addresses := nodeAddresses(node, droplet)
	i.checkProvidedIP(node, droplet, addresses)
	if len(droplet.PrivateIPv4) == 0 {
		i.tellIfOld(node, time.Minute, events.NodeWithoutInternalIP, fmt.Sprintf("Droplet %d has no private address, so the Node gets no InternalIP. Logs and exec need kube-apiserver to prefer other addresses: --kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname.", droplet.ID))
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:       providerid.ForDroplet(droplet.ID),
		InstanceType:     droplet.Size,
		NodeAddresses:    addresses,
		Region:           droplet.Region,
		AdditionalLabels: dropletLabels(droplet, i.settings.TagLabels),
	}, nil
}

// dropletOf finds the Node's droplet by provider ID or by name and addresses.
func (i *Instances) dropletOf(ctx context.Context, node *v1.Node) (inventory.Droplet, error) {
	if node.Spec.ProviderID == "" {
		found, err := i.find(ctx, node)
		if err != nil || found.HasAddress() {
			return found, err
		}
		return i.droplets.Get(ctx, found.ID, pollAge, i.uninitialized)
	}
	id, err := providerid.Parse(node.Spec.ProviderID)
	if err != nil {
		return inventory.Droplet{}, err
	}
	if !isUninitialized(node) {
		return i.droplets.Get(doapi.WithPriority(ctx, doapi.Background), id, sweepAge, i.known)
	}
	droplet, err := i.droplets.Get(ctx, id, initAge, i.uninitialized)
	if err == nil && !droplet.HasAddress() {
		droplet, err = i.droplets.Get(ctx, id, pollAge, i.uninitialized)
	}
	if errors.Is(err, inventory.ErrGone) || errors.Is(err, inventory.ErrWasGone) {
		return droplet, fmt.Errorf("%w: %w", errNotYet, err)
	}
	return droplet, err
}

func (i *Instances) find(ctx context.Context, node *v1.Node) (inventory.Droplet, error) {
	if !isUninitialized(node) {
		i.recorder.Tell(node, events.NodeNeverInitialized, "The Node has no provider ID and no taint "+cloudproviderapi.TaintExternalCloudProvider+
			", so its kubelet was started without --cloud-provider=external and nothing initialises it. Set the flag, delete the Node object and restart the kubelet; or put the taint on the Node.")
	}
	droplet, err := i.droplets.Find(ctx, inventory.Query{
		Name: node.Name, Addresses: reportedAddresses(node), Since: node.CreationTimestamp.Time,
	})
	switch {
	case errors.Is(err, inventory.ErrNoMatch):
		// How many droplets there are changes; what was compared does not.
		compared := fmt.Sprintf("No droplet has the name %q or one of the addresses %v", node.Name, reportedAddresses(node))
		i.tellIfOld(node, 20*time.Second, events.DropletNotFound, compared+". The search goes on.")
		i.tellIfOld(node, waitBelowAge, events.NodeWithoutDroplet, compared+". If the machine is gone, remove the Node with: kubectl delete node "+node.Name)
		return droplet, fmt.Errorf("%w: %w", errNotYet, err)
	case errors.Is(err, inventory.ErrAmbiguous):
		i.recorder.Tell(node, events.DropletAmbiguous, err.Error())
	}
	return droplet, err
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
