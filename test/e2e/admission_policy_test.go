package e2e

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestAdmissionPolicyWithoutAServer(t *testing.T) {
	e := prepareAdmission(t)
	e.addService("old", func(svc *v1.Service) { svc.Annotations[annotationPrefix+"size-unit"] = "0" })
	e.apply("admission-policy.yaml")
	e.active()
	out, err := e.kubectl(serviceManifest("web", annotationPrefix+"size-unit", "0", annotationPrefix+"type", "GLOBAL"), "apply", "-f", "-")
	for _, want := range []string{
		`metadata.annotations[service.beta.kubernetes.io/do-loadbalancer-type]: Invalid value: "GLOBAL": must be REGIONAL_NETWORK or REGIONAL`,
		`metadata.annotations[service.beta.kubernetes.io/do-loadbalancer-size-unit]: Invalid value: "0": must be a whole number from 1 to 200`,
	} {
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("kubectl says\n%s\nwithout %s", out, want)
		}
	}
	valid := []string{
		annotationPrefix + "type", "REGIONAL", annotationPrefix + "size-unit", "2", annotationPrefix + "allow-rules", "ip:192.0.2.1, cidr:2001:db8::/32",
		annotationPrefix + "hostname", "Web.example.com", annotationPrefix + "override-health-check", "", annotationPrefix + "healthcheck-port", "80",
	}
	if out, err := e.kubectl(serviceManifest("fine", valid...), "apply", "-f", "-"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := e.kubectl("", "label", "service", "old", "a=b"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := e.kubectl("", "annotate", "service", "old", annotationPrefix+"name=web"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := e.kubectl("", "delete", "service", "old", "--wait=false"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
