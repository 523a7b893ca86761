// Package rivals notices another cloud controller manager that works on the same
// cluster: by the lease that such managers take, and by what they write to Nodes
// and Services. It reads what the informers know already, and one lease of
// Kubernetes at most; DigitalOcean's API is not asked.
package rivals

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kinds of signs. They are the values of a label of metrics.
const (
	KindLease = "lease"
	KindWrite = "write"
)

// Sign is something that only another manager can have done.
type Sign struct {
	Kind string
	// Who is the lease's holder, or the name under which was written.
	Who string
	// What is the object, as "Service default/web (status)".
	What string
	// At is when it was done, by the API server's clock.
	At time.Time
}

// String is the sign for people.
func (s Sign) String() string {
	at := s.At.UTC().Format(time.RFC3339)
	if s.Kind == KindLease {
		return fmt.Sprintf("%s holds %s, renewed at %s", s.Who, s.What, at)
	}
	return fmt.Sprintf("%s wrote %s at %s, which this process didn't", s.Who, s.What, at)
}

const (
	// settles is how old a write must be to be judged: by then the answer to an
	// own one has arrived.
	settles = 30 * time.Second
	// recent is how long a write is a sign.
	recent = 15 * time.Minute
	// skew is how far the clocks of several API servers may be apart, and the
	// rounding of their times.
	skew = 5 * time.Second
	// handover is how long after the start of this process's work writes may
	// still be those of the one before it.
	handover = time.Minute
)

// managers ends the names of cloud controller managers, of every cloud.
const managers = "cloud-controller-manager"

// Times are what writes are judged by, all by the API server's clock.
type Times struct{ Begun, Now time.Time }

// ledger knows the own writes.
type ledger interface {
	// Wrote tells when this process last wrote; sure is false where an own write
	// may be later than that.
	Wrote(resource, name, subresource string) (last time.Time, sure bool)
	// As is the name under which this process writes.
	As() string
}

// Writes returns the signs in an object's record of who wrote its fields. A
// write under the own name is a sign where it is later than every own one.
func Writes(kind, resource string, object metav1.Object, own ledger, t Times) []Sign {
	name := object.GetName()
	if object.GetNamespace() != "" {
		name = object.GetNamespace() + "/" + name
	}
	var signs []Sign
	for _, f := range object.GetManagedFields() {
		if f.Time == nil || !strings.Contains(f.Manager, managers) {
			continue
		}
		at := f.Time.Time
		if at.Before(t.Begun.Add(handover)) || at.After(t.Now.Add(-settles)) || at.Before(t.Now.Add(-recent)) {
			continue
		}
		if f.Manager == own.As() {
			if last, sure := own.Wrote(resource, name, f.Subresource); !sure || !at.After(last.Add(skew)) {
				continue
			}
		}
		what := kind + " " + name
		if f.Subresource != "" {
			what += " (" + f.Subresource + ")"
		}
		signs = append(signs, Sign{KindWrite, f.Manager, what, at})
	}
	return signs
}

// Held is the sign of a lease that another manager holds; nil: nobody does.
func Held(lease *coordinationv1.Lease, now time.Time) *Sign {
	s := lease.Spec
	if s.HolderIdentity == nil || *s.HolderIdentity == "" || s.RenewTime == nil || s.LeaseDurationSeconds == nil {
		return nil
	}
	if !s.RenewTime.Add(time.Duration(*s.LeaseDurationSeconds) * time.Second).After(now) {
		return nil
	}
	return &Sign{KindLease, *s.HolderIdentity, "the lease " + lease.Namespace + "/" + lease.Name, s.RenewTime.Time}
}

// names are those of the others, each once; empty: there are none.
func names(signs []Sign) string {
	var all []string
	for _, s := range signs {
		all = append(all, s.Kind+" "+s.Who)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// maxNamed is how many signs are named.
const maxNamed = 3

// Describe tells of signs, the latest first, in one line.
func Describe(signs []Sign) string {
	sorted := slices.SortedFunc(slices.Values(signs), func(a, b Sign) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), b.At.Compare(a.At), cmp.Compare(a.What, b.What))
	})
	var told []string
	for _, s := range sorted[:min(len(sorted), maxNamed)] {
		told = append(told, s.String())
	}
	text := strings.Join(told, "; ")
	if more := len(sorted) - maxNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
