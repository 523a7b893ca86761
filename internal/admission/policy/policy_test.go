package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/cel/environment"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/golden"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

func TestDocumentationOfThePolicy(t *testing.T) {
	manifest, err := Manifest()
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "../../../deploy/charts/digitalocean-cloud-controller-manager/files/admission-policy.yaml", string(manifest))
}

// program is the policy as the API server compiles it.
type program struct {
	names    []string
	programs []cel.Program
	rules    []rule
}

func compile(t *testing.T) program {
	t.Helper()
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	extended, err := base.Extend(environment.VersionedOptions{
		IntroducedVersion: environment.DefaultCompatibilityVersion(),
		EnvOptions: []cel.EnvOption{
			cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType), cel.Variable("variables", cel.MapType(cel.StringType, cel.DynType)),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := program{rules: rules()}
	for _, v := range Spec().Variables {
		ast, issues := extended.NewExpressionsEnv().Compile(v.Expression)
		if issues.Err() != nil {
			t.Fatalf("%s: %v", v.Name, issues.Err())
		}
		compiled, err := extended.NewExpressionsEnv().Program(ast)
		if err != nil {
			t.Fatal(err)
		}
		p.names, p.programs = append(p.names, v.Name), append(p.programs, compiled)
	}
	return p
}

// refused are the annotations that the policy refuses of a Service, sorted.
func (p program) refused(t *testing.T, svc, old *v1.Service) []string {
	t.Helper()
	known := map[string]any{}
	input := map[string]any{"object": unstructured(t, svc), "oldObject": nil, "variables": known}
	if old != nil {
		input["oldObject"] = unstructured(t, old)
	}
	for i, name := range p.names {
		result, _, err := p.programs[i].Eval(input)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		known[name] = result
	}
	fields := map[string]bool{}
	for _, r := range p.rules {
		if fmt.Sprint(known[r.name].(interface{ Value() any }).Value()) != "" {
			fields[r.field] = true
		}
	}
	return slices.Sorted(maps.Keys(fields))
}

func unstructured(t *testing.T, svc *v1.Service) map[string]any {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(svc)
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

func service(annotations map[string]string) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", Annotations: annotations},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{
			{Port: 80, Protocol: v1.ProtocolTCP}, {Port: 443, Protocol: v1.ProtocolTCP}, {Port: 53, Protocol: v1.ProtocolUDP},
		}},
	}
}

// parsed are the annotations that Parse refuses, but for what has no effect.
func parsed(svc *v1.Service) []string {
	spec, problems := annotation.Parse(svc, annotation.Defaults{Type: annotation.TypeRegionalNetwork})
	fields := map[string]bool{}
	for _, p := range loadbalancer.Effective(spec, problems) {
		fields[p.Field] = true
	}
	return slices.Sorted(maps.Keys(fields))
}

// values are tried for every annotation.
var values = []string{
	"", " ", "x", "-", "true", "True", "tRUE", "yes", "0", "1", "2", "3", "5", "10", "11", "30", "80", "080", "+80", "-1", "1.5", "53", "81", "200", "201", "255", "300", "301", "600", "601",
	"65535", "65536", "000000000000000000080", "99999999999999999999", "1h", "3s",
	"80,443", " 80 , 443,, ", ",", " , ", "80;443", "80-90", "443,65536",
	"4de7ac8b-495b-4884-9a69-1050c6793cd6", "4DE7AC8B-495B-4884-9A69-1050C6793CD6", "4de7ac8b-495b-4884-9a69-1050c6793cd", " 4de7ac8b-495b-4884-9a69-1050c6793cd6",
	"REGIONAL", "REGIONAL_NETWORK", "regional", "GLOBAL", "EXTERNAL", "INTERNAL", "IPV4", "DUALSTACK", "IPV6",
	"lb-small", "lb-large", "lb-huge", "none", "cookies", "cookie", "tcp", "udp", "http", "https", "http2", "http3", "HTTP",
	"web", "web.example-1", "web-", ".web", "my_lb", "a b", " web", "web\n", "wéb", "a\tb", "ab", strings.Repeat("a", 40), strings.Repeat("a", 41), strings.Repeat("a", 255), strings.Repeat("a", 256), strings.Repeat("é", 128),
	"Web.Example.COM", "*.example.com", "a_b.example.com", "example.com.", "-a.example.com", strings.Repeat("a.", 126) + "a", strings.Repeat("a.", 126) + "aa",
	"192.0.2.7", "192.0.2.256", "192.0.2.0/24", "2001:db8::1", "::ffff:192.0.2.1", "fe80::1%eth0", "01.2.3.4",
	"ip:192.0.2.1", "ip: 192.0.2.1 ", "ip:192.0.2.1, cidr:198.51.100.0/24", "cidr:2001:DB8::1/32", "cidr:192.0.2.1", "ip:192.0.2.0/24", "host:a", "ip:", "cidr:", "cidr:192.0.2.0/33",
	"ip:::ffff:192.0.2.1", "cidr:::ffff:192.0.2.0/120", "ip:fe80::1%eth0", "192.0.2.1", "ip:192.0.2.1,host:a",
	"/", "/healthz?a=b", "healthz", "/a b", "/é", "/" + strings.Repeat("a", 1023), "/" + strings.Repeat("a", 1024),
	"revert", "report", "Revert", "ignore", "ignore:", "ignore: ,", "ignore: size-unit,name, name", "ignore:size_unit", "report,revert",
	"DO-CCM", "a=b", "lb!#$%&'*+.^_`|~-", "a;b",
}

// untold are the kinds whose syntax CEL can't read.
var untold = map[annotation.Kind]bool{annotation.KindSelector: true}

// tried are the values, or a sample of them in a short test.
func tried() []string {
	if !testing.Short() {
		return values
	}
	var some []string
	for i := 0; i < len(values); i += sample {
		some = append(some, values[i])
	}
	return some
}

// sample is the share of the values that a short test tries.
const sample = 7

// enough tells whether so many refusals show that all values were tried.
func enough(refused, all int) bool {
	if testing.Short() {
		all /= 2 * sample
	}
	return refused >= all
}

func TestThePolicyAgreesWithParseOnEachValue(t *testing.T) {
	p := compile(t)
	refused := 0
	for _, d := range annotation.Registry {
		for _, value := range tried() {
			if untold[d.Kind] || d.Key == annotation.Class || d.NotForBalancer {
				continue // what classes there are, only the manager knows
			}
			// The health check's have an effect only with the override.
			svc := service(map[string]string{d.Key: value, annotation.OverrideHealthCheck: ""})
			want, got := parsed(svc), p.refused(t, svc, nil)
			if !slices.Equal(want, got) {
				t.Errorf("%s: %q: Parse refuses %q, the policy %q", d.Key, value, want, got)
			}
			refused += len(want)
		}
	}
	if !enough(refused, 1000) {
		t.Errorf("only %d values were refused", refused)
	}
}

func TestThePolicyAgreesWithParseOnEachValueForOnePort(t *testing.T) {
	p := compile(t)
	refused := 0
	for _, d := range annotation.Registry {
		if !d.PerPort {
			continue
		}
		for _, port := range []string{"443", "https", "8443", "0", "080", "65535", "65536", "-a", "a_b", "0-1", "HTTPS", strings.Repeat("a", 63), strings.Repeat("a", 64)} {
			of := []string{"\x00"}
			if port == "https" {
				of = tried()
			}
			for _, value := range of {
				svc := service(map[string]string{d.Key + "." + port: value})
				svc.Spec.Ports[1].Name = "https"
				var want []string
				for _, field := range parsed(svc) {
					want = append(want, strings.TrimSuffix(field, "."+port))
				}
				if got := p.refused(t, svc, nil); !slices.Equal(want, got) {
					t.Errorf("%s.%s: %q: Parse refuses %q, the policy %q", d.Key, port, value, want, got)
				}
				refused += len(want)
			}
		}
	}
	if !enough(refused, 200) {
		t.Errorf("only %d values were refused", refused)
	}
}

const (
	someID  = "4de7ac8b-495b-4884-9a69-1050c6793cd6"
	otherID = "892071a0-bb95-49bc-8021-3afd67a210bf"
)

var combinations = []map[string]string{
	{annotation.SizeSlug: "lb-large", annotation.SizeUnit: "2"},
	{annotation.SizeSlug: "lb-large", annotation.SizeUnit: ""},
	{annotation.NetworkStack: "DUALSTACK", annotation.Network: "INTERNAL"},
	{annotation.NetworkStack: "IPV4", annotation.Network: "INTERNAL"},
	{annotation.Type: "REGIONAL", annotation.HTTPPorts: "80,443", annotation.TLSPorts: "443", annotation.CertificateID: someID},
	{annotation.Type: "REGIONAL", annotation.HTTP2Ports: "443", annotation.TLSPorts: " 443", annotation.CertificateID: someID},
	{annotation.Type: "REGIONAL", annotation.HTTPPorts: "80", annotation.HTTP2Ports: "80,443", annotation.CertificateID: someID},
	{annotation.Type: "REGIONAL", annotation.HTTPPorts: "80", annotation.TLSPorts: "443", annotation.CertificateName: "site"},
	{annotation.Type: "REGIONAL_NETWORK", annotation.HTTPPorts: "443", annotation.TLSPorts: "443"},
	{annotation.Type: "REGIONAL", annotation.TLSPassthrough: "true", annotation.CertificateID: someID},
	{annotation.Type: "REGIONAL", annotation.TLSPassthrough: "true", annotation.CertificateName: "site", annotation.CertificateID: someID},
	{annotation.Type: "REGIONAL", annotation.TLSPassthrough: "1", annotation.CertificateName: "site"},
	{annotation.Type: "REGIONAL", annotation.TLSPassthrough: "false", annotation.CertificateName: "site"},
	{annotation.Type: "REGIONAL", annotation.TLSPassthrough: "true", annotation.CertificateID + ".443": someID},
	{annotation.Type: "REGIONAL", annotation.TLSPassthrough: "true", annotation.CertificateName + ".443": "site"},
	{annotation.Type: "REGIONAL", annotation.TLSPassthrough: "true", annotation.CertificateID: someID, annotation.CertificateName + ".443": "site"},
	{annotation.Type: "REGIONAL", annotation.TLSPassthrough: "true", annotation.BackendProtocol: "https"},
	{annotation.Type: "REGIONAL", annotation.TLSPassthrough: "true", annotation.BackendProtocol: "http"},
	{annotation.Type: "REGIONAL", annotation.TLSPassthrough: "true", annotation.BackendProtocol: "https", annotation.CertificateID: someID},
	{annotation.Type: "REGIONAL", annotation.CertificateID: someID, annotation.BackendProtocol: "http2", annotation.CertificateName + ".443": "site"},
	{annotation.Type: "REGIONAL", annotation.TLSPorts: "443", annotation.CertificateName + ".443": "site"},
	{annotation.Type: "REGIONAL", annotation.TLSPorts: "443"},
	{annotation.Type: "REGIONAL", annotation.TLSPorts: "8443"},
	{annotation.Type: "REGIONAL", annotation.HTTP2Ports: "443"},
	{annotation.Type: "REGIONAL", annotation.Protocol: "https"},
	{annotation.Type: "REGIONAL", annotation.Protocol: "http2"},
	{annotation.Type: "REGIONAL", annotation.Protocol: "http3"},
	{annotation.Type: "REGIONAL", annotation.Protocol: "https", annotation.TLSPassthrough: "true"},
	{annotation.Type: "REGIONAL", annotation.Protocol: "http"},
	{annotation.Type: "REGIONAL", annotation.StickySessionsType: "cookies"},
	{annotation.Type: "REGIONAL", annotation.StickySessionsType: "cookies", annotation.StickySessionsCookieName: "lb", annotation.StickySessionsCookieTTL: "60"},
	{annotation.StickySessionsType: "cookies"},
	{annotation.OverrideHealthCheck: "true", annotation.HealthCheckPath: "/a", annotation.HealthCheckProtocol: "tcp"},
	{annotation.OverrideHealthCheck: "", annotation.HealthCheckPath: "/a", annotation.HealthCheckProtocol: "http"},
	{annotation.HealthCheckPath: "a", annotation.HealthCheckProtocol: "foo"},
	{annotation.OverrideHealthCheck: "", annotation.HealthCheckPort: "81"},
	{annotation.OverrideHealthCheck: "", annotation.HealthCheckPort: "53"},
	{annotation.OverrideHealthCheck: "", annotation.HealthCheckPort: "443"},
	{annotation.Type: "GLOBAL", annotation.SizeUnit: "0", annotation.LoadBalancerID: "web", annotation.DenyRules: "1.2.3.4"},
	{"example.com/x": "y"},
	nil,
}

func TestThePolicyAgreesWithParseOnCombinations(t *testing.T) {
	p := compile(t)
	for _, annotations := range combinations {
		svc := service(annotations)
		if diff := cmp.Diff(parsed(svc), p.refused(t, svc, nil)); diff != "" {
			t.Errorf("%v: Parse and the policy differ:\n%s", annotations, diff)
		}
	}
}

func TestThePolicyLetsPassWhatWasSoBefore(t *testing.T) {
	p := compile(t)
	old := service(map[string]string{annotation.SizeUnit: "0", annotation.Type: "REGIONAL", annotation.TLSPorts: "443"})
	now := old.DeepCopy()
	now.Annotations["example.com/x"] = "y"
	if got := p.refused(t, now, old); len(got) > 0 {
		t.Errorf("an edit of something else: %v", got)
	}
	now.Annotations[annotation.LoadBalancerID] = otherID + "0"
	if got := p.refused(t, now, old); !slices.Equal(got, []string{annotation.LoadBalancerID}) {
		t.Errorf("another mistake: %v", got)
	}
	old.Spec.Type = v1.ServiceTypeClusterIP
	if got := p.refused(t, now, old); len(got) != 3 {
		t.Errorf("a Service that was of another type: %v", got)
	}
}
