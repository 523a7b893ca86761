package annotation

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// fuzzService makes a Service of arbitrary text: annotations are lines of
// "key=value", where a key that is a number stands for one of the registry.
func fuzzService(lines, ranges string, ports []byte) *v1.Service {
	svc := service(annotations{})
	svc.Spec.Ports = nil
	for i, line := range strings.Split(lines, "\n") {
		key, value, _ := strings.Cut(line, "=")
		if len(key) == 1 {
			key = Registry[int(key[0])%len(Registry)].Key
		}
		if i < 50 {
			svc.Annotations[key] = value
		}
	}
	if ranges != "" {
		svc.Spec.LoadBalancerSourceRanges = strings.Split(ranges, ",")
	}
	for i := 0; i+2 < len(ports); i += 3 {
		protocols := []v1.Protocol{"", v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP}
		svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{
			Port: int32(ports[i])<<8 | int32(ports[i+1]), Protocol: protocols[int(ports[i+2])%len(protocols)],
		})
	}
	return svc
}

func FuzzParse(f *testing.F) {
	for _, d := range Registry {
		values := append(slices.Clone(badValues[d.Key]), d.Values...)
		for _, value := range append(values, "true", "443", someID, "cidr:10.0.0.0/8") {
			f.Add(d.Key+"="+value+"\n"+Type+"=REGIONAL\n"+OverrideHealthCheck+"=", "10.0.0.0/8,x", []byte{1, 187, 1, 0, 80, 0, 0, 53, 2})
		}
	}
	f.Add(strings.Join([]string{Type + "=REGIONAL", CertificateID + "=" + someID, Protocol + "=http3", HTTP3Port + "=443", TLSPorts + "=443", HTTP2Ports + "=443", HTTPPorts + "=443", TLSPassthrough + "=true"}, "\n"), "", []byte{1, 187, 0})
	f.Fuzz(func(t *testing.T, lines, ranges string, ports []byte) {
		svc := fuzzService(lines, ranges, ports)
		spec, problems := Parse(svc, Defaults{Type: TypeRegional})
		for _, p := range problems {
			if svc.Annotations[p.Field] == "" && !strings.HasPrefix(p.Field, "spec.") {
				t.Errorf("a problem with %q, which isn't set: %v", p.Field, p)
			}
			if p.Allowed == "" {
				t.Errorf("%+v doesn't say what is allowed", p)
			}
		}
		for i, p := range problems {
			if slices.Contains(problems[:i], p) {
				t.Errorf("told twice: %v", p)
			}
		}
		checkUsable(t, svc, spec)
		checkStable(t, svc, spec, problems)
		for _, source := range slices.Concat(spec.AllowRules, spec.DenyRules) {
			if normal, err := NormalizeSource(source); err != nil || normal != source {
				t.Errorf("source %q isn't normal: %q, %v", source, normal, err)
			}
		}
	})
}

// checkStable fails where the same Service reads differently again.
func checkStable(t *testing.T, svc *v1.Service, spec Spec, problems []Problem) {
	t.Helper()
	again, problemsAgain := Parse(svc, Defaults{Type: TypeRegional})
	if diff := cmp.Diff(spec, again) + cmp.Diff(problems, problemsAgain); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Warnings(svc, spec), Warnings(svc, spec)); diff != "" {
		t.Error(diff)
	}
}
