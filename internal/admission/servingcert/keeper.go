package servingcert

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Options are what a Keeper works with.
type Options struct {
	Kube kubernetes.Interface
	// Namespace and Secret are where the certificates are kept.
	Namespace, Secret string
	// Configuration is the ValidatingWebhookConfiguration that is told the
	// authorities.
	Configuration string
	// Names are the DNS names and addresses of the server.
	Names []string
	// Lifetime is that of serving certificates.
	Lifetime time.Duration
	Clock    clock.WithTicker
}

// Keeper makes, renews and tells certificates of its own.
type Keeper struct {
	kube                             kubernetes.Interface
	namespace, secret, configuration string
	plan                             plan
	clock                            clock.WithTicker

	current atomic.Pointer[tls.Certificate]
	// last is the state as this process knew it last: a Secret that was deleted
	// comes back as it was, and no client loses its trust.
	last state

	mu  sync.Mutex
	err error
}

// NewKeeper makes a Keeper. Nothing happens before [Keeper.Run].
func NewKeeper(o Options) *Keeper {
	return &Keeper{
		kube: o.Kube, namespace: o.Namespace, secret: o.Secret, configuration: o.Configuration,
		plan: plan{o.Names, o.Lifetime}, clock: o.Clock, err: errors.New("there is no certificate yet"),
	}
}

const (
	// maxInterval also is how long a configuration that is made, or reset by a
	// deployment tool, may lack the authorities: a look is two small reads.
	maxInterval = 10 * time.Second
	retryAfter  = 2 * time.Second
	syncTimeout = 20 * time.Second
)

// interval is how often it is looked whether all is well: often enough for every
// replica to tell a new authority before it signs.
func (k *Keeper) interval() time.Duration { return min(k.plan.settle()/2, maxInterval) }

// Run keeps the certificate until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	logger := klog.FromContext(ctx)
	for ctx.Err() == nil {
		err := k.sync(ctx)
		k.mu.Lock()
		k.err = err
		k.mu.Unlock()
		wait := k.interval()
		if err != nil && ctx.Err() == nil {
			logger.Error(err, "The certificate can't be kept; going on with what there is", "secret", klog.KRef(k.namespace, k.secret))
			wait = min(wait, retryAfter)
		}
		select {
		case <-ctx.Done():
		case <-k.clock.After(wait):
		}
	}
}

// Certificate is for [tls.Config.GetCertificate].
func (k *Keeper) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c := k.current.Load(); c != nil {
		return c, nil
	}
	return nil, errors.New("there is no certificate yet")
}

// Ready fails while clients can't trust the server.
func (k *Keeper) Ready(context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// sync brings the Secret up to date, tells its authorities, and only then
// serves what they signed.
func (k *Keeper) sync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	var s state
	lost := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	err := retry.OnError(retry.DefaultBackoff, lost, func() (err error) {
		s, err = k.agree(ctx)
		return err
	})
	if err != nil {
		return err
	}
	k.last = s
	err = k.tell(ctx, s.bundle())
	if before := k.current.Load(); before == nil || !bytes.Equal(before.Certificate[0], s.serving.certificate.Raw) {
		k.current.Store(s.certificate())
		klog.FromContext(ctx).Info("Serving certificate", "until", s.serving.certificate.NotAfter, "authorities", len(s.authorities))
	}
	return err
}

// agree returns the state that all replicas share, after the next step if one is
// due.
func (k *Keeper) agree(ctx context.Context) (state, error) {
	secrets := k.kube.CoreV1().Secrets(k.namespace)
	secret, err := secrets.Get(ctx, k.secret, metav1.GetOptions{})
	exists := err == nil
	if err != nil && !apierrors.IsNotFound(err) {
		return state{}, fmt.Errorf("read the Secret of certificates: %w", err)
	}
	s := k.last
	if exists {
		if found, err := decode(secret.Data); err == nil {
			s = found
		} else {
			klog.FromContext(ctx).Error(err, "The Secret of certificates is unreadable, and is written anew")
		}
	}
	next, changed, err := k.plan.next(s, k.clock.Now())
	if err != nil {
		return state{}, err
	}
	data, err := next.encode()
	if err != nil {
		return state{}, err
	}
	switch {
	case !exists:
		_, err = secrets.Create(ctx, &v1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: k.namespace, Name: k.secret},
			Type:       v1.SecretTypeTLS, Data: data,
		}, metav1.CreateOptions{})
	case changed || !bytes.Equal(secret.Data[v1.TLSCertKey], data[v1.TLSCertKey]):
		secret = secret.DeepCopy()
		secret.Data = data
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	if err != nil {
		return state{}, fmt.Errorf("write the Secret of certificates: %w", err)
	}
	return next, nil
}

// tell writes the authorities to the webhook configuration. While there is none,
// nobody calls.
func (k *Keeper) tell(ctx context.Context, bundle []byte) error {
	configurations := k.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		found, err := configurations.Get(ctx, k.configuration, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		changed := false
		found = found.DeepCopy()
		for i := range found.Webhooks {
			if client := &found.Webhooks[i].ClientConfig; !bytes.Equal(client.CABundle, bundle) {
				client.CABundle, changed = bundle, true
			}
		}
		if !changed {
			return nil
		}
		_, err = configurations.Update(ctx, found, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("tell the certificate's authority to the webhook configuration %s: %w", k.configuration, err)
	}
	return nil
}
