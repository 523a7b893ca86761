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
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/providerid"
)

func (r *Reconciler) ensure(ctx context.Context, svc *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	spec, problems := annotation.Parse(svc, r.defaults)
	if spec.Disowned {
		r.recorder.Tell(svc, events.LoadBalancerDisowned, "The load balancer is left alone, as the annotation "+annotation.Disown+" asks for.")
		return svc.Status.LoadBalancer.DeepCopy(), nil
	}
	if unknown := annotation.Unknown(svc); len(unknown) > 0 {
		r.recorder.Tell(svc, events.UnknownAnnotation, "These annotations are not known to this version and have no effect: "+strings.Join(unknown, ", ")+".")
	}
	desired, err := r.desire(ctx, svc, spec, nodes, time.Now().Add(-backendAge))
	if err := joinProblems(problems, err); err != nil {
		return nil, err
	}
	r.recorder.Forget(svc, events.LoadBalancerConfigError)
	lb, err := r.locate(ctx, svc, spec)
	if err != nil {
		return nil, err
	}
	if lb == nil {
		if err := r.vouchForMissing(ctx, svc, spec); err != nil {
			return nil, err
		}
		err := r.withFreshBackends(ctx, svc, spec, nodes, desired, func(d loadbalancer.Desired) (err error) {
			lb, err = r.create(ctx, svc, d)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if err := r.remember(ctx, svc, lb); err != nil {
		return nil, err
	}
	switch {
	case isErrored(lb):
		return nil, &erroredError{lb.ID, lb.Name}
	case isPending(lb):
		created, _ := time.Parse(time.RFC3339, lb.Created) // zero: long ago
		return nil, &pendingError{lb.ID, lb.Name, created}
	}
	err = r.withFreshBackends(ctx, svc, spec, nodes, desired, func(d loadbalancer.Desired) error {
		return r.update(ctx, svc, lb, d)
	})
	if err != nil {
		return nil, err
	}
	status, ok := loadbalancer.Status(svc, addressesOf(lb))
	if !ok {
		// DNS records hang on the status: keep it until the address shows up
		// again.
		return svc.Status.LoadBalancer.DeepCopy(), nil
	}
	return status, nil
}

// joinProblems adds what is wrong with the annotations to what is wrong with
// the rest of the Service, so that all is told at once.
func joinProblems(problems []annotation.Problem, err error) error {
	var invalid *invalidError
	if errors.As(err, &invalid) {
		return &invalidError{append(problems, invalid.problems...)}
	}
	if len(problems) > 0 {
		return &invalidError{problems}
	}
	return err
}

// desire computes the load balancer that the Service wants, with the Nodes'
// droplets behind it as they were since the time.
func (r *Reconciler) desire(ctx context.Context, svc *v1.Service, spec annotation.Spec, nodes []*v1.Node, since time.Time) (loadbalancer.Desired, error) {
	cluster, err := r.cluster()
	if err != nil {
		return loadbalancer.Desired{}, err
	}
	candidates, err := r.candidates(ctx, nodes, since)
	if err != nil {
		return loadbalancer.Desired{}, err
	}
	backends := loadbalancer.SelectBackends(spec, candidates)
	desired, problems := loadbalancer.Desire(svc, spec, backends, cluster)
	if len(problems) > 0 {
		return desired, &invalidError{problems}
	}
	if why := backends.Explain(); why != "" {
		r.recorder.Tell(svc, events.NoEligibleBackends, "The load balancer has nothing to send to: "+why+".")
	} else {
		r.recorder.Forget(svc, events.NoEligibleBackends)
	}
	return desired, nil
}

// backendAge is how old the state of a backend's droplet may be: its public
// addresses, which decide, stay the same for its life.
const backendAge = 10 * time.Minute

// withFreshBackends writes, and when DigitalOcean refuses what was asked for,
// once more without the droplets that are gone meanwhile, if there are any: it
// refuses the whole for one droplet that doesn't exist.
func (r *Reconciler) withFreshBackends(ctx context.Context, svc *v1.Service, spec annotation.Spec, nodes []*v1.Node, desired loadbalancer.Desired, write func(loadbalancer.Desired) error) error {
	err := write(desired)
	if doapi.Classify(err) != doapi.ClassUser {
		return err
	}
	fresh, freshErr := r.desire(ctx, svc, spec, nodes, time.Now())
	if freshErr != nil || slices.Equal(fresh.DropletIDs, desired.DropletIDs) {
		return err
	}
	return write(fresh)
}

// candidates looks up the Nodes' droplets as they were since the time. A
// droplet that can't be looked up
// is an error: leaving it out would take it from a load balancer that it
// serves.
func (r *Reconciler) candidates(ctx context.Context, nodes []*v1.Node, since time.Time) ([]loadbalancer.Candidate, error) {
	ids := make(map[string]int, len(nodes))
	var all []int
	for _, node := range nodes {
		if id, err := providerid.Parse(node.Spec.ProviderID); err == nil {
			ids[node.Name] = id
			all = append(all, id)
		}
	}
	candidates := make([]loadbalancer.Candidate, 0, len(nodes))
	for _, node := range nodes {
		candidate := loadbalancer.Candidate{Node: node.Name, DropletID: ids[node.Name]}
		switch {
		case node.Spec.ProviderID == "":
			candidate.Excluded = "it has no provider ID yet"
		case candidate.DropletID == 0:
			candidate.Excluded = fmt.Sprintf("its provider ID %q isn't a droplet's", node.Spec.ProviderID)
		default:
			if err := r.fill(ctx, &candidate, all, since); err != nil {
				return nil, fmt.Errorf("node %q: %w", node.Name, err)
			}
		}
		candidates = append(candidates, candidate)
	}
	return candidates, nil
}

func (r *Reconciler) fill(ctx context.Context, c *loadbalancer.Candidate, all []int, since time.Time) error {
	droplet, err := r.droplets.Get(ctx, c.DropletID, time.Since(since), func() []int { return all })
	switch {
	case errors.Is(err, inventory.ErrGone), errors.Is(err, inventory.ErrWasGone):
		c.Excluded = fmt.Sprintf("its droplet %d does not exist any more", c.DropletID)
		return nil
	case err != nil:
		return err
	}
	c.PublicIPv4, c.PublicIPv6 = len(droplet.PublicIPv4) > 0, len(droplet.PublicIPv6) > 0
	if !droplet.HasAddress() {
		c.Excluded = fmt.Sprintf("its droplet %d has no address yet", c.DropletID)
	}
	return nil
}

func (r *Reconciler) create(ctx context.Context, svc *v1.Service, desired loadbalancer.Desired) (*godo.LoadBalancer, error) {
	lb, _, err := r.api.Create(ctx, createRequest(desired))
	if err != nil {
		return nil, &requestError{fmt.Sprintf("create load balancer %q", desired.Name), err}
	}
	if lb == nil || lb.ID == "" {
		return nil, fmt.Errorf("create load balancer %q: the API answered without an id", desired.Name)
	}
	r.setID(svc, lb.ID)
	klog.FromContext(ctx).Info("Created load balancer", "service", klog.KObj(svc), "id", lb.ID, "name", lb.Name)
	r.recorder.Tell(svc, events.LoadBalancerCreated, fmt.Sprintf("Created load balancer %s (%s).", lb.Name, lb.ID))
	return lb, nil
}

// vouchForMissing lets a load balancer be made in place of one that a Service
// had only when the one is gone for sure.
func (r *Reconciler) vouchForMissing(ctx context.Context, svc *v1.Service, spec annotation.Spec) error {
	if spec.LoadBalancerID == "" && len(svc.Status.LoadBalancer.Ingress) == 0 {
		return nil // it had none
	}
	if err := r.vouch(ctx, svc, spec); err != nil {
		return fmt.Errorf("the load balancer %s of the Service is not found, which is not believed: %w", spec.LoadBalancerID, err)
	}
	if spec.LoadBalancerID != "" {
		r.recorder.Tell(svc, events.LoadBalancerNotFound, fmt.Sprintf("Load balancer %s does not exist any more; a new one is made, with a new address.%s", spec.LoadBalancerID, oldAddresses(svc)))
	}
	return nil
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

// update writes what differs, in one call: droplets alone by adding or
// removing them, anything else by replacing the whole.
func (r *Reconciler) update(ctx context.Context, svc *v1.Service, lb *godo.LoadBalancer, desired loadbalancer.Desired) error {
	changes := loadbalancer.Diff(desired.Settings, settingsOf(lb))
	if immutable := loadbalancer.Of(loadbalancer.ChangeImmutable, changes); len(immutable) > 0 {
		r.recorder.Tell(svc, events.LoadBalancerImmutable, "DigitalOcean can't change this on a load balancer that exists: "+loadbalancer.Describe(immutable)+
			". Undo it, or delete and re-create the Service, which gives it another address.")
	} else {
		r.recorder.Forget(svc, events.LoadBalancerImmutable)
	}
	settings := loadbalancer.Of(loadbalancer.ChangeSettings, changes)
	droplets := loadbalancer.Of(loadbalancer.ChangeDroplets, changes)
	if len(settings)+len(droplets) == 0 {
		return nil
	}
	if err := r.write(ctx, lb, desired, len(settings) > 0); err != nil {
		return &requestError{fmt.Sprintf("change load balancer %s", lb.ID), err}
	}
	what := loadbalancer.Describe(append(settings, droplets...))
	klog.FromContext(ctx).Info("Changed load balancer", "service", klog.KObj(svc), "id", lb.ID, "name", lb.Name, "changes", what)
	r.recorder.Tell(svc, events.LoadBalancerUpdated, "Changed load balancer "+lb.ID+": "+what+".")
	return nil
}

func (r *Reconciler) write(ctx context.Context, lb *godo.LoadBalancer, desired loadbalancer.Desired, whole bool) error {
	add, remove := loadbalancer.Split(desired.DropletIDs, lb.DropletIDs)
	var err error
	switch {
	case whole || lb.Tag != "" || (len(add) > 0 && len(remove) > 0):
		_, _, err = r.api.Update(ctx, lb.ID, updateRequest(lb, desired))
	case len(add) > 0:
		_, err = r.api.AddDroplets(ctx, lb.ID, add...)
	default:
		_, err = r.api.RemoveDroplets(ctx, lb.ID, remove...)
	}
	return err
}

// retryAfter makes the framework come back after a fixed time.
func retryAfter(err error, wait time.Duration) error {
	return fmt.Errorf("%w", cloudproviderapi.NewRetryError(err.Error(), wait))
}
