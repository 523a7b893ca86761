package instances

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/providerid"
)

// How old an answer may be. The framework looks at every initialised Node each
// five minutes: the snapshot must be just too old by then. A Node that is being
// initialised needs addresses that its droplet got a moment ago.
const (
	sweepAge = 4*time.Minute + 30*time.Second
	initAge  = time.Minute
	pollAge  = 4 * time.Second
)

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
// the result is empty, which the framework ignores; for one that is to be
// ignored and that somebody else will initialise, it is nil.
func (i *Instances) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	if i.ignores(node) {
		return nothing(node), nil
	}
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
		i.notes.add(node, stateWaitingForAddress)
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
		ctx = doapi.WithPriority(ctx, doapi.Background)
		droplet, err := i.droplets.Get(ctx, id, sweepAge, i.known)
		if inventory.IsGone(err) && !isUnready(node) {
			i.tellGone(ctx, node, id)
		}
		return droplet, err
	}
	droplet, err := i.droplets.Get(ctx, id, initAge, i.uninitialized)
	if err == nil && !droplet.HasAddress() {
		droplet, err = i.droplets.Get(ctx, id, pollAge, i.uninitialized)
	}
	if inventory.IsGone(err) {
		i.notes.add(node, stateWaitingForDroplet)
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
		i.notes.add(node, stateWaitingForDroplet)
		// How many droplets there are changes; what was compared does not.
		compared := fmt.Sprintf("No droplet has the name %q or one of the addresses %v", node.Name, reportedAddresses(node))
		i.tellIfOld(node, 20*time.Second, events.DropletNotFound, compared+". The search goes on.")
		i.tellIfOld(node, waitBelowAge, events.NodeWithoutDroplet, compared+". If the machine is gone, remove the Node with: kubectl delete node "+node.Name)
		return droplet, fmt.Errorf("%w: %w", errNotYet, err)
	case errors.Is(err, inventory.ErrAmbiguous):
		i.notes.add(node, stateAmbiguous)
		i.recorder.Tell(node, events.DropletAmbiguous, err.Error())
	}
	return droplet, err
}
