package instances

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	book "digitalocean-cloud-controller-manager/internal/state"
)

// measured times and counts what is done for Nodes.
type measured struct {
	*Instances
	metrics *book.Metrics
	clock   clock.PassiveClock
}

// Measured returns the Instances with its work timed and counted.
func Measured(i *Instances, metrics *book.Metrics) cloudprovider.InstancesV2 {
	return &measured{i, metrics, i.clock}
}

// InstanceMetadata implements [cloudprovider.InstancesV2].
func (m *measured) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	begun := m.clock.Now()
	metadata, err := m.Instances.InstanceMetadata(ctx, node)
	m.metrics.Synced(book.KindNode, resultOf(err), m.clock.Since(begun))
	return metadata, err
}

func resultOf(err error) book.Result {
	if errors.Is(err, errNotYet) {
		return book.ResultWaiting
	}
	return book.ResultOf(err)
}
