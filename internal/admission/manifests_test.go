package admission

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// manifests reads every object that is shipped, strictly: a misspelt field is an
// error.
func manifests(t *testing.T) []runtime.Object {
	t.Helper()
	files, err := filepath.Glob("../../deploy/manifests/admission-*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var objects []runtime.Object
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
		buffer := make([]byte, len(text)+1)
		for {
			n, err := documents.Read(buffer)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			object, _, err := decoder.Decode(buffer[:n], nil, nil)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			objects = append(objects, object)
		}
	}
	return objects
}

func one[T runtime.Object](t *testing.T) T {
	t.Helper()
	for _, object := range manifests(t) {
		if found, ok := object.(T); ok {
			return found
		}
	}
	t.Fatal("not shipped")
	panic("unreachable")
}

func TestTheWebhookNeverBlocksForLong(t *testing.T) {
	configuration := one[*admissionregistrationv1.ValidatingWebhookConfiguration](t)
	if configuration.Name != DefaultName || len(configuration.Webhooks) != 1 {
		t.Fatal(configuration.Name, len(configuration.Webhooks))
	}
	w := configuration.Webhooks[0]
	if *w.FailurePolicy != admissionregistrationv1.Ignore || *w.SideEffects != admissionregistrationv1.SideEffectClassNone {
		t.Errorf("failure policy %s, side effects %s", *w.FailurePolicy, *w.SideEffects)
	}
	if timeout := *w.TimeoutSeconds; timeout > 5 || float64(timeout) <= apiTimeout.Seconds() {
		t.Errorf("time-out %d s, while DigitalOcean is waited for %s", timeout, apiTimeout)
	}
	if selector := w.NamespaceSelector.MatchExpressions[0]; selector.Operator != "NotIn" || selector.Values[0] != DefaultNamespace {
		t.Errorf("the server's own namespace is not left out: %+v", selector)
	}
	if !strings.Contains(w.MatchConditions[0].Expression, "LoadBalancer") {
		t.Errorf("match conditions %+v", w.MatchConditions)
	}
	service := w.ClientConfig.Service
	if service.Name != DefaultName || service.Namespace != DefaultNamespace || *service.Path != Path {
		t.Errorf("service %+v", service)
	}
}

func TestTheManifestsFitTogether(t *testing.T) {
	deployment := one[*appsv1.Deployment](t)
	service := one[*v1.Service](t)
	account := one[*v1.ServiceAccount](t)
	pod := deployment.Spec.Template
	for key, value := range service.Spec.Selector {
		if pod.Labels[key] != value {
			t.Errorf("the Service selects %s=%s, the Pods have %q", key, value, pod.Labels[key])
		}
	}
	if pod.Spec.ServiceAccountName != account.Name || *deployment.Spec.Replicas < 2 {
		t.Errorf("account %s, replicas %d", pod.Spec.ServiceAccountName, *deployment.Spec.Replicas)
	}
	if grace := *pod.Spec.TerminationGracePeriodSeconds; float64(grace) < (defaultShutdownDelay + drainTimeout).Seconds() {
		t.Errorf("%d s for an end that takes %s and %s", grace, defaultShutdownDelay, drainTimeout)
	}
	if port := pod.Spec.Containers[0].Ports[0]; port.ContainerPort != DefaultPort || port.Name != service.Spec.Ports[0].TargetPort.StrVal {
		t.Errorf("port %+v", port)
	}
	if service.Name != DefaultName || service.Namespace != DefaultNamespace {
		t.Errorf("the Service is %s/%s", service.Namespace, service.Name)
	}
}

func TestTheServerMayTouchOnlyItsOwn(t *testing.T) {
	rules := append(one[*rbacv1.ClusterRole](t).Rules, one[*rbacv1.Role](t).Rules...)
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			reads := verb == "list" || verb == "watch" || verb == "create" && rule.Resources[0] == "secrets"
			if !reads && len(rule.ResourceNames) != 1 {
				t.Errorf("%s of %s without a name", verb, rule.Resources)
			}
		}
		for _, name := range rule.ResourceNames {
			if name != DefaultName && name != DefaultSecret {
				t.Errorf("rights on %s", name)
			}
		}
	}
}

// Names become labels and parts of host names.
func TestNamesAreShort(t *testing.T) {
	for _, object := range manifests(t) {
		accessor, ok := object.(interface{ GetName() string })
		if !ok {
			t.Fatalf("%T has no name", object)
		}
		name := strings.TrimPrefix(accessor.GetName(), "system:")
		if len(name) > 63 {
			t.Errorf("%s has %d characters", name, len(name))
		}
	}
}
