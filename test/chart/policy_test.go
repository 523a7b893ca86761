package chart

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

const policyName = chartName + "-annotations"

// A Service as people write it, in a namespace and with a size.
const sizedService = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: %s, annotations: {service.beta.kubernetes.io/do-loadbalancer-size-unit: %q}}
spec: {type: LoadBalancer, ports: [{port: 80}], selector: {app: web}}
`

// create says what the API server does with a Service, which it doesn't keep.
func (c cluster) create(t *testing.T, namespace, size string) (string, error) {
	t.Helper()
	return c.run(t, fmt.Sprintf(sizedService, namespace, size), "create", "--dry-run=server", "-f", "-")
}

func TestThePolicyDoesWhatItsValuesSay(t *testing.T) {
	tests := []struct{ name, values, refused, warned, passed string }{
		{"by default", "", "default", "", "kube-system"},
		{"another namespace left out", "excludedNamespaces: [default]", "kube-public", "", "default"},
		{"a warning", "validationActions: [Warn]", "", "default", "kube-system"},
	}
	c := startCluster(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			manifest, err := template(t, "admissionPolicy: {enabled: true, "+test.values+"}", "--show-only", "templates/admission-policy.yaml")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.run(t, manifest, "create", "-f", "-"); err != nil {
				t.Fatal(err)
			}
			defer c.forget(t, manifest, test.refused+test.warned)
			c.judges(t, test.refused+test.warned, test.refused != "")
			if out, err := c.create(t, test.passed, "0"); err != nil || strings.Contains(out, "Warning") {
				t.Errorf("namespace %s: %v, %s", test.passed, err, out)
			}
			if out, err := c.create(t, test.refused+test.warned, "2"); err != nil || strings.Contains(out, "Warning") {
				t.Errorf("a valid Service: %v, %s", err, out)
			}
		})
	}
}

// forget takes a policy away and waits until the API server has heard of it.
func (c cluster) forget(t *testing.T, manifest, namespace string) {
	t.Helper()
	if _, err := c.run(t, manifest, "delete", "-f", "-"); err != nil {
		t.Error(err)
	}
	within(t, 30*time.Second, &lockedBuffer{}, "mistakes are not told any more", func() error {
		out, err := c.create(t, namespace, "0")
		if strings.Contains(out, "Warning") {
			return errors.New(out)
		}
		return err
	})
}

// judges waits until the API server tells of a mistake; it hears of policies a
// moment after they were made.
func (c cluster) judges(t *testing.T, namespace string, refuses bool) {
	t.Helper()
	within(t, 30*time.Second, &lockedBuffer{}, "a mistake is told", func() error {
		out, err := c.create(t, namespace, "0")
		if !strings.Contains(out, "must be a whole number from 1 to 200") {
			return fmt.Errorf("kubectl says %q", out)
		}
		if refused := err != nil; refused != refuses {
			return errors.Join(fmt.Errorf("refused: %t", refused), err)
		}
		return nil
	})
}

func TestThePolicyFailsAsItsValuesSay(t *testing.T) {
	for policy, want := range map[string]admissionregistrationv1.FailurePolicyType{
		"{enabled: true}":                      admissionregistrationv1.Ignore,
		"{enabled: true, failurePolicy: Fail}": admissionregistrationv1.Fail,
	} {
		objects := render(t, "admissionPolicy: "+policy)
		spec := as[admissionregistrationv1.ValidatingAdmissionPolicy](t, objects, "ValidatingAdmissionPolicy", policyName).Spec
		if *spec.FailurePolicy != want {
			t.Errorf("%s: %s", policy, *spec.FailurePolicy)
		}
		binding := as[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, objects, "ValidatingAdmissionPolicyBinding", policyName).Spec
		if binding.PolicyName != policyName {
			t.Errorf("%s: the binding is of %s", policy, binding.PolicyName)
		}
	}
}
