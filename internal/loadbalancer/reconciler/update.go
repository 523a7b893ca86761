package reconciler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/digitalocean/godo"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// update writes what differs, in one call: droplets alone by adding or
// removing them, anything else by replacing the whole. What must wait is left.
func (r *Reconciler) update(ctx context.Context, w *work, lb *godo.LoadBalancer, desired loadbalancer.Desired) error {
	lb, unclear := r.withoutGone(ctx, w, lb, desired)
	desired = r.keptForNow(w, lb, desired, unclear)
	lb, changes, left, err := r.compare(ctx, w, lb, desired)
	if err != nil {
		return err
	}
	r.compared(w.svc, slices.Concat(changes, left))
	r.tellLeft(w, lb, left)
	immutable := loadbalancer.Of(loadbalancer.ChangeImmutable, changes)
	r.tellImmutable(w, immutable)
	if isOfAnotherKind(immutable) {
		// Its settings were computed for another kind of load balancer.
		w.held = true
		return r.keepBackends(ctx, w, lb, nil)
	}
	if todo := mutable(changes); r.waitsForContact(w, lb, desired, todo) || r.waitsForPeace(w, lb, desired, todo) {
		w.held = true
		return r.keepBackends(ctx, w, lb, nil)
	}
	err = r.change(ctx, w, lb, &desired)
	var refused *resizeError
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	r.dropTarget(ctx, lb.Tag, desired.Tag)
	if agreeErr := r.agree(ctx, w, lb, desired); agreeErr != nil {
		return agreeErr
	}
	return err
}

// compare lists the differences. Where settings differ it starts from what the
// API says now: a PUT replaces everything, so that nothing of others' is lost,
// and nothing is written that is so already.
func (r *Reconciler) compare(ctx context.Context, w *work, lb *godo.LoadBalancer, desired loadbalancer.Desired) (_ *godo.LoadBalancer, changes, left []loadbalancer.Change, err error) {
	changes, left = r.differences(w, lb, desired)
	if len(loadbalancer.Of(loadbalancer.ChangeSettings, changes)) == 0 && !exchanges(desired, lb) {
		return lb, changes, left, nil
	}
	if lb, err = r.get(ctx, lb.ID, 0, nil); err != nil {
		return nil, nil, nil, err
	}
	changes, left = r.differences(w, lb, desired)
	return lb, changes, left, nil
}

// differences are those that are to go, and those that are left.
func (r *Reconciler) differences(w *work, lb *godo.LoadBalancer, desired loadbalancer.Desired) (changes, left []loadbalancer.Change) {
	settings, left := r.heed(w, lb, desired.Settings)
	return loadbalancer.Diff(settings, settingsOf(lb)), left
}

// exchanges tells whether droplets go and others come, which takes a PUT.
func exchanges(desired loadbalancer.Desired, lb *godo.LoadBalancer) bool {
	add, remove := loadbalancer.Split(desired.DropletIDs, lb.DropletIDs)
	return desired.Tag == "" && len(add) > 0 && len(remove) > 0
}

// mutable are the changes that can be made, settings first.
func mutable(changes []loadbalancer.Change) []loadbalancer.Change {
	return slices.Concat(loadbalancer.Of(loadbalancer.ChangeSettings, changes), loadbalancer.Of(loadbalancer.ChangeDroplets, changes))
}

// change writes what differs and tells it. desired becomes what was written,
// which may lack droplets that are gone.
func (r *Reconciler) change(ctx context.Context, w *work, lb *godo.LoadBalancer, desired *loadbalancer.Desired) error {
	var todo []loadbalancer.Change
	err := r.withFreshBackends(ctx, w, lb, *desired, func(d loadbalancer.Desired) error {
		*desired = d // the Service's wish, whatever is left to others
		d.Settings, _ = r.heed(w, lb, d.Settings)
		todo = mutable(loadbalancer.Diff(d.Settings, settingsOf(lb)))
		return r.apply(ctx, lb, d)
	})
	if doapi.IsNotFound(err) {
		return fmt.Errorf("change load balancer %s: %w", lb.ID, errGone)
	}
	var refused *resizeError
	if err != nil && !errors.As(err, &refused) {
		// What came of it may not be known.
		r.note(w.svc, func(m *memory) { m.agreed.settings = nil })
		return &requestError{fmt.Sprintf("change load balancer %s", lb.ID), err}
	}
	if refused != nil {
		todo = slices.DeleteFunc(todo, func(c loadbalancer.Change) bool { return c.Field == loadbalancer.FieldSize })
		desired.SizeUnit, desired.SizeSlug = settingsOf(lb).SizeUnit, ""
	}
	w.wrote = w.wrote || len(loadbalancer.Of(loadbalancer.ChangeSettings, todo)) > 0
	asked, foreign := r.splitDrift(w, lb.ID, desired.Settings, todo)
	if len(foreign) > 0 {
		r.tellReverted(ctx, w, lb, foreign)
	}
	if len(asked) > 0 {
		r.tellChanged(ctx, w, lb, asked)
	}
	if refused != nil {
		return refused
	}
	return nil
}

// agree notes that the load balancer is as its Service wants it, which ends the
// first contact.
func (r *Reconciler) agree(ctx context.Context, w *work, lb *godo.LoadBalancer, desired loadbalancer.Desired) error {
	backends := w.spec.Manage == annotation.ManageBackends
	if known, ok := r.balancers.Known(lb.ID); ok && slices.Equal(known.DropletIDs, desired.DropletIDs) {
		desired.DropletIDs = known.DropletIDs // which many load balancers share
	}
	r.note(w.svc, func(m *memory) {
		m.agreed = agreement{id: lb.ID, settings: &desired.Settings, named: w.spec.Name != "" && !backends, backends: backends}
		m.contact = contact{}
	})
	r.book.Agreed(w.svc)
	r.recorder.Forget(w.svc, events.LoadBalancerFirstContact)
	if !w.adopting {
		return nil
	}
	w.adopting = false
	return r.remember(ctx, w, lb)
}

func (r *Reconciler) tellChanged(ctx context.Context, w *work, lb *godo.LoadBalancer, changes []loadbalancer.Change) {
	what := loadbalancer.Describe(changes)
	r.book.Changed(w.svc, what)
	klog.FromContext(ctx).Info("Changed load balancer", "service", klog.KObj(w.svc), "id", lb.ID, "name", lb.Name, "changes", what)
	r.recorder.Tell(w.svc, events.LoadBalancerUpdated, "Changed load balancer "+lb.ID+": "+what+".")
}

// isOfAnotherKind tells whether the Service asks for a type or a network that
// its load balancer isn't of.
func isOfAnotherKind(immutable []loadbalancer.Change) bool {
	return slices.ContainsFunc(immutable, func(c loadbalancer.Change) bool {
		return c.Field == loadbalancer.FieldType || c.Field == loadbalancer.FieldNetwork
	})
}

func (r *Reconciler) tellImmutable(w *work, changes []loadbalancer.Change) {
	if len(changes) == 0 {
		r.recorder.Forget(w.svc, events.LoadBalancerImmutable)
		return
	}
	r.recorder.Tell(w.svc, events.LoadBalancerImmutable, "DigitalOcean can't change this on a load balancer that exists: "+loadbalancer.Describe(changes)+
		". Undo it, or delete and re-create the Service, which gives it another address.")
}

// apply makes the cheapest write. A change of size that DigitalOcean refuses for
// now doesn't hold up the others: they are written without it.
func (r *Reconciler) apply(ctx context.Context, lb *godo.LoadBalancer, desired loadbalancer.Desired) error {
	actual := settingsOf(lb)
	err := r.write(ctx, lb, desired)
	if !isResizeRefusal(err) || actual.SizeUnit == desired.SizeUnit {
		return err
	}
	refused := &resizeError{from: actual.SizeUnit, to: desired.SizeUnit, err: err}
	desired.Settings = loadbalancer.Without(desired.Settings, actual, loadbalancer.FieldSize)
	if err := r.write(ctx, lb, desired); err != nil {
		return err
	}
	return refused
}

func (r *Reconciler) write(ctx context.Context, lb *godo.LoadBalancer, desired loadbalancer.Desired) error {
	changes := loadbalancer.Diff(desired.Settings, settingsOf(lb))
	settings := loadbalancer.Of(loadbalancer.ChangeSettings, changes)
	droplets := loadbalancer.Of(loadbalancer.ChangeDroplets, changes)
	if len(settings)+len(droplets) == 0 {
		return nil
	}
	add, remove := loadbalancer.Split(desired.DropletIDs, lb.DropletIDs)
	var err error
	switch {
	case len(settings) > 0 || (len(add) > 0 && len(remove) > 0):
		var written *godo.LoadBalancer
		if written, _, err = r.api.Update(ctx, lb.ID, updateRequest(lb, desired)); err == nil && written != nil && written.ID == lb.ID {
			r.balancers.Written(written)
			return nil
		}
	case len(add) > 0:
		_, err = r.api.AddDroplets(ctx, lb.ID, add...)
	default:
		_, err = r.api.RemoveDroplets(ctx, lb.ID, remove...)
	}
	if err != nil || len(settings) > 0 {
		// What came of it is not known.
		r.balancers.Doubt(lb.ID)
		return err
	}
	r.balancers.WrittenDroplets(lb.ID, add, remove)
	return nil
}

// resizeError is a change of size that DigitalOcean refuses for a while.
type resizeError struct {
	from, to int
	err      error
}

func (e *resizeError) Error() string {
	return fmt.Sprintf("size unit %d -> %d is refused for now: %s", e.from, e.to, doapi.Message(e.err))
}

func (e *resizeError) Unwrap() error { return e.err }

// isResizeRefusal recognises the answer to a resize that comes too soon after
// the last one, of which only the text tells.
func isResizeRefusal(err error) bool {
	return doapi.Classify(err) == doapi.ClassUser && strings.Contains(strings.ToLower(doapi.Message(err)), "resize")
}

// isFrozen tells whether it isn't known which Nodes are to be backends, so that
// the load balancer keeps those that it has.
func isFrozen(err error) bool {
	var invalid *invalidError
	return errors.As(err, &invalid) && slices.ContainsFunc(invalid.problems, func(p annotation.Problem) bool { return p.Field == annotation.NodeSelector })
}

// keepBackends brings the backends up to date of a load balancer whose settings
// can't be as the Service asks, and touches nothing else. It returns why they
// can't, which is more than what goes wrong with the backends.
func (r *Reconciler) keepBackends(ctx context.Context, w *work, lb *godo.LoadBalancer, invalid error) error {
	if lb == nil || isPending(lb) || isErrored(lb) || lb.Tag != "" || w.adopting && w.taken {
		return invalid
	}
	if isFrozen(invalid) {
		return invalid
	}
	actual := settingsOf(lb)
	spec := w.spec
	spec.Type, spec.Network = actual.Type, actual.Network
	backends := loadbalancer.SelectBackends(spec, actual.NetworkStack, loadbalancer.Serving(w.candidates, servingOf(lb)))
	desired := loadbalancer.Desired{Settings: actual}
	desired.DropletIDs = r.beside(w, lb, backends.DropletIDs)
	changes := loadbalancer.Diff(desired.Settings, actual)
	if len(changes) == 0 || len(backends.DropletIDs) == 0 {
		return invalid
	}
	if exchanges(desired, lb) {
		// The whole is written, and must be as it is now.
		fresh, err := r.get(ctx, lb.ID, 0, nil)
		if err != nil {
			return r.keptFailed(ctx, w, lb, invalid, err)
		}
		lb, desired.Settings = fresh, settingsOf(fresh)
		desired.DropletIDs = r.beside(w, lb, backends.DropletIDs)
	}
	if err := r.write(ctx, lb, desired); err != nil {
		return r.keptFailed(ctx, w, lb, invalid, &requestError{fmt.Sprintf("change the droplets of load balancer %s", lb.ID), err})
	}
	r.tellChanged(ctx, w, lb, changes)
	return invalid
}

// keptFailed has backends brought up to date soon that could not be, where time
// alone helps. It returns why the settings can't be as the Service asks, which is
// more, if that is no matter of time.
func (r *Reconciler) keptFailed(ctx context.Context, w *work, lb *godo.LoadBalancer, invalid, err error) error {
	klog.FromContext(ctx).V(2).Info("Backends can't be brought up to date", "service", klog.KObj(w.svc), "id", lb.ID, "err", err)
	if doapi.IsNotFound(err) {
		err = fmt.Errorf("change the droplets of load balancer %s: %w", lb.ID, errGone)
	}
	if invalid == nil {
		return err
	}
	switch doapi.Classify(err) {
	case doapi.ClassThrottled, doapi.ClassConflict, doapi.ClassCloud:
		r.again.after(keyOf(w.svc), waitUnknown)
	}
	return invalid
}
