package admission

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/simulator"
)

func TestEveryProblemIsToldAtOnceByItsField(t *testing.T) {
	w := newWorld(t)
	svc := service("a", annotation.Type, "GLOBAL", annotation.SizeUnit, "0", annotation.LoadBalancerID, "web", annotation.DenyRules, "1.2.3.4")
	svc.Spec.Ports[0].Port = 50053
	v := w.judged(svc, nil)
	var fields []string
	for _, e := range v.Errors {
		fields = append(fields, e.Field)
	}
	slices.Sort(fields)
	want := []string{
		"metadata.annotations[kubernetes.digitalocean.com/load-balancer-id]",
		"metadata.annotations[service.beta.kubernetes.io/do-loadbalancer-deny-rules]",
		"metadata.annotations[service.beta.kubernetes.io/do-loadbalancer-size-unit]",
		"metadata.annotations[service.beta.kubernetes.io/do-loadbalancer-type]",
		"spec.ports[0].port",
	}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Error(diff)
	}
	status := v.Status("a")
	if status.Code != http.StatusUnprocessableEntity || status.Reason != metav1.StatusReasonInvalid || len(status.Details.Causes) != len(want) {
		t.Errorf("status %+v", status)
	}
	if !strings.Contains(status.Message, `Invalid value: "GLOBAL": must be REGIONAL_NETWORK or REGIONAL`) {
		t.Errorf("message %s", status.Message)
	}
	if calls := w.calls(0); len(calls) > 0 {
		t.Errorf("DigitalOcean was asked %v for what can't be", calls)
	}
}

func TestWarningsTellWhatHasNoEffect(t *testing.T) {
	w := newWorld(t)
	tests := []struct {
		name string
		svc  *v1.Service
		want string
	}{
		{"deprecated", service("a", annotation.SizeSlug, "lb-small"), "is deprecated"},
		{"not for the type", service("a", annotation.EnableProxyProtocol, "true"), "has no effect on the type REGIONAL_NETWORK"},
		{"a port that the Service lacks", service("a", annotation.Type, "REGIONAL", annotation.HTTPPorts, "8080"), "8080"},
		{"a misspelt key", service("a", "service.beta.kubernetes.io/do-loadbalancer-size-units", "2"), `metadata.annotations[service.beta.kubernetes.io/do-loadbalancer-size-units]: "2" is not known here, and has no effect; the nearest annotation is ` + annotation.SizeUnit},
		{"ignored by DigitalOcean", service("a", annotation.Type, "REGIONAL", annotation.Algorithm, "least_connections"), annotation.Algorithm},
		{"no load balancer of that id", service("a", annotation.LoadBalancerID, unknown), "doesn't exist; a new one is made"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := w.judged(test.svc, nil)
			if len(v.Errors) > 0 || !contains(v.Warnings, test.want) {
				t.Errorf("errors %v, warnings %q, want %q", v.Errors, v.Warnings, test.want)
			}
		})
	}
}

func TestWhatCantChangeOnALoadBalancerIsRefusedWithTheWayOut(t *testing.T) {
	w := newWorld(t)
	network := w.balance(service("a"))
	regional := w.balance(service("b", annotation.Type, "REGIONAL"))
	tests := []struct {
		name     string
		old, svc *v1.Service
		refused  string
		warned   string
	}{
		{"type", network, with(network, annotation.Type, "REGIONAL"), annotation.Type, ""},
		{"network", network, with(network, annotation.Network, "INTERNAL"), annotation.Network, ""},
		{"network stack", regional, with(regional, annotation.NetworkStack, "IPV4"), "", "needs a new load balancer"},
		{"a lost type is the load balancer's", regional, with(regional, annotation.Type, ""), "", ""},
		{"as it is", network, with(network, annotation.Network, "EXTERNAL"), "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := w.judged(test.svc, test.old)
			if (test.refused != "") != (len(v.Errors) > 0) || v.Unchecked != "" {
				t.Fatalf("errors %v, unchecked %q", v.Errors, v.Unchecked)
			}
			if test.refused != "" && (v.Errors[0].Field != path(test.refused) || !strings.Contains(v.Errors[0].Detail, "delete and re-create the Service")) {
				t.Errorf("errors %v", v.Errors)
			}
			if (test.warned != "") != (len(v.Warnings) > 0) || !contains(v.Warnings, test.warned) {
				t.Errorf("warnings %q", v.Warnings)
			}
		})
	}
}

func TestALoadBalancerServesOneService(t *testing.T) {
	w := newWorld(t)
	first := w.balance(service("a"))
	id := first.Annotations[annotation.LoadBalancerID]
	v := w.judged(service("b", annotation.LoadBalancerID, id), nil)
	if len(v.Errors) != 1 || v.Errors[0].Field != path(annotation.LoadBalancerID) || !strings.Contains(v.Errors[0].Detail, "default/a") {
		t.Errorf("a new Service: %v", v.Errors)
	}
	second := service("b")
	if v := w.judged(with(second, annotation.LoadBalancerID, id), second); len(v.Errors) != 1 {
		t.Errorf("a Service that takes it over: %v", v.Errors)
	}
	// Unnoticed so far: an edit of something else still passes, with a warning.
	foreign := with(second, annotation.LoadBalancerID, id)
	v = w.judged(with(foreign, annotation.SizeUnit, "2"), foreign)
	if len(v.Errors) > 0 || !contains(v.Warnings, "belongs to Service default/a") {
		t.Errorf("errors %v, warnings %q", v.Errors, v.Warnings)
	}
	// Its owner may always name it: the manager's own patch.
	if v := w.judged(first, with(first, annotation.LoadBalancerID, "", annotation.Type, "", annotation.DefaultsVersion, "")); len(v.Errors) > 0 || len(v.Warnings) > 0 {
		t.Errorf("the manager's patch: %v, %q", v.Errors, v.Warnings)
	}
}

func TestEachChangeIsValidatedAgainstTheLoadBalancerThatItActsOn(t *testing.T) {
	w := newWorld(t)
	owned := w.balance(service("a"))
	made := w.balance(service("c", annotation.Name, "web"))
	strange := made.Annotations[annotation.LoadBalancerID]
	if err := w.services.Delete(made); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name     string
		svc, old *v1.Service
		calls    []string
	}{
		{"new", service("d"), nil, []string{"POST"}},
		{"new, taking one over by its id, with its name", service("d", annotation.LoadBalancerID, strange, annotation.Name, "web", annotation.SizeUnit, "2"), nil, []string{"GET", "PUT"}},
		{"changed", with(owned, annotation.SizeUnit, "2"), owned, []string{"GET", "PUT"}},
		{"changed, the id removed", with(owned, annotation.SizeUnit, "2", annotation.LoadBalancerID, ""), owned, []string{"PUT"}},
		{"the id removed", with(owned, annotation.LoadBalancerID, ""), owned, nil},
		{"the id changed", with(owned, annotation.LoadBalancerID, strange, annotation.Name, "web", annotation.SizeUnit, "2"), owned, []string{"PUT"}},
		{"a host name for the status", with(owned, annotation.Hostname, "web.example.com"), owned, nil},
		{"made into a LoadBalancer", service("d"), func() *v1.Service { s := service("d"); s.Spec.Type = v1.ServiceTypeClusterIP; return s }(), []string{"GET", "POST"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := w.sim.LoadBalancers()
			since := len(w.sim.Requests())
			v := w.judged(test.svc, test.old)
			if len(v.Errors) > 0 || v.Unchecked != "" {
				t.Errorf("errors %v, unchecked %q", v.Errors, v.Unchecked)
			}
			if diff := cmp.Diff(test.calls, w.calls(since)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, w.sim.LoadBalancers()); diff != "" {
				t.Errorf("something was changed: %s", diff)
			}
		})
	}
}

func TestDigitalOceansRefusalIsShown(t *testing.T) {
	w := newWorld(t)
	v := w.judged(service("a", annotation.Type, "REGIONAL", annotation.CertificateID, unknown, annotation.TLSPorts, "443"), nil)
	if len(v.Errors) != 1 || !strings.Contains(v.Errors[0].Detail, "DigitalOcean refuses") {
		t.Errorf("errors %v", v.Errors)
	}
	v = w.judged(service("a", annotation.Type, "REGIONAL", annotation.CertificateName, "gone", annotation.TLSPorts, "443"), nil)
	if len(v.Errors) != 1 || v.Errors[0].Field != path(annotation.CertificateName) {
		t.Errorf("errors %v", v.Errors)
	}
	w.sim.AddCertificate(simulator.CertificateSpec{Team: "t", Name: "site"})
	if v = w.judged(service("a", annotation.Type, "REGIONAL", annotation.CertificateName, "site", annotation.TLSPorts, "443"), nil); len(v.Errors) > 0 || v.Unchecked != "" {
		t.Errorf("errors %v, unchecked %q", v.Errors, v.Unchecked)
	}
}

// What isn't about the load balancer is never in the way, whatever is wrong.
func TestUnrelatedChangesPass(t *testing.T) {
	w := newWorld(t)
	invalid := service("a", annotation.SizeUnit, "0")
	edit := func(change func(*v1.Service)) *v1.Service {
		svc := invalid.DeepCopy()
		change(svc)
		return svc
	}
	now := metav1.Now()
	class := "example.com/other"
	tests := []struct {
		name     string
		svc, old *v1.Service
	}{
		{"another type", edit(func(s *v1.Service) { s.Spec.Type = v1.ServiceTypeNodePort }), nil},
		{"to another type", edit(func(s *v1.Service) { s.Spec.Type = v1.ServiceTypeClusterIP }), invalid},
		{"another controller's", edit(func(s *v1.Service) { s.Spec.LoadBalancerClass = &class }), nil},
		{"being deleted", edit(func(s *v1.Service) { s.DeletionTimestamp = &now; s.Annotations[annotation.Type] = "x" }), invalid},
		{"finalizers", edit(func(s *v1.Service) { s.Finalizers = []string{"a/b"} }), invalid},
		{"labels", edit(func(s *v1.Service) { s.Labels = map[string]string{"a": "b"} }), invalid},
		{"selector", edit(func(s *v1.Service) { s.Spec.Selector = map[string]string{"a": "b"} }), invalid},
		{"annotations of others", edit(func(s *v1.Service) { s.Annotations["example.com/a"] = "b" }), invalid},
		{"status", edit(func(s *v1.Service) { s.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "192.0.2.1"}} }), invalid},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if v := w.judged(test.svc, test.old); v.Concerned || len(v.Errors)+len(v.Warnings) > 0 {
				t.Errorf("%+v", v)
			}
		})
	}
	if calls := w.calls(0); len(calls) > 0 {
		t.Errorf("calls %v", calls)
	}
}

func TestAnOldMistakeIsNoReasonAgainstAnotherChange(t *testing.T) {
	w := newWorld(t)
	invalid := service("a", annotation.SizeUnit, "0")
	v := w.judged(with(invalid, annotation.HTTPIdleTimeoutSeconds, "90"), invalid)
	if len(v.Errors) > 0 || !contains(v.Warnings, "is as invalid as before") {
		t.Errorf("errors %v, warnings %q", v.Errors, v.Warnings)
	}
	v = w.judged(with(invalid, annotation.HTTPIdleTimeoutSeconds, "9"), invalid)
	if len(v.Errors) != 1 || v.Errors[0].Field != path(annotation.HTTPIdleTimeoutSeconds) {
		t.Errorf("a mistake beside the old one: %v", v.Errors)
	}
	if v = w.judged(with(invalid, annotation.SizeUnit, "-1"), invalid); len(v.Errors) != 1 {
		t.Errorf("another mistake in its place: %v", v.Errors)
	}
}

func TestADisownedServiceIsItsUsersAffair(t *testing.T) {
	w := newWorld(t)
	if v := w.judged(service("a", annotation.Disown, "true", annotation.SizeUnit, "0"), nil); len(v.Errors) > 0 {
		t.Errorf("errors %v", v.Errors)
	}
	if v := w.judged(service("a", annotation.Disown, "yes"), nil); len(v.Errors) != 1 {
		t.Errorf("errors %v", v.Errors)
	}
	if calls := w.calls(0); len(calls) > 0 {
		t.Errorf("calls %v", calls)
	}
}
