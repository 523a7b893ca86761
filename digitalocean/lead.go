package digitalocean

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/gate"
)

// election is how it is decided which of several replicas works.
type election struct {
	// namespace and name are the lease's; without a name, nobody is elected.
	namespace, name string
	// duration is how long the lease holds, and deadline after which time a leader
	// gives up that could not renew it.
	duration, deadline time.Duration
}

const (
	// closeTimeout is how long a leader that ends waits for its last writes, and
	// lingers how long after them, for what is written to Kubernetes of an answer.
	closeTimeout = 5 * time.Second
	lingers      = 200 * time.Millisecond
	// resignTimeout bounds what Kubernetes' API takes of the end.
	resignTimeout = 3 * time.Second
)

// elect has this process work only while it holds the lease. After a standstill
// that may have cost it the lease, writes to DigitalOcean wait until it is clear
// that it leads still. The framework makes its own way to the lease of kube later.
func (c *Cloud) elect(e election, kube *rest.Config) {
	c.election = e
	kube.Wrap(func(next http.RoundTripper) http.RoundTripper { return &resigned{c, next} })
	go c.gate.Run(context.Background(), gate.Options{Clock: c.clock, Harmless: e.duration - e.deadline, Leads: c.hasRenewed})
}

// hasRenewed tells whether this process has renewed its lease since then. Before
// it leads, it writes nothing that others would write as well.
func (c *Cloud) hasRenewed(ctx context.Context, since time.Time) bool {
	holder := c.holder.Load()
	if holder == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, resignTimeout)
	defer cancel()
	lease, err := c.kube.client.CoordinationV1().Leases(c.election.namespace).Get(ctx, c.election.name, metav1.GetOptions{})
	if err != nil {
		return false
	}
	held, renewed := lease.Spec.HolderIdentity, lease.Spec.RenewTime
	// It was this process that wrote the time.
	return held != nil && *held == *holder && renewed != nil && renewed.After(since)
}

// resigned keeps the leader election, which the framework can't be told to end,
// from taking back a lease that was given up.
type resigned struct {
	cloud *Cloud
	next  http.RoundTripper
}

// resigning is in the context of the requests with which the lease is given up.
type resigning struct{}

var errResigned = errors.New("the lease was given up, as this process ends")

func (t *resigned) RoundTrip(req *http.Request) (*http.Response, error) {
	isLease := strings.HasSuffix(req.URL.Path, "/namespaces/"+t.cloud.election.namespace+"/leases/"+t.cloud.election.name)
	if isLease && t.cloud.resigned.Load() && req.Context().Value(resigning{}) == nil {
		if req.Body != nil {
			_ = req.Body.Close() // as the interface asks for; there is nothing to do about a failure
		}
		return nil, errResigned
	}
	return t.next.RoundTrip(req)
}

// WrappedRoundTripper lets client-go find its own transports.
func (t *resigned) WrappedRoundTripper() http.RoundTripper { return t.next }

// leads notes as whom this process leads, which the framework keeps to itself:
// it calls when it has just got the lease.
func (c *Cloud) leads() {
	if c.election.name == "" {
		return
	}
	ctx, cancel := context.WithTimeout(c.kube.context, resignTimeout)
	defer cancel()
	lease, err := c.kube.client.CoordinationV1().Leases(c.election.namespace).Get(ctx, c.election.name, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		klog.FromContext(ctx).Info("The lease can't be read, so it will not be given up at the end, and runs out", "err", err)
		return
	}
	c.holder.Store(lease.Spec.HolderIdentity)
}

// Resign ends the work of this process: it lets the writes to DigitalOcean end
// that are on their way, and no other begin, and gives the lease up, so that
// another replica need not wait for it to run out. The framework doesn't. The
// process is to end right after it.
func (c *Cloud) Resign(ctx context.Context) error {
	holder := c.holder.Load()
	if holder == nil {
		return nil
	}
	closing, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	if err := c.gate.Close(closing); err != nil {
		return err // whoever leads next waits for the lease, and so for the write
	}
	<-c.clock.After(lingers)
	c.resigned.Store(true)
	ctx, cancel = context.WithTimeout(context.WithValue(ctx, resigning{}, true), resignTimeout)
	defer cancel()
	// The last renewal may be on its way still.
	if err := retry.RetryOnConflict(retry.DefaultRetry, func() error { return c.giveUp(ctx, *holder) }); err != nil {
		return fmt.Errorf("give up the lease: %w", err)
	}
	return nil
}

func (c *Cloud) giveUp(ctx context.Context, holder string) error {
	leases := c.kube.client.CoordinationV1().Leases(c.election.namespace)
	lease, err := leases.Get(ctx, c.election.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if held := lease.Spec.HolderIdentity; held == nil || *held != holder {
		return nil // it is another's
	}
	now := metav1.NewMicroTime(c.clock.Now())
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new(""), new(int32(1))
	lease.Spec.RenewTime, lease.Spec.AcquireTime = &now, &now
	if _, err := leases.Update(ctx, lease, metav1.UpdateOptions{}); err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Gave up the lease", "lease", klog.KObj(lease))
	return nil
}

// Names of the lease by default: the framework's, and the public manager's.
const (
	leaseName      = "cloud-controller-manager"
	leaseNamespace = metav1.NamespaceSystem
)

// lease is the object on which is told what concerns no Service and no Node.
func (c *Cloud) lease() *v1.ObjectReference {
	namespace, name := leaseNamespace, leaseName
	if c.election.name != "" {
		namespace, name = c.election.namespace, c.election.name
	}
	return &v1.ObjectReference{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: namespace, Name: name}
}
