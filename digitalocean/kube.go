package digitalocean

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
)

// kubeAccess is the provider's way to the Kubernetes API.
type kubeAccess struct {
	// context ends with the process.
	context  context.Context
	client   kubernetes.Interface
	recorder record.EventRecorder
}

func newKubeAccess(clientBuilder cloudprovider.ControllerClientBuilder, stop <-chan struct{}) kubeAccess {
	client := clientBuilder.ClientOrDie(events.Component)
	ctx := wait.ContextForChannel(stop)
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return kubeAccess{
		context:  ctx,
		client:   client,
		recorder: broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: events.Component}),
	}
}

// tokenCheck is how often it is looked whether the token is refused. It makes
// no call.
const tokenCheck = 5 * time.Second

// watchToken tells on the manager's lease when DigitalOcean refuses the token:
// there may be no Service on which anybody would see it.
func (c *Cloud) watchToken(stop <-chan struct{}) {
	recorder := events.NewRecorder(c.kube.recorder, c.clock)
	lease := c.lease()
	wait.Until(func() {
		health := c.client.Health()
		if !health.OK && health.Class == doapi.ClassAccount {
			recorder.Tell(lease, events.TokenRefused, "DigitalOcean refuses the API token: "+health.Message+". Nothing works until it is replaced.")
		} else {
			recorder.Forget(lease, events.TokenRefused)
		}
	}, tokenCheck, stop)
}
