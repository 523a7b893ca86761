package e2e

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The admission server knows which namespaces a limit is for, by the right that
// the chart gives it where limits select some.
func TestAdmissionFollowsTheLabelsOfNamespaces(t *testing.T) {
	e := prepareAdmission(t, configFile(`
loadBalancer:
  limits:
    tenants:
      namespaces: tenant
      maxSizeUnit: 2
`))
	e.letWatchNamespaces(admissionName)
	s := e.startAdmission()
	s.register()
	e.active()
	if err := e.dryRun("large", annotationPrefix+"size-unit", "3"); err != nil {
		t.Errorf("a namespace without the label: %v", err)
	}
	if _, err := e.kube.CoreV1().Namespaces().Patch(e.ctx, "default", types.MergePatchType, []byte(`{"metadata":{"labels":{"tenant":"a"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	e.eventually(30*time.Second, "the limit holds", func() error {
		if err := e.dryRun("large", annotationPrefix+"size-unit", "3"); !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
			return fmt.Errorf("the API server says %v", err)
		}
		return nil
	})
	if err := e.dryRun("small", annotationPrefix+"size-unit", "2"); err != nil {
		t.Errorf("within the limit: %v", err)
	}
}
