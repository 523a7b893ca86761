package annotation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

func TestWarnings(t *testing.T) {
	tests := []struct {
		name        string
		annotations annotations
		edit        func(*v1.Service)
		field       string
		contains    []string
	}{
		{"unknown key", annotations{prefixLoadBalancer + "typ": "x"}, nil, prefixLoadBalancer + "typ", []string{"nearest", Type}},
		{"unknown key far from all", annotations{prefixLoadBalancer + "colour-of-the-box": "x"}, nil, prefixLoadBalancer + "colour-of-the-box", []string{"not known"}},
		{"deprecated size", annotations{SizeSlug: "lb-small"}, nil, SizeSlug, []string{"deprecated", SizeUnit}},
		{"algorithm", annotations{Algorithm: "least_connections"}, nil, Algorithm, []string{"DigitalOcean ignores it"}},
		{"PROXY protocol on a network load balancer", annotations{EnableProxyProtocol: "true"}, nil, EnableProxyProtocol, []string{"no effect", TypeRegionalNetwork, "kept anyway"}},
		{"protocol on a network load balancer", annotations{Protocol: "http"}, nil, Protocol, []string{"no effect", TypeRegionalNetwork}},
		{"stickiness on a network load balancer", annotations{StickySessionsType: "cookies"}, nil, StickySessionsType, []string{"no effect", TypeRegionalNetwork}},
		{"redirect on a network load balancer", annotations{RedirectHTTPToHTTPS: "true"}, nil, RedirectHTTPToHTTPS, []string{"no effect", TypeRegionalNetwork}},
		{"idle timeout on a network load balancer", annotations{HTTPIdleTimeoutSeconds: "90"}, nil, HTTPIdleTimeoutSeconds, []string{"no effect"}},
		{"health check port without override", annotations{HealthCheckPort: "80"}, nil, HealthCheckPort, []string{"no effect without", OverrideHealthCheck}},
		{"health check path without override", annotations{HealthCheckPath: "/"}, nil, HealthCheckPath, []string{OverrideHealthCheck}},
		{"health check protocol without override", annotations{HealthCheckProtocol: "tcp"}, nil, HealthCheckProtocol, []string{OverrideHealthCheck}},
		{"port that the Service lacks", tls.with(TLSPorts, "443,8443"), nil, TLSPorts, []string{"names 8443", "443/TCP"}},
		{"http port that is UDP's", regional.with(HTTPPorts, "53"), nil, HTTPPorts, []string{"names 53", "53/UDP"}},
		{"http2 port that the Service lacks", tls.with(HTTP2Ports, "8443", TLSPorts, "443"), nil, HTTP2Ports, []string{"names 8443"}},
		{"http port that the certificate makes https", tls.with(HTTPPorts, "443"), nil, HTTPPorts, []string{"443", "https"}},
		{"stickiness with tcp alone", regional.with(StickySessionsType, "cookies", StickySessionsCookieName, "lb", StickySessionsCookieTTL, "60"), nil, StickySessionsType, []string{"no effect", "22 is tcp, 80 is tcp, 443 is tcp"}},
		{"stickiness with passthrough", regional.with(TLSPassthrough, "true", StickySessionsType, "cookies", StickySessionsCookieName, "lb", StickySessionsCookieTTL, "60"), nil, StickySessionsType, []string{"no effect"}},
		{"cookie without cookies", regional.with(StickySessionsCookieName, "lb"), nil, StickySessionsCookieName, []string{StickySessionsType}},
		{"cookie's TTL without cookies", regional.with(StickySessionsCookieTTL, "60"), nil, StickySessionsCookieTTL, []string{StickySessionsType}},
		{"keepalive with tcp alone", regional.with(EnableBackendKeepalive, "true"), nil, EnableBackendKeepalive, []string{"no effect"}},
		{"certificate without TLS", tls.with(), withPorts(22, 80), CertificateID, []string{"no effect", "22 is tcp, 80 is tcp", TLSPorts}},
		{"certificate by name without TLS", regional.with(CertificateName, "site"), withPorts(80), CertificateName, []string{"80 is tcp"}},
		{"certificate by name beside the id", tls.with(CertificateName, "site"), nil, CertificateName, []string{CertificateID, "wins"}},
		{"ciphers without TLS", regional.with(TLSCipherPolicy, "STRONG"), nil, TLSCipherPolicy, []string{"ends TLS at no port", "443 is tcp"}},
		{"ciphers with passthrough", regional.with(TLSPassthrough, "true", TLSCipherPolicy, "STRONG"), nil, TLSCipherPolicy, []string{"ends TLS at no port"}},
		{"ciphers on a network load balancer", annotations{TLSCipherPolicy: "STRONG"}, nil, TLSCipherPolicy, []string{"no effect", TypeRegionalNetwork}},
		{"empty backends without a selector", annotations{AllowEmptyBackends: "true"}, nil, AllowEmptyBackends, []string{"no effect without", NodeSelector}},
		{"Nodes without allow rules", annotations{AllowClusterNodes: "true"}, nil, AllowClusterNodes, []string{"no effect without", AllowRules}},
		{"settings beside backends alone", annotations{Manage: "backends", LoadBalancerID: someID, SizeUnit: "2"}, nil, SizeUnit, []string{"no effect", Manage}},
		{"passthrough without TLS", regional.with(TLSPassthrough, "true"), withPorts(80), TLSPassthrough, []string{"no port speaks TLS"}},
		{"http2 at port 80", tls.with(Protocol, "http2", TLSPorts, "443"), nil, Protocol, []string{"port 80", "TLS", "set this to http", HTTP2Ports}},
		{"https at port 80", tls.with(Protocol, "https"), nil, Protocol, []string{"port 80", TLSPorts}},
		{"redirect without https", regional.with(RedirectHTTPToHTTPS, "true", Protocol, "http"), nil, RedirectHTTPToHTTPS, []string{"80 is http"}},
		{"redirect without http", tls.with(RedirectHTTPToHTTPS, "true"), nil, RedirectHTTPToHTTPS, []string{"80 is tcp", "443 is https"}},
		{"allow rules beside source ranges", annotations{AllowRules: "ip:192.0.2.1"}, func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} }, AllowRules, []string{"spec.loadBalancerSourceRanges"}},
		{"host name", annotations{Hostname: "web.example.com"}, nil, Hostname, []string{"no DNS record"}},
		{"the firewall's annotation", annotations{FirewallManagedKey: "maybe"}, nil, FirewallManagedKey, []string{"counts as true", "true or false"}},
		{"load balancer IP", nil, func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "203.0.113.9" }, "spec.loadBalancerIP", []string{"203.0.113.9", "reserved IP", IP, LoadBalancerID}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			svc := service(test.annotations)
			if test.edit != nil {
				test.edit(svc)
			}
			spec, problems := Parse(svc, Defaults{Type: TypeRegionalNetwork})
			if len(problems) > 0 {
				t.Fatalf("problems %v", problems)
			}
			warnings := Warnings(svc, spec)
			if len(warnings) != 1 || warnings[0].Field != test.field {
				t.Fatalf("warnings %v, want one of %s", warnings, test.field)
			}
			for _, want := range test.contains {
				if text := warnings[0].String(); !strings.Contains(text, want) {
					t.Errorf("%q lacks %q", text, want)
				}
			}
		})
	}
}

func withPorts(ports ...int32) func(*v1.Service) {
	return func(svc *v1.Service) {
		svc.Spec.Ports = nil
		for _, port := range ports {
			svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Port: port})
		}
	}
}

func TestNothingToWarnOf(t *testing.T) {
	tests := []struct {
		name        string
		annotations annotations
	}{
		{"nothing", nil},
		{"defaults spelt out on a network load balancer", annotations{Protocol: "tcp", StickySessionsType: "none", EnableProxyProtocol: "false", TLSPassthrough: "F", HTTPIdleTimeoutSeconds: "60"}},
		{"written by the manager", annotations{LoadBalancerID: someID, Type: TypeRegionalNetwork, DefaultsVersion: "1"}},
		{"disowned", annotations{Disown: "true"}},
		{"health check", annotations{OverrideHealthCheck: "", HealthCheckPort: "80", HealthCheckPath: "/"}},
		{"sources", annotations{AllowRules: "ip:192.0.2.1", DenyRules: "ip:192.0.2.2"}},
		{"web server", tls.with(TLSCipherPolicy, "STRONG", Protocol, "http", HTTP2Ports, "443", RedirectHTTPToHTTPS, "true", EnableProxyProtocol, "true", EnableBackendKeepalive, "true", StickySessionsType, "cookies", StickySessionsCookieName, "lb", StickySessionsCookieTTL, "60")},
		{"passthrough", regional.with(HTTPPorts, "80", TLSPorts, "443", TLSPassthrough, "true")},
		{"other software's", annotations{"kubernetes.digitalocean.com/csi-driver": "x", "service.beta.kubernetes.io/aws-load-balancer-type": "nlb", "service.kubernetes.io/topology-mode": "auto", "example.com/load-balancer": "x"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			svc := service(test.annotations)
			spec, problems := Parse(svc, Defaults{Type: TypeRegionalNetwork})
			if warnings := Warnings(svc, spec); len(problems)+len(warnings) > 0 {
				t.Errorf("problems %v, warnings %v", problems, warnings)
			}
		})
	}
}

func TestQuietWarnings(t *testing.T) {
	svc := service(annotations{Algorithm: "round_robin", Hostname: "web.example.com", FirewallManagedKey: "x", SizeSlug: "lb-small", prefixLoadBalancer + "x": ""})
	spec, _ := Parse(svc, Defaults{Type: TypeRegional})
	var loud, quiet []string
	for _, w := range Warnings(svc, spec) {
		if w.Quiet {
			quiet = append(quiet, w.Field)
		} else {
			loud = append(loud, w.Field)
		}
	}
	if diff := cmp.Diff([]string{SizeSlug, prefixLoadBalancer + "x"}, loud); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{Hostname, Algorithm, FirewallManagedKey}, quiet); diff != "" {
		t.Error(diff)
	}
}

func TestUnknown(t *testing.T) {
	tests := []struct {
		key, near string
	}{
		{prefixLoadBalancer + "tls-port", TLSPorts},
		{prefixLoadBalancer + "protocl", Protocol},
		{prefixLoadBalancer + "health-check-path", HealthCheckPath},
		{prefixLoadBalancer + "certificate", CertificateID},
		{prefixLoadBalancer + "disown", Disown},
		{prefixLoadBalancer + "id", LoadBalancerID},
		{prefixLoadBalancer + "load-balancer-id", LoadBalancerID},
		{prefixLoadBalancer + "firewall-managed", FirewallManagedKey},
		{prefixDisown + "name", Name},
		{prefixDisown + "disowned", Disown},
		{"service.beta.kubernetes.io/do-load-balancer-type", Type},
		{"kubernetes.digitalocean.com/load-balancer-name", Name},
		{"kubernetes.digitalocean.com/loadbalancer-id", LoadBalancerID},
		{"kubernetes.digitalocean.com/load-balancer-something-else-entirely", ""},
		{"kubernetes.digitalocean.com/firewall-manged", FirewallManagedKey},
		{"kubernetes.digitalocean.com/do-loadbalancer-size-unit", SizeUnit},
		{"kubernetes.digitalocean.com/" + strings.Repeat("x", 200) + "firewall", ""},
	}
	for _, test := range tests {
		svc := service(annotations{test.key: "", "example.com/x": ""})
		if diff := cmp.Diff([]string{test.key}, Unknown(svc)); diff != "" {
			t.Error(diff)
		}
		if near := nearestKey(test.key); near != test.near {
			t.Errorf("%s is near %q, want %q", test.key, near, test.near)
		}
	}
	for _, d := range Registry {
		if unknown := Unknown(service(annotations{d.Key: ""})); len(unknown) > 0 {
			t.Errorf("%s is unknown", d.Key)
		}
		if near := nearestKey(d.Key); near != d.Key {
			t.Errorf("%s is nearer to %s than to itself", d.Key, near)
		}
	}
}
