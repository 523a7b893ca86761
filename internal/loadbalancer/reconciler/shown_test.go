package reconciler

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhoWroteAStatusLastIsNamed(t *testing.T) {
	at := func(minute int) *metav1.Time {
		return new(metav1.NewTime(time.Date(2026, 5, 1, 12, minute, 0, 0, time.UTC)))
	}
	svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
		{Manager: "digitalocean-cloud-controller-manager", Subresource: "status", Time: at(1)},
		{Manager: "metallb", Subresource: "status", Time: at(2)},
		{Manager: "without a time", Subresource: "status"},
		{Manager: "kubectl", Time: at(3)},
	}}}
	if got := statusWriter(svc); got != " (metallb)" {
		t.Errorf("%q", got)
	}
	if got := statusWriter(&v1.Service{}); got != "" {
		t.Errorf("%q where nothing tells", got)
	}
}
