package reconciler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

const (
	// snapshotAge is how old the known state of a load balancer may be when
	// nothing is to be changed: whatever others change by hand is seen at the
	// latest after that.
	snapshotAge = 5 * time.Minute
	// backendAge is how old the state of a backend's droplet may be: its public
	// addresses, which decide, stay the same for its life.
	backendAge = 10 * time.Minute
	// youngFor is how long a Node's droplet may lack what makes it a backend
	// before that is no matter of time any more, and youngAgain is how often
	// it is looked at meanwhile.
	youngFor   = 10 * time.Minute
	youngAgain = 4 * time.Second
)

// work is one sync of a Service.
type work struct {
	svc  *v1.Service
	spec annotation.Spec
	// candidates are the Nodes that may be backends.
	candidates []loadbalancer.Candidate
	// waiting is true while a young Node's droplet isn't ready to be one.
	waiting bool
	// refused is true once DigitalOcean has refused what was asked for with
	// the droplets as they were known.
	refused bool
	cluster loadbalancer.Cluster

	// adopting is true while this manager has not worked on the load balancer
	// yet, and taken where it isn't even the Service's yet.
	adopting, taken bool
	// foretold is true where nothing may be written, to the Service neither.
	foretold bool
	// targetErr is why the tag that load balancers target may not be on all
	// droplets that it belongs on.
	targetErr error
	// held is true where differences are left for now, and wrote once settings
	// were written.
	held, wrote bool
}

func (r *Reconciler) sync(ctx context.Context, svc *v1.Service) (*v1.LoadBalancerStatus, error) {
	spec, problems := annotation.Parse(svc, r.defaults)
	if spec.Disowned {
		r.tellDisowned(svc)
		return svc.Status.LoadBalancer.DeepCopy(), nil
	}
	w := &work{svc: svc, spec: spec}
	var err error
	if w.cluster, err = r.cluster(); err != nil {
		return nil, err
	}
	if err := r.shareBackends(ctx, w); err != nil {
		return nil, err
	}
	if w.waiting {
		r.again.after(keyOf(svc), youngAgain)
	}
	if !r.rehearses(spec) {
		if err := r.performs(ctx, svc); err != nil {
			return nil, err
		}
		if err := r.syncTarget(ctx, w); err != nil {
			return nil, err
		}
	}
	lb, desired, problems, err := r.decide(ctx, w, problems)
	if err != nil {
		return nil, err
	}
	if r.rehearses(w.spec) {
		return r.rehearse(ctx, w, lb, desired, problems)
	}
	if len(problems) > 0 {
		return nil, r.keepBackends(ctx, w, lb, &invalidError{problems, lb == nil})
	}
	if lb, err = r.make(ctx, w, lb, desired); err != nil {
		return nil, err
	}
	if err := r.update(ctx, w, lb, desired); err != nil {
		return nil, err
	}
	// As it is now; known already unless a write told nothing of it.
	if lb, err = r.get(ctx, lb.ID, snapshotAge, r.allIDs); err != nil {
		return nil, err
	}
	if err := r.unmarkCiphers(ctx, w, lb); err != nil {
		return nil, err
	}
	r.tellTarget(w)
	return r.show(w, lb, r.settingsAfter(w, lb, desired)), nil
}

// decide reads what exists, and decides what the load balancer is to be and what
// is wrong with the Service, beyond the problems that its annotations have by
// themselves. Of DigitalOcean it reads only.
func (r *Reconciler) decide(ctx context.Context, w *work, problems []annotation.Problem) (lb *godo.LoadBalancer, desired loadbalancer.Desired, _ []annotation.Problem, err error) {
	if lb, err = r.locate(ctx, w.svc, w.spec, snapshotAge); err != nil {
		return nil, desired, nil, err
	}
	if lb != nil && w.spec.Manage == annotation.ManageBackends && lb.ID != w.spec.LoadBalancerID {
		lb = nil // the Service names another one
	}
	if lb != nil {
		problems = r.know(w, lb)
	}
	beyond, err := r.checkLimits(w, lb)
	if err != nil {
		return nil, desired, nil, err
	}
	problems = append(problems, beyond...)
	r.warn(w.svc, w.spec)
	desired, more, err := r.desire(ctx, w, lb)
	if err != nil {
		return nil, desired, nil, err
	}
	return lb, desired, append(loadbalancer.Effective(w.spec, problems), more...), nil
}

// know has the work go by the load balancer that exists: its type is the
// default where the Service lost the annotation. It returns what is wrong with
// the Service, and with the load balancer for it.
func (r *Reconciler) know(w *work, lb *godo.LoadBalancer) []annotation.Problem {
	defaults := r.defaults.Existing(typeOf(lb), settingsOf(lb).Network)
	var problems []annotation.Problem
	w.spec, problems = annotation.Parse(w.svc, defaults)
	if w.spec.Manage == annotation.ManageBackends {
		w.spec.Type, w.spec.Network = typeOf(lb), settingsOf(lb).Network
	}
	r.meet(w, lb)
	if w.taken {
		problems = append(problems, loadbalancer.CheckTakeOver(lb.ID, settingsOf(lb), w.cluster)...)
	}
	return problems
}

// warn tells what has no effect, or another one than it seems.
func (r *Reconciler) warn(svc *v1.Service, spec annotation.Spec) {
	var texts []string
	for _, w := range annotation.Warnings(svc, spec) {
		if !w.Quiet {
			texts = append(texts, w.String())
		}
	}
	if len(texts) == 0 {
		r.recorder.Forget(svc, events.AnnotationWarning)
		return
	}
	r.recorder.Tell(svc, events.AnnotationWarning, strings.Join(texts, "; ")+".")
}

// desire computes the load balancer that the Service wants. lb is the one that
// exists, or nil.
func (r *Reconciler) desire(ctx context.Context, w *work, lb *godo.LoadBalancer) (loadbalancer.Desired, []annotation.Problem, error) {
	if w.spec.Manage == annotation.ManageBackends && lb != nil {
		return r.desireBackends(w, lb)
	}
	in := loadbalancer.Inputs{Cluster: w.cluster}
	problems, err := r.resolveCertificates(ctx, w, lb, &in)
	if err != nil {
		return loadbalancer.Desired{}, nil, err
	}
	actualStack := ""
	if lb != nil {
		actualStack = settingsOf(lb).NetworkStack
	}
	in.Backends = loadbalancer.SelectBackends(w.spec, actualStack, loadbalancer.Serving(w.candidates, servingOf(lb)))
	desired, more := loadbalancer.Desire(w.svc, w.spec, in)
	if desired.Name, err = r.name(ctx, w, lb, desired.Name); err != nil {
		return loadbalancer.Desired{}, nil, err
	}
	if r.outlivesItsWish(w, lb) {
		desired.TLSCipherPolicy = annotation.CiphersDefault
	}
	if len(problems) > 0 {
		// What else Desire finds follows from the certificate.
		return desired, problems, nil
	}
	more = append(more, r.judgeBackends(w, lb, in.Backends)...)
	r.aim(w, lb, &desired)
	return desired, more, nil
}

// make returns the Service's load balancer once it serves: the one that exists,
// or a new one.
func (r *Reconciler) make(ctx context.Context, w *work, lb *godo.LoadBalancer, desired loadbalancer.Desired) (*godo.LoadBalancer, error) {
	if lb == nil {
		if err := r.mayMake(ctx, w); err != nil {
			return nil, err
		}
		err := r.withFreshBackends(ctx, w, lb, desired, func(d loadbalancer.Desired) (err error) {
			lb, err = r.createNamed(ctx, w, d)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if err := r.remember(ctx, w, lb); err != nil {
		return nil, err
	}
	if isPending(lb) {
		created, _ := time.Parse(time.RFC3339, lb.Created) // zero: long ago
		age := r.clock.Since(created)
		fresh, err := r.get(ctx, lb.ID, pendingWait(age)-time.Second, r.pendingIDs)
		if err != nil {
			return nil, err
		}
		if lb = fresh; isPending(lb) {
			return nil, &pendingError{lb.ID, lb.Name, age}
		}
	}
	if isErrored(lb) {
		return nil, r.replaceErrored(ctx, w, lb)
	}
	return lb, nil
}

func (r *Reconciler) create(ctx context.Context, svc *v1.Service, desired loadbalancer.Desired) (*godo.LoadBalancer, error) {
	lb, _, err := r.api.Create(ctx, createRequest(desired))
	if err != nil {
		if !errors.Is(err, doapi.ErrThrottled) { // it was not sent
			r.setDoubt(svc, true)
		}
		return nil, &requestError{fmt.Sprintf("create load balancer %q", desired.Name), err}
	}
	if lb == nil || lb.ID == "" {
		r.setDoubt(svc, true)
		return nil, fmt.Errorf("create load balancer %q: the API answered without an id", desired.Name)
	}
	r.balancers.Created(lb)
	r.setID(svc, lb.ID)
	r.setDoubt(svc, false)
	r.note(svc, func(m *memory) { m.agreed, m.contact = agreement{id: lb.ID}, contact{} })
	r.book.Changed(svc, "created")
	klog.FromContext(ctx).Info("Created load balancer", "service", klog.KObj(svc), "id", lb.ID, "name", lb.Name)
	r.recorder.Tell(svc, events.LoadBalancerCreated, fmt.Sprintf("Created load balancer %s (%s).", lb.Name, lb.ID))
	return lb, nil
}

// mayMake lets a load balancer be made where the Service has none.
func (r *Reconciler) mayMake(ctx context.Context, w *work) error {
	if w.spec.Manage == annotation.ManageBackends {
		return &missingError{w.spec.LoadBalancerID}
	}
	return r.vouchForMissing(ctx, w.svc, w.spec)
}

// vouchForMissing lets a load balancer be made in place of one that a Service
// had only when the one is gone for sure.
func (r *Reconciler) vouchForMissing(ctx context.Context, svc *v1.Service, spec annotation.Spec) error {
	if hadNone(svc, spec) {
		return nil
	}
	if err := r.vouch(ctx, svc, spec); err != nil {
		return fmt.Errorf("the load balancer %s of the Service is not found, which is not believed: %w", spec.LoadBalancerID, err)
	}
	if spec.LoadBalancerID != "" && r.strict && !neverServed(svc) {
		return &missingError{spec.LoadBalancerID}
	}
	if spec.LoadBalancerID != "" {
		r.recorder.Tell(svc, events.LoadBalancerNotFound, fmt.Sprintf("Load balancer %s does not exist any more; a new one is made, with a new address.%s", spec.LoadBalancerID, oldAddresses(svc)))
	}
	return nil
}

// neverServed tells whether the Service's load balancer was made by this manager
// and had no address yet, which can't be lost then.
func neverServed(svc *v1.Service) bool {
	return svc.Annotations[annotation.DefaultsVersion] != "" && len(svc.Status.LoadBalancer.Ingress) == 0
}

func oldAddresses(svc *v1.Service) string {
	var old []string
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			old = append(old, ingress.IP)
		}
	}
	if len(old) == 0 {
		return ""
	}
	return " The old address was " + strings.Join(old, ", ") + "."
}

// statusOf is what the Service's status is to show. DNS records hang on it, so it
// stays as it is while the API shows no address.
func statusOf(svc *v1.Service, spec annotation.Spec, lb *godo.LoadBalancer, settings loadbalancer.Settings) *v1.LoadBalancerStatus {
	status, _ := loadbalancer.Status(svc, settings, spec.Hostname, spec.IPMode, addressesShown(svc, lb))
	return status
}

// retryAfter makes the framework come back after a fixed time.
func retryAfter(err error, wait time.Duration) error {
	return fmt.Errorf("%w", cloudproviderapi.NewRetryError(err.Error(), wait))
}

// withFreshBackends writes, and when DigitalOcean refuses what was asked for,
// once more without the droplets that are gone meanwhile, if there are any: it
// refuses the whole for one droplet that doesn't exist.
func (r *Reconciler) withFreshBackends(ctx context.Context, w *work, lb *godo.LoadBalancer, desired loadbalancer.Desired, write func(loadbalancer.Desired) error) error {
	err := write(desired)
	var refused *resizeError
	if doapi.Classify(err) != doapi.ClassUser || errors.As(err, &refused) {
		return err // droplets have nothing to do with it
	}
	w.refused = true
	if freshErr := r.readBackends(ctx, w, r.clock.Now()); freshErr != nil {
		// Not the user's to mend, as far as is known: it is tried again soon.
		return fmt.Errorf("look up anew the droplets with which DigitalOcean refused the load balancer (%s): %w", doapi.Message(err), freshErr)
	}
	fresh, problems, freshErr := r.desire(ctx, w, lb)
	if freshErr != nil || len(problems) > 0 || fresh.Tag == desired.Tag && slices.Equal(fresh.DropletIDs, desired.DropletIDs) {
		return err
	}
	return write(fresh)
}

// errGone is a load balancer that is gone since it was read.
var errGone = errors.New("the load balancer is gone since it was last read")
