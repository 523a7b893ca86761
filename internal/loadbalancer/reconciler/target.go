package reconciler

import (
	"context"
	"errors"
	"slices"

	"github.com/digitalocean/godo"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/targets"
)

// Target is the droplet tag that load balancers may send traffic to.
type Target struct {
	Tag *targets.Tag
	// Wanted is false where droplets are to be listed: load balancers that
	// target the tag from before then list them again.
	Wanted bool
}

// syncTarget has the tag on the droplets that are backends now. What fails
// doesn't hold up the Service: it is told at the end. That it has to wait for the
// quota does, as for everything else: it goes before all changes, as the few calls
// serve all Services, those that are awaited among them.
func (r *Reconciler) syncTarget(ctx context.Context, w *work) error {
	if !r.target.Wanted {
		return nil
	}
	ctx = doapi.WithPriority(ctx, doapi.Urgent)
	_, err := r.target.Tag.Sync(ctx, r.eligible)
	if doapi.IsNotFound(err) {
		// One of the droplets is gone, and holds up all others.
		_, err = r.target.Tag.Sync(ctx, r.eligibleNow)
	}
	if err != nil {
		w.targetErr = &requestError{"tag the droplets that load balancers send traffic to", err}
	}
	if errors.Is(err, doapi.ErrThrottled) {
		return w.targetErr
	}
	return nil
}

// doubtTarget has the tag's droplets listed anew when a load balancer that
// targets it has other ones than it should: somebody else changed the tag.
func (r *Reconciler) doubtTarget(ctx context.Context, all []*godo.LoadBalancer) {
	if !r.target.Wanted {
		return
	}
	w := &work{}
	if err := r.shareBackends(ctx, w); err != nil {
		return // each Service tells of it
	}
	eligible := loadbalancer.Eligible(w.candidates)
	for _, lb := range all {
		if lb.Tag == r.target.Tag.Name() && len(eligible) > 0 && !slices.Equal(slices.Sorted(slices.Values(lb.DropletIDs)), eligible) {
			r.target.Tag.Doubt()
			return
		}
	}
}

// tellTarget tells of trouble with the tag, and has it tried again. The load
// balancer serves meanwhile, by the droplets' ids or by those that carry the tag.
func (r *Reconciler) tellTarget(w *work) {
	if w.targetErr == nil {
		r.recorder.Forget(w.svc, events.TargetTagFailed)
		return
	}
	r.recorder.Tell(w.svc, events.TargetTagFailed, "Can't "+w.targetErr.Error()+". New Nodes may lack traffic until that works.")
	r.again.after(keyOf(w.svc), waitUnknown)
}

func (r *Reconciler) eligible(ctx context.Context) ([]int, error) {
	w := &work{}
	err := r.shareBackends(ctx, w)
	return eligibleOf(w, err)
}

// errNoneShown keeps the tag on the droplets that carry it.
var errNoneShown = errors.New("DigitalOcean shows no address of any droplet")

func eligibleOf(w *work, err error) ([]int, error) {
	if err == nil && loadbalancer.NoneShown(w.candidates) {
		err = errNoneShown
	}
	return loadbalancer.Eligible(w.candidates), err
}

func (r *Reconciler) eligibleNow(ctx context.Context) ([]int, error) {
	w := &work{refused: true}
	err := r.readBackends(ctx, w, r.clock.Now())
	return eligibleOf(w, err)
}

// aim has the load balancer target the tag where the droplets that carry it are
// the very ones that it needs.
func (r *Reconciler) aim(w *work, lb *godo.LoadBalancer, desired *loadbalancer.Desired) {
	if !r.target.Wanted || !slices.Equal(desired.DropletIDs, loadbalancer.Eligible(w.candidates)) {
		return
	}
	// A tag that may not be on all of them yet is no way to begin with, and
	// neither is one on none; but one that serves stays.
	aimed := lb != nil && lb.Tag == r.target.Tag.Name()
	if !aimed && (w.targetErr != nil || len(desired.DropletIDs) == 0) {
		return
	}
	desired.Tag, desired.DropletIDs = r.target.Tag.Name(), nil
}

// dropTarget deletes the tag once the last load balancer lists droplets again.
// What fails leaves a tag that does nothing.
func (r *Reconciler) dropTarget(ctx context.Context, was, desired string) {
	if r.target.Wanted || r.target.Tag == nil || was != r.target.Tag.Name() || desired == was {
		return
	}
	// Anybody's load balancers: the API's list of now tells.
	all, err := r.balancers.All(ctx, 0)
	if err == nil && !slices.ContainsFunc(all, func(lb *godo.LoadBalancer) bool { return lb.Tag == was }) {
		err = r.target.Tag.Drop(ctx)
	}
	if err != nil {
		klog.FromContext(ctx).Info("The tag that load balancers targeted can't be deleted now, and does nothing", "tag", was, "err", err.Error())
	}
}

// dropLeftTarget deletes the tag where droplets carry it and no load balancer
// targets it, as a process leaves it that ends just before it would delete it.
// all is the API's list of now. The droplets are known, and cost no call.
func (r *Reconciler) dropLeftTarget(ctx context.Context, all []*godo.LoadBalancer) {
	if r.target.Wanted || r.target.Tag == nil {
		return
	}
	name, w := r.target.Tag.Name(), &work{}
	if slices.ContainsFunc(all, func(lb *godo.LoadBalancer) bool { return lb.Tag == name }) || r.shareBackends(ctx, w) != nil {
		return
	}
	left := slices.ContainsFunc(w.candidates, func(c loadbalancer.Candidate) bool {
		if c.Excluded != "" {
			return false
		}
		d, err := r.droplets.Get(ctx, c.DropletID, backendAge, func() []int { return nil })
		return err == nil && slices.Contains(d.Tags, name) && d.Read.After(r.target.Tag.Dropped())
	})
	if !left {
		return
	}
	if err := r.target.Tag.Drop(ctx); err != nil {
		klog.FromContext(ctx).Info("The tag that load balancers targeted can't be deleted now, and does nothing", "tag", name, "err", err.Error())
	}
}
