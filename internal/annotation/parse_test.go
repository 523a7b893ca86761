package annotation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	someID  = "4de7ac8b-495b-4884-9a69-1050c6793cd6"
	otherID = "892071a0-bb95-49bc-8021-3afd67a210bf"
)

type annotations = map[string]string

// service has the TCP ports 22, 80 and 443 and the UDP ports 53 and 443.
func service(annotations annotations) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Annotations: annotations},
		Spec: v1.ServiceSpec{Ports: []v1.ServicePort{
			{Port: 22}, {Port: 80, Protocol: v1.ProtocolTCP}, {Port: 443, Protocol: v1.ProtocolTCP},
			{Port: 53, Protocol: v1.ProtocolUDP}, {Port: 443, Protocol: v1.ProtocolUDP},
		}},
	}
}

// with returns the annotations with further keys and values.
func (a serviceAnnotations) with(pairs ...string) annotations {
	all := annotations{}
	for key, value := range a {
		all[key] = value
	}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}

type serviceAnnotations annotations

var (
	regional = serviceAnnotations{Type: TypeRegional}
	tls      = serviceAnnotations{Type: TypeRegional, CertificateID: someID}
)

func plainSpec() Spec {
	return Spec{
		Type: TypeRegionalNetwork, Network: NetworkExternal, Protocol: ProtocolTCP, SizeUnit: 1, HTTPIdleTimeoutSeconds: 60,
		Drift: DriftRevert, Manage: ManageAll, BackendProtocol: ProtocolHTTP,
		HealthCheck:    HealthCheck{CheckIntervalSeconds: 3, ResponseTimeoutSeconds: 5, UnhealthyThreshold: 3, HealthyThreshold: 5},
		StickySessions: StickySessions{Type: StickyNone},
	}
}

func TestParse(t *testing.T) {
	tests := []struct {
		name        string
		annotations annotations
		edit        func(*Spec)
	}{
		{"no annotations", nil, func(*Spec) {}},
		{"annotations of others", annotations{"example.com/x": "y"}, func(*Spec) {}},
		{"id", annotations{LoadBalancerID: someID}, func(s *Spec) { s.LoadBalancerID = someID }},
		{"id in capitals", annotations{LoadBalancerID: "4DE7AC8B-495B-4884-9A69-1050C6793CD6"}, func(s *Spec) { s.LoadBalancerID = someID }},
		{"defaults' version", annotations{DefaultsVersion: "7"}, func(*Spec) {}},
		{"name", annotations{Name: "web.Example-1"}, func(s *Spec) { s.Name = "web.Example-1" }},
		{"type", annotations{Type: "REGIONAL"}, func(s *Spec) { s.Type = TypeRegional }},
		{"network", annotations{Network: "INTERNAL"}, func(s *Spec) { s.Network = NetworkInternal }},
		{"network stack", annotations{NetworkStack: "DUALSTACK"}, func(s *Spec) { s.NetworkStack = StackDual }},
		{"IPv4 with INTERNAL", annotations{NetworkStack: "IPV4", Network: "INTERNAL"}, func(s *Spec) { s.NetworkStack, s.Network = StackIPv4, NetworkInternal }},
		{"size unit", annotations{SizeUnit: "200"}, func(s *Spec) { s.SizeUnit = 200 }},
		{"size slug", annotations{SizeSlug: "lb-medium"}, func(s *Spec) { s.SizeSlug, s.SizeUnit = "lb-medium", 3 }},
		{"largest size slug", annotations{SizeSlug: "lb-large"}, func(s *Spec) { s.SizeSlug, s.SizeUnit = "lb-large", 6 }},
		{"size slug beside an empty unit", annotations{SizeSlug: "lb-small", SizeUnit: ""}, func(s *Spec) { s.SizeSlug = "lb-small" }},
		{"address", annotations{IP: "192.0.2.7"}, func(s *Spec) { s.IP = "192.0.2.7" }},
		{"subnet", annotations{SubnetUUID: someID}, func(s *Spec) { s.SubnetUUID = someID }},
		{"project", annotations{ProjectID: "4DE7AC8B-495B-4884-9A69-1050C6793CD6"}, func(s *Spec) { s.ProjectID = someID }},
		{"ciphers", annotations{TLSCipherPolicy: "STRONG"}, func(s *Spec) { s.TLSCipherPolicy = CiphersStrong }},
		{"node selector", annotations{NodeSelector: "pool in (edge, web),!spot", AllowEmptyBackends: "true"}, func(s *Spec) {
			s.NodeSelector, s.AllowEmptyBackends = "pool in (edge, web),!spot", true
		}},
		{"backends alone", annotations{LoadBalancerID: someID, Manage: "backends"}, func(s *Spec) { s.LoadBalancerID, s.Manage = someID, ManageBackends }},
		{"mode", annotations{IPMode: "VIP"}, func(s *Spec) { s.IPMode = IPModeVIP }},
		{"the cluster's Nodes", annotations{AllowClusterNodes: "true", AllowRules: "ip:192.0.2.1"}, func(s *Spec) {
			s.AllowClusterNodes, s.AllowRules = true, []string{"ip:192.0.2.1"}
		}},
		{"host name", annotations{Hostname: "Web.Example.COM"}, func(s *Spec) { s.Hostname = "web.example.com" }},
		{"disowned", annotations{Disown: "true"}, func(s *Spec) { s.Disowned = true }},
		{"disowned as Go spells it", annotations{Disown: "T"}, func(s *Spec) { s.Disowned = true }},
		{"retained", annotations{RetainOnDelete: "true"}, func(s *Spec) { s.RetainOnDelete = true }},
		{"dry run", annotations{DryRun: "1"}, func(s *Spec) { s.DryRun = true }},
		{"drift reported", annotations{Drift: "report"}, func(s *Spec) { s.Drift = DriftReport }},
		{"drift ignored", annotations{Drift: "ignore: size-unit,name, name"}, func(s *Spec) { s.Ignored = []string{"name", "size-unit"} }},
		{"not disowned", annotations{Disown: "false"}, func(*Spec) {}},
		{"ports with blanks, empty entries and duplicates", annotations{HTTPPorts: " 8080, 80,,80, "}, func(s *Spec) { s.HTTPPorts = []int{80, 8080} }},
		{"health check", annotations{OverrideHealthCheck: "true", HealthCheckPort: "80", HealthCheckPath: "/ping?a=b", HealthCheckProtocol: "https"}, func(s *Spec) {
			s.HealthCheck.Override, s.HealthCheck.Port, s.HealthCheck.Path, s.HealthCheck.Protocol = true, 80, "/ping?a=b", ProtocolHTTPS
		}},
		{"override by presence", annotations{OverrideHealthCheck: ""}, func(s *Spec) { s.HealthCheck.Override = true }},
		{"override by presence, whatever the value", annotations{OverrideHealthCheck: "false"}, func(s *Spec) { s.HealthCheck.Override = true }},
		{"health check's times", annotations{HealthCheckIntervalSeconds: "300", HealthCheckResponseTimeoutSeconds: "3", HealthCheckUnhealthyThreshold: "10", HealthCheckHealthyThreshold: "2"}, func(s *Spec) {
			s.HealthCheck = HealthCheck{CheckIntervalSeconds: 300, ResponseTimeoutSeconds: 3, UnhealthyThreshold: 10, HealthyThreshold: 2}
		}},
		{"sticky sessions", annotations{StickySessionsType: "cookies", StickySessionsCookieName: "lb", StickySessionsCookieTTL: "1"}, func(s *Spec) {
			s.StickySessions = StickySessions{Type: StickyCookies, CookieName: "lb", CookieTTLSeconds: 1}
		}},
		{"switches", annotations{RedirectHTTPToHTTPS: "true", EnableProxyProtocol: "1", EnableBackendKeepalive: "True", DisableLetsEncryptDNSRecords: "t"}, func(s *Spec) {
			s.RedirectHTTPToHTTPS, s.EnableProxyProtocol, s.EnableBackendKeepalive, s.DisableLetsEncryptDNSRecords = true, true, true, true
		}},
		{"idle timeout", annotations{HTTPIdleTimeoutSeconds: "30"}, func(s *Spec) { s.HTTPIdleTimeoutSeconds = 30 }},
		{"algorithm is ignored", annotations{Algorithm: "least_connections"}, func(*Spec) {}},
		{"sources", annotations{AllowRules: "cidr:203.0.113.7/32, ip:192.0.2.1,ip:203.0.113.7", DenyRules: "cidr:2001:DB8::1/32"}, func(s *Spec) {
			s.AllowRules, s.DenyRules = []string{"ip:192.0.2.1", "ip:203.0.113.7"}, []string{"cidr:2001:db8::/32"}
		}},
		{"the firewall's annotation doesn't hold the load balancer up", annotations{FirewallManagedKey: "maybe"}, func(*Spec) {}},
		{"certificate and its ports", annotations{CertificateID: someID, CertificateName: "site", TLSPorts: "443", HTTP2Ports: "8443", HTTP3Port: "443", Protocol: "http"}, func(s *Spec) {
			s.CertificateID, s.CertificateName = someID, "site"
			s.TLSPorts, s.HTTP2Ports, s.HTTP3Port, s.Protocol = []int{443}, []int{8443}, 443, ProtocolHTTP
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := plainSpec()
			test.edit(&want)
			got, problems := Parse(service(test.annotations), Defaults{Type: TypeRegionalNetwork})
			if len(problems) > 0 {
				t.Errorf("problems: %v", problems)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEmptyValuesCountAsAbsent(t *testing.T) {
	svc := service(annotations{})
	for _, d := range Registry {
		if d.Key != OverrideHealthCheck {
			svc.Annotations[d.Key] = ""
		}
	}
	got, problems := Parse(svc, Defaults{Type: TypeRegionalNetwork})
	if diff := cmp.Diff(plainSpec(), got); diff != "" || len(problems) > 0 {
		t.Errorf("problems %v\n%s", problems, diff)
	}
	if warnings := Warnings(svc, got); len(warnings) > 0 {
		t.Errorf("warnings %v", warnings)
	}
}

func TestParseTakesTheClustersDefaultType(t *testing.T) {
	if spec, _ := Parse(service(nil), Defaults{Type: TypeRegional}); spec.Type != TypeRegional {
		t.Errorf("type is %q, want %q", spec.Type, TypeRegional)
	}
}

func TestInvalidDisownCountsAsDisowned(t *testing.T) {
	spec, problems := Parse(service(annotations{Disown: "yes"}), Defaults{})
	if !spec.Disowned || len(problems) != 1 {
		t.Errorf("disowned %t with problems %v, want true with one", spec.Disowned, problems)
	}
}

func TestFirewallManaged(t *testing.T) {
	tests := []struct {
		value            string
		managed, problem bool
	}{
		{"", true, false}, {"true", true, false}, {"1", true, false},
		{"false", false, false}, {"F", false, false},
		{"no", true, true}, {" false", true, true},
	}
	for _, test := range tests {
		managed, problem := FirewallManaged(service(annotations{FirewallManagedKey: test.value}))
		if managed != test.managed || (problem != nil) != test.problem {
			t.Errorf("%q: managed %t with problem %v", test.value, managed, problem)
		}
		if problem != nil && (problem.Field != FirewallManagedKey || problem.Value != test.value || problem.Allowed == "") {
			t.Errorf("%q: %+v", test.value, problem)
		}
	}
	if managed, problem := FirewallManaged(&v1.Service{}); !managed || problem != nil {
		t.Errorf("without annotations: %t, %v", managed, problem)
	}
}
