package sandbox

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/simulator"
)

// kubeletInterval is how soon a Node's Ready condition follows its droplet. In
// a cluster it takes 40 seconds until a silent kubelet's Node is not ready.
const kubeletInterval = time.Second

// dropletActive is the status of a droplet that runs.
const dropletActive = "active"

// kubelets keep the Ready conditions of Nodes true to their droplets: a
// droplet that is off or gone runs no kubelet. The manager asks about the
// droplets of Nodes that are not ready only, so without them nothing would
// follow when a droplet is stopped or deleted.
type kubelets struct {
	client   kubernetes.Interface
	droplets dropletReader
	// ready holds what was last written, by droplet; names are the Nodes'.
	ready map[int]bool
	names map[int]string
}

// dropletReader looks at a droplet as its hardware would, without an API call
// that counts.
type dropletReader interface {
	Droplet(id int) (simulator.Droplet, bool)
}

var _ dropletReader = (*simulator.Simulator)(nil)

func newKubelets(client kubernetes.Interface, droplets dropletReader, names map[int]string) *kubelets {
	k := &kubelets{client: client, droplets: droplets, ready: map[int]bool{}, names: names}
	for id := range names {
		k.ready[id] = true
	}
	return k
}

// run follows the droplets until the context ends.
func (k *kubelets) run(ctx context.Context) {
	ticker := time.NewTicker(kubeletInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			k.follow(ctx)
		}
	}
}

// follow writes what has changed since it was last called.
func (k *kubelets) follow(ctx context.Context) {
	for id, name := range k.names {
		droplet, exists := k.droplets.Droplet(id)
		runs := exists && droplet.Status == dropletActive
		if runs == k.ready[id] {
			continue
		}
		err := SetNodeReady(ctx, k.client, name, runs)
		if err != nil && !apierrors.IsNotFound(err) {
			klog.FromContext(ctx).V(1).Info("Node's condition not written, will try again", "node", name, "err", err)
			continue
		}
		k.ready[id] = runs
	}
}
