package reconciler

import (
	"context"
	"fmt"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// Ciphers that no annotation speaks of are whatever somebody chose in the console.
// So those that the Service asked for until now must be told from them, in the
// Service itself: its wish may end while no manager runs, and a default's always
// does.

// wishesStrong tells whether the Service, its class or a default asks for strong
// ciphers.
func wishesStrong(w *work) bool {
	return w.spec.TLSCipherPolicy == annotation.CiphersStrong && w.spec.Manage != annotation.ManageBackends
}

// marksCiphers tells whether the Service is to be marked as one that asked for
// the load balancer's strong ciphers.
func marksCiphers(w *work, lb *godo.LoadBalancer) bool {
	return !w.adopting && wishesStrong(w) && typeOf(lb) == annotation.TypeRegional && w.svc.Annotations[annotation.StrongCiphers] != lb.ID
}

// isMarkedStrong tells whether the load balancer has strong ciphers for no other
// reason than that its Service, by its mark, once asked for them.
func isMarkedStrong(w *work, lb *godo.LoadBalancer) bool {
	return w.svc.Annotations[annotation.StrongCiphers] == lb.ID && hasStrongCiphersUnasked(w, lb)
}

func hasStrongCiphersUnasked(w *work, lb *godo.LoadBalancer) bool {
	return w.spec.TLSCipherPolicy == "" && typeOf(lb) == annotation.TypeRegional && settingsOf(lb).TLSCipherPolicy == annotation.CiphersStrong
}

// outlivesItsWish tells whether the load balancer has the ciphers that its Service
// asked for until now, and asks for no more. What this process remembers counts as
// well: who replaces a Service may take the mark away with the wish. While only the
// backends were the manager's, the ciphers were what others had chosen.
func (r *Reconciler) outlivesItsWish(w *work, lb *godo.LoadBalancer) bool {
	if lb == nil {
		return false
	}
	agreed := r.recall(w.svc).agreed
	remembered := agreed.id == lb.ID && !agreed.backends && agreed.settings != nil && agreed.settings.TLSCipherPolicy == annotation.CiphersStrong
	return isMarkedStrong(w, lb) || remembered && hasStrongCiphersUnasked(w, lb)
}

// unmarkCiphers takes the mark off a Service that asks for strong ciphers no more,
// once its load balancer has none: whoever chooses them from then on is another.
func (r *Reconciler) unmarkCiphers(ctx context.Context, w *work, lb *godo.LoadBalancer) error {
	if w.svc.Annotations[annotation.StrongCiphers] == "" || wishesStrong(w) || isMarkedStrong(w, lb) {
		return nil
	}
	if err := r.annotate(ctx, w.svc, map[string]any{annotation.StrongCiphers: nil}); err != nil {
		return fmt.Errorf("remove the mark of strong ciphers from the Service: %w", err)
	}
	return nil
}
