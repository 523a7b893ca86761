package annotation

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// badValues has values of every annotation that refuses any.
var badValues = map[string][]string{
	LoadBalancerID:  {"my-lb", someID + "0", " " + someID},
	DefaultsVersion: {"0", "v1"},
	Disown:          {"yes", " "},
	Name:            {"web-", ".web", "-web", "my_lb", "a b", strings.Repeat("a", 256)},
	Type:            {"NETWORK", "regional", "GLOBAL"},
	Network:         {"PUBLIC", "internal"},
	NetworkStack:    {"IPV6", "dualstack"},
	SizeUnit:        {"0", "201", "-1", "two", "1.5", "99999999999999999999"},
	SizeSlug:        {"small", "lb-huge"},
	IP:              {"web.example.com", "2001:db8::1", "192.0.2.0/24", "192.0.2.256"},
	SubnetUUID:      {"subnet"},
	Hostname:        {"*.example.com", "a_b.example.com", "example.com.", "192.0.2.1", "2001:db8::1", "-a.example.com", "http://example.com", strings.Repeat("a.", 126) + "aa"},
	Protocol:        {"udp", "HTTP", "tls"},
	HTTPPorts:       {"0", "65536", "http", "80;81", "80-90", " , "},
	TLSPorts:        {"0", "443 444"},
	HTTP2Ports:      {"-1"},
	HTTP3Port:       {"0", "65536", "443,444"},
	TLSPassthrough:  {"yes"},
	CertificateID:   {"my-site", "lets-encrypt"},
	CertificateName: {"a\nb", " site", strings.Repeat("a", 256)},

	DisableLetsEncryptDNSRecords: {"on"},

	HealthCheckPort:     {"0", "http", "65536"},
	HealthCheckPath:     {"healthz", "/a b", "/\n", "/é", "/" + strings.Repeat("a", 1024)},
	HealthCheckProtocol: {"foo", "udp", "http2", "HTTP"},

	HealthCheckIntervalSeconds:        {"3s", "2", "301"},
	HealthCheckResponseTimeoutSeconds: {"2", "301"},
	HealthCheckUnhealthyThreshold:     {"1", "11"},
	HealthCheckHealthyThreshold:       {"1", "11"},

	StickySessionsType:       {"cookie", "Cookies"},
	StickySessionsCookieName: {"x", "a b", "a=b", strings.Repeat("a", 41)},
	StickySessionsCookieTTL:  {"0", "1h"},
	RedirectHTTPToHTTPS:      {"yes"},
	EnableProxyProtocol:      {"v2"},
	EnableBackendKeepalive:   {"yes"},
	HTTPIdleTimeoutSeconds:   {"29", "601", "60s"},
	AllowRules:               {"192.0.2.1", "ip:192.0.2.0/24", "cidr:192.0.2.1", "ip:192.0.2.1, host:a", ","},
	DenyRules:                {"ip:300.0.0.1", "cidr:192.0.2.0/33"},
	FirewallManagedKey:       {"maybe"},
	Class:                    {"a b"},
	ProjectID:                {"default", someID + "0"},
	BackendProtocol:          {"tcp", "HTTPS", "http3"},
	UseAppProtocol:           {"yes"},
	TLSCipherPolicy:          {"strong", "WEAK", "TLSv1.3"},
	NodeSelector:             {"a=b=c", "pool in edge", "=", " ", "pool=a b", "pool in ()x"},
	AllowEmptyBackends:       {"yes"},
	Manage:                   {"backend", "none", "All"},
	IPMode:                   {"vip", "PROXY", "none"},
	AllowClusterNodes:        {"yes"},
	Drift:                    {"Revert", "keep", "ignore", "ignore:", "ignore: ,", "ignore:size_unit", "ignore:droplets", "report,revert"},
	DryRun:                   {"yes", "server"},
	RetainOnDelete:           {"ture", "yes", " "},
}

var keyPattern = regexp.MustCompile(`[a-z.]+\.(?:io|com)/[a-z0-9-]+`)

// hints are the keys that a refusal of another key sends people to.
var hints = map[string]string{LoadBalancerID: Name, CertificateID: CertificateName}

func TestABadValueIsOneProblemThatNamesItsKeyAndNoOther(t *testing.T) {
	for _, d := range Registry {
		values := badValues[d.Key]
		if (len(values) == 0) != (d.Kind == KindAny) {
			t.Errorf("%s of the kind %q has %d bad values", d.Key, d.Kind, len(values))
		}
		for _, value := range values {
			for _, balancerType := range []string{TypeRegional, TypeRegionalNetwork} {
				svc := service(annotations{d.Key: value})
				_, problems := Parse(svc, Defaults{Type: balancerType})
				if d.Key == FirewallManagedKey {
					_, problem := FirewallManaged(svc)
					problems = append(problems, *problem)
				}
				if len(problems) != 1 {
					t.Errorf("%s: %q: %d problems, want 1: %v", d.Key, value, len(problems), problems)
					continue
				}
				if p := problems[0]; p.Field != d.Key || p.Value != value {
					t.Errorf("the problem doesn't name %s: %q: %+v", d.Key, value, p)
				}
				for i, key := range keyPattern.FindAllString(problems[0].String(), -1) {
					if (i > 0 || key != d.Key) && key != hints[d.Key] {
						t.Errorf("the problem with %s names %s: %s", d.Key, key, problems[0])
					}
				}
			}
		}
	}
}

func TestProblemsSayWhatIsAllowed(t *testing.T) {
	tests := []struct {
		key, value string
		want       []string
	}{
		{LoadBalancerID, "my-lb", []string{`"my-lb"`, "UUID", Name}},
		{CertificateID, "my-site", []string{`"my-site"`, "UUID", CertificateName}},
		{Protocol, "udp", []string{"tcp, http, https, http2 or http3", "spec.ports[].protocol"}},
		{HealthCheckIntervalSeconds, "3s", []string{`"3s"`, "3 to 300", "seconds"}},
		{HealthCheckHealthyThreshold, "11", []string{"2 to 10"}},
		{StickySessionsCookieName, "a,b", []string{"cookie's name"}},
		{StickySessionsType, "cookie", []string{"none or cookies"}},
		{Drift, "ignore:size-unit,alow-rules", []string{`"alow-rules" is none: is allow-rules meant?`}},
		{Drift, "ignore:colours", []string{`"colours" is none`}},
		{TLSPorts, "443, 8443x", []string{`"8443x" is none`}},
		{AllowRules, "ip:192.0.2.1, 192.0.2.2", []string{`"192.0.2.2" is none`, "ip:", "cidr:"}},
		{StickySessionsCookieTTL, "0", []string{"at least 1"}},
		{Name, strings.Repeat("ä", 5000), []string{"at most 255", "…"}},
	}
	for _, test := range tests {
		_, problems := Parse(service(annotations{test.key: test.value}), Defaults{Type: TypeRegional})
		if len(problems) != 1 {
			t.Errorf("%s: problems %v", test.key, problems)
			continue
		}
		text := problems[0].String()
		for _, want := range test.want {
			if !strings.Contains(text, want) {
				t.Errorf("%q lacks %q", text, want)
			}
		}
		if len(text) > 800 {
			t.Errorf("%s: a problem of %d bytes", test.key, len(text))
		}
	}
}

func TestParseReportsAllProblemsAtOnceInAStableOrder(t *testing.T) {
	svc := service(annotations{})
	var want []string
	for _, d := range Registry {
		if values := badValues[d.Key]; len(values) > 0 && !d.NotForBalancer {
			svc.Annotations[d.Key] = values[0]
			want = append(want, d.Key)
		}
	}
	svc.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24", "x", "192.0.2.1"}
	want = append(want, "spec.loadBalancerSourceRanges[1]", "spec.loadBalancerSourceRanges[2]")
	for range 3 {
		_, problems := Parse(svc, Defaults{Type: TypeRegional})
		var got []string
		for _, p := range problems {
			got = append(got, p.Field)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("problems with %v, want %v", got, want)
		}
	}
}

func TestRegistryIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range Registry {
		if seen[d.Key] {
			t.Errorf("%s is declared twice", d.Key)
		}
		seen[d.Key] = true
		if d.Doc == "" {
			t.Errorf("%s has no documentation", d.Key)
		}
		if d.Kind == KindEnum && len(d.Values) == 0 {
			t.Errorf("%s takes no value", d.Key)
		}
		if d.Kind == KindInt && d.Max != 0 && d.Min >= d.Max {
			t.Errorf("%s has no range", d.Key)
		}
		if _, ok := checks[d.Kind]; !ok && d.Kind != KindAny {
			t.Errorf("%s: nothing checks the kind %q", d.Key, d.Kind)
		}
		valid := d.Values
		if d.Default != "" {
			valid = append(slices.Clone(valid), d.Default)
		}
		if d.Kind == KindInt {
			valid = append(valid, strconv.Itoa(d.Min), strconv.Itoa(max(d.Min, d.Max)))
		}
		for _, value := range valid {
			if problem := d.check(value); problem != "" {
				t.Errorf("%s refuses its own value %q", d.Key, value)
			}
		}
	}
}
