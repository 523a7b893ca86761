package annotation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

func TestAnnotationsThatDontGoTogether(t *testing.T) {
	tests := []struct {
		name        string
		annotations annotations
		field       string
		contains    []string
	}{
		{"size slug and unit", annotations{SizeSlug: "lb-large", SizeUnit: "2"}, SizeSlug, []string{SizeUnit}},
		{"dual stack inside the VPC", annotations{NetworkStack: StackDual, Network: NetworkInternal}, NetworkStack, []string{Network, StackIPv4}},
		{"port with and without TLS", tls.with(HTTPPorts, "80,443", TLSPorts, "443"), HTTPPorts, []string{"443", TLSPorts}},
		{"port of http and http2", tls.with(HTTPPorts, "80", HTTP2Ports, "80,443"), HTTP2Ports, []string{"80", HTTPPorts}},
		{"port of https and http2", tls.with(TLSPorts, "443", HTTP2Ports, "443"), HTTP2Ports, []string{"443", TLSPorts}},
		{"certificate id and passthrough", tls.with(TLSPassthrough, "true", TLSPorts, "443"), TLSPassthrough, []string{CertificateID}},
		{"certificate name and passthrough", regional.with(CertificateName, "site", TLSPassthrough, "true"), TLSPassthrough, []string{CertificateName}},
		{"https for all without certificate", regional.with(Protocol, "https"), Protocol, []string{CertificateID, CertificateName, TLSPassthrough}},
		{"http2 for all without certificate", regional.with(Protocol, "http2"), Protocol, []string{CertificateID, CertificateName, TLSPassthrough}},
		{"http3 for all without certificate", regional.with(Protocol, "http3"), Protocol, []string{CertificateID, CertificateName}},
		{"http3 for all with passthrough", regional.with(Protocol, "http3", TLSPassthrough, "true", TLSPorts, "443"), Protocol, []string{TLSPassthrough}},
		{"http3 for all and nothing else", tls.with(Protocol, "http3", HTTPPorts, "80", TLSPorts, "8443"), Protocol, []string{TLSPorts, HTTP2Ports}},
		{"TLS port without certificate", regional.with(TLSPorts, "443"), TLSPorts, []string{CertificateID, CertificateName, TLSPassthrough}},
		{"http2 port without certificate", regional.with(HTTP2Ports, "443"), HTTP2Ports, []string{CertificateID, CertificateName, TLSPassthrough}},
		{"http3 port without certificate", regional.with(HTTP3Port, "443"), HTTP3Port, []string{CertificateID, CertificateName}},
		{"http3 port with passthrough", regional.with(HTTP3Port, "443", TLSPorts, "443", TLSPassthrough, "true"), HTTP3Port, []string{TLSPassthrough}},
		{"http3 port without TLS", tls.with(HTTP3Port, "80", TLSPorts, "443"), HTTP3Port, []string{TLSPorts, HTTP2Ports}},
		{"http3 port that the Service lacks", tls.with(HTTP3Port, "8443"), HTTP3Port, []string{"22/TCP, 80/TCP, 443/TCP"}},
		{"http3 port that is UDP's", tls.with(HTTP3Port, "53"), HTTP3Port, []string{"53/UDP"}},
		{"cookies without name", regional.with(StickySessionsType, "cookies", StickySessionsCookieTTL, "60"), StickySessionsType, []string{StickySessionsCookieName}},
		{"cookies without TTL", regional.with(StickySessionsType, "cookies", StickySessionsCookieName, "lb"), StickySessionsType, []string{StickySessionsCookieTTL}},
		{"cookies without anything", regional.with(StickySessionsType, "cookies"), StickySessionsType, []string{StickySessionsCookieName, StickySessionsCookieTTL}},
		{"path for a TCP check", annotations{OverrideHealthCheck: "", HealthCheckPath: "/ping", HealthCheckProtocol: "tcp"}, HealthCheckPath, []string{HealthCheckProtocol}},
		{"check at a UDP port", annotations{OverrideHealthCheck: "true", HealthCheckPort: "53"}, HealthCheckPort, []string{"53/UDP"}},
		{"check at a port that the Service lacks", annotations{OverrideHealthCheck: "true", HealthCheckPort: "8080"}, HealthCheckPort, []string{"80/TCP"}},
		{"only the certificate is wrong", regional.with(CertificateID, "site", TLSPorts, "443", HTTP3Port, "443", Protocol, "https"), CertificateID, nil},
		{"only passthrough is wrong", regional.with(TLSPassthrough, "yes", TLSPorts, "443"), TLSPassthrough, nil},
		{"only the TLS ports are wrong", tls.with(TLSPorts, "x", HTTP3Port, "80"), TLSPorts, nil},
		{"only the cookie's name is wrong", regional.with(StickySessionsType, "cookies", StickySessionsCookieName, "x", StickySessionsCookieTTL, "60"), StickySessionsCookieName, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec, problems := Parse(service(test.annotations), Defaults{Type: TypeRegionalNetwork})
			if diff := cmp.Diff([]string{test.field}, fields(problems)); diff != "" {
				t.Fatalf("%s%v", diff, problems)
			}
			if problems[0].Value != test.annotations[test.field] {
				t.Errorf("the value is %q, not as it was written", problems[0].Value)
			}
			for _, want := range test.contains {
				if !strings.Contains(problems[0].Allowed, want) {
					t.Errorf("%q lacks %q", problems[0].Allowed, want)
				}
			}
			checkUsable(t, service(test.annotations), spec)
		})
	}
}

// checkUsable fails where a spec holds what was refused.
func checkUsable(t *testing.T, svc *v1.Service, spec Spec) {
	t.Helper()
	again := service(annotations{StickySessionsCookieName: "lb", StickySessionsCookieTTL: "60"})
	again.Spec = svc.Spec
	c := checker{svc: again, parser: &parser{}, spec: &spec}
	c.check()
	if len(c.problems) > 0 {
		t.Errorf("the spec still has what was refused: %v", c.problems)
	}
}

func TestAnnotationsThatGoTogether(t *testing.T) {
	tests := []struct {
		name        string
		annotations annotations
	}{
		{"mixed protocols with passthrough", regional.with(Protocol, "tcp", HTTPPorts, "80", TLSPorts, "443", TLSPassthrough, "true")},
		{"certificate alone", tls.with()},
		{"certificate by both", tls.with(CertificateName, "site")},
		{"passthrough switched off beside a certificate", tls.with(TLSPassthrough, "false")},
		{"https for all by name", regional.with(Protocol, "https", CertificateName, "site")},
		{"http2 for all with passthrough", regional.with(Protocol, "http2", TLSPassthrough, "true")},
		{"http3 beside https", tls.with(HTTP3Port, "443", TLSPorts, "443")},
		{"http3 beside http2", tls.with(HTTP3Port, "443", HTTP2Ports, "443")},
		{"http3 beside https by default", tls.with(HTTP3Port, "443")},
		{"http3 for all but one", tls.with(Protocol, "http3", TLSPorts, "443")},
		{"https for all, and every port is another's", regional.with(Protocol, "https", HTTPPorts, "22,80,443")},
		{"TLS port that the Service lacks", regional.with(TLSPorts, "8443")},
		{"sticky sessions off", regional.with(StickySessionsType, "none")},
		{"sticky sessions", regional.with(StickySessionsType, "cookies", StickySessionsCookieName, "lb", StickySessionsCookieTTL, "60")},
		{"host name of a network load balancer", annotations{Hostname: "web.example.com"}},
		{"path makes http", annotations{OverrideHealthCheck: "true", HealthCheckPath: "/ping"}},
		{"path and protocol without override", annotations{HealthCheckPath: "/ping", HealthCheckProtocol: "tcp", HealthCheckPort: "8080"}},
		{"rules of TLS where the type has none", annotations{Protocol: "https", TLSPorts: "443", HTTPPorts: "443", HTTP2Ports: "443", HTTP3Port: "1", CertificateID: someID, TLSPassthrough: "true", StickySessionsType: "cookies"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, problems := Parse(service(test.annotations), Defaults{Type: TypeRegionalNetwork}); len(problems) > 0 {
				t.Error(problems)
			}
		})
	}
}

// A certificate that is taken away from a Service that needs it is one problem
// for each annotation that asks for TLS.
func TestCertificateRemoved(t *testing.T) {
	_, problems := Parse(service(regional.with(Protocol, "http", TLSPorts, "443", HTTP2Ports, "22", HTTP3Port, "443")), Defaults{})
	if diff := cmp.Diff([]string{HTTP3Port, HTTP2Ports, TLSPorts}, fields(problems)); diff != "" {
		t.Error(diff)
	}
}

func TestPortProtocol(t *testing.T) {
	lists := []struct {
		key, port, want string
	}{{HTTPPorts, "80", ProtocolHTTP}, {TLSPorts, "443", ProtocolHTTPS}, {HTTP2Ports, "22", ProtocolHTTP2}}
	for _, protocol := range []string{ProtocolTCP, ProtocolHTTP, ProtocolHTTPS, ProtocolHTTP2} {
		for _, list := range lists {
			t.Run(protocol+" but "+list.key, func(t *testing.T) {
				spec, problems := Parse(service(tls.with(Protocol, protocol, list.key, list.port)), Defaults{})
				if len(problems) > 0 {
					t.Fatal(problems)
				}
				for port, text := range map[int]string{22: "22", 80: "80", 443: "443"} {
					want, wantKey := protocol, Protocol
					if port == 443 {
						want, wantKey = ProtocolHTTPS, TLSPorts
					}
					if text == list.port {
						want, wantKey = list.want, list.key
					}
					if port == 443 && list.key == TLSPorts {
						want, wantKey = ProtocolHTTPS, TLSPorts
					}
					if got, key := spec.PortProtocol(port); got != want || key != wantKey {
						t.Errorf("port %d speaks %s by %s, want %s by %s", port, got, key, want, wantKey)
					}
				}
			})
		}
	}
}
