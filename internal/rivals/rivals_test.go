package rivals

import (
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	begun = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	now   = begun.Add(time.Hour)
)

const own = "digitalocean-cloud-controller-manager"

// fakeLedger knows one own write, to the status of default/web.
type fakeLedger struct {
	last time.Time
	sure bool
}

func (fakeLedger) As() string { return own }
func (l fakeLedger) Wrote(resource, name, subresource string) (time.Time, bool) {
	if resource == "services" && name == "default/web" && subresource == "status" {
		return l.last, l.sure
	}
	return time.Time{}, true
}

func service(manager, subresource string, at time.Time) *v1.Service {
	written := metav1.NewTime(at)
	return &v1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "web",
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: manager, Subresource: subresource, Time: &written}},
	}}
}

func TestWritesAreSignsWhereThisProcessDidntMakeThem(t *testing.T) {
	at := now.Add(-time.Minute)
	for name, test := range map[string]struct {
		svc    *v1.Service
		ledger fakeLedger
		sign   bool
	}{
		"own, just answered":              {service(own, "status", at), fakeLedger{at, true}, false},
		"own, by a clock that lags a bit": {service(own, "status", at), fakeLedger{at.Add(-4 * time.Second), true}, false},
		"own name, later than every own":  {service(own, "status", at), fakeLedger{at.Add(-10 * time.Second), true}, true},
		"own name, an own is under way":   {service(own, "status", at), fakeLedger{at.Add(-10 * time.Second), false}, false},
		"own name, never written by us":   {service(own, "", at), fakeLedger{at, true}, true},
		"another cloud's manager":         {service("aws-cloud-controller-manager", "status", at), fakeLedger{now, true}, true},
		"a person":                        {service("kubectl-edit", "status", at), fakeLedger{}, false},
		"too young to be judged":          {service(own, "", now.Add(-20*time.Second)), fakeLedger{}, false},
		"long ago":                        {service(own, "", now.Add(-16*time.Minute)), fakeLedger{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			signs := Writes("Service", "services", test.svc, test.ledger, Times{begun, now})
			if got := len(signs) == 1; got != test.sign {
				t.Errorf("%v", signs)
			}
		})
	}
}

func TestWhatTheOneBeforeWroteIsNoSign(t *testing.T) {
	svc := service(own, "status", begun.Add(50*time.Second))
	if signs := Writes("Service", "services", svc, fakeLedger{}, Times{begun, begun.Add(2 * time.Minute)}); len(signs) > 0 {
		t.Error(signs)
	}
}

func TestALeaseIsASignWhileItIsHeld(t *testing.T) {
	for name, test := range map[string]struct {
		holder  string
		renewed time.Duration
		sign    bool
	}{
		"held": {"other", -10 * time.Second, true}, "run out": {"other", -16 * time.Second, false}, "given up": {"", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			renewed := metav1.NewMicroTime(now.Add(test.renewed))
			lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &test.holder, RenewTime: &renewed, LeaseDurationSeconds: new(int32(15))}}
			if sign := Held(lease, now); (sign != nil) != test.sign {
				t.Error(sign)
			}
		})
	}
	if Held(&coordinationv1.Lease{}, now) != nil {
		t.Error("an empty lease is held")
	}
}

func TestSignsAreNamedLeasesFirstAndTheLatestWrites(t *testing.T) {
	text := Describe([]Sign{
		{KindWrite, "m", "Service a/old", now.Add(-time.Minute)}, {KindWrite, "m", "Service a/older", now.Add(-time.Hour)},
		{KindWrite, "m", "Node w", now}, {KindLease, "h", "the lease kube-system/l", now},
	})
	want := "h holds the lease kube-system/l, renewed at 2026-05-01T13:00:00Z; m wrote Node w at 2026-05-01T13:00:00Z, which this process didn't; m wrote Service a/old at "
	if !strings.HasPrefix(text, want) || !strings.HasSuffix(text, "; and 1 more") {
		t.Error(text)
	}
}
