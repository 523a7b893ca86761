package loadbalancer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

func TestDesireOfPlainService(t *testing.T) {
	want := Desired{
		Settings: Settings{
			Name: "a0f1e2d3c4b5a69788796a5b4c3d2e1f", Type: "REGIONAL_NETWORK", Network: "EXTERNAL", NetworkStack: "IPV4", StackAutomatic: true,
			Region: "nyc3", VPC: "vpc-1", SizeUnit: 1,
			ForwardingRules: []ForwardingRule{
				{EntryProtocol: "udp", EntryPort: 53, TargetProtocol: "udp", TargetPort: 53},
				{EntryProtocol: "tcp", EntryPort: 80, TargetProtocol: "tcp", TargetPort: 80},
			},
			HealthCheck: HealthCheck{
				Protocol: "http", Port: 10256, Path: "/healthz", CheckIntervalSeconds: 3, ResponseTimeoutSeconds: 5,
				HealthyThreshold: 5, UnhealthyThreshold: 3, ProxyProtocol: new(false),
			},
			StickySessions:         StickySessions{Type: "none"},
			HTTPIdleTimeoutSeconds: 60,
			DropletIDs:             []int{1, 2},
		},
		Tags: []string{"k8s:c1", "k8s-svc:" + uid},
	}
	if diff := cmp.Diff(want, desire(t, service("80:30080", "53:30053/UDP"), network())); diff != "" {
		t.Error(diff)
	}
}

func TestDesireCarriesEverySetting(t *testing.T) {
	spec := regional(func(s *annotation.Spec) {
		s.Name, s.SizeUnit, s.SizeSlug = "web", 3, "lb-medium"
		s.NetworkStack = annotation.StackIPv4
		s.HTTPPorts, s.TLSPorts, s.CertificateID = []int{80}, []int{443}, certificate
		s.StickySessions = annotation.StickySessions{Type: "cookies", CookieName: "LB", CookieTTLSeconds: 300}
		s.RedirectHTTPToHTTPS, s.EnableProxyProtocol, s.EnableBackendKeepalive, s.DisableLetsEncryptDNSRecords = true, true, true, true
		s.HTTPIdleTimeoutSeconds = 120
		s.AllowRules, s.DenyRules = []string{"cidr:10.0.0.0/8", "ip:192.0.2.1", "ip:192.0.2.1"}, []string{"ip:192.0.2.9"}
		s.IP, s.SubnetUUID = "203.0.113.9", "subnet-1"
	})
	got := desire(t, service("80:30080", "443:30443"), spec).Settings
	want := Settings{
		Name: "web", Type: "REGIONAL", Network: "EXTERNAL", NetworkStack: "IPV4", Region: "nyc3", VPC: "vpc-1", SubnetUUID: "subnet-1", IP: "203.0.113.9",
		SizeUnit: 3, SizeSlug: "lb-medium",
		ForwardingRules: []ForwardingRule{
			{EntryProtocol: "http", EntryPort: 80, TargetProtocol: "http", TargetPort: 30080},
			{EntryProtocol: "https", EntryPort: 443, TargetProtocol: "http", TargetPort: 30443, CertificateID: certificate},
		},
		HealthCheck:         got.HealthCheck,
		StickySessions:      StickySessions{Type: "cookies", CookieName: "LB", CookieTTLSeconds: 300},
		RedirectHTTPToHTTPS: true, EnableProxyProtocol: true, EnableBackendKeepalive: true, DisableLetsEncryptDNSRecords: true,
		HTTPIdleTimeoutSeconds: 120,
		AllowRules:             []string{"cidr:10.0.0.0/8", "ip:192.0.2.1"}, DenyRules: []string{"ip:192.0.2.9"},
		DropletIDs: []int{1, 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNetworkLoadBalancerLacksWhatItCannotDo(t *testing.T) {
	spec := network(withCertificate, tlsPorts(443), func(s *annotation.Spec) {
		s.StickySessions = annotation.StickySessions{Type: "cookies", CookieName: "LB", CookieTTLSeconds: 300}
		s.RedirectHTTPToHTTPS, s.EnableProxyProtocol, s.EnableBackendKeepalive = true, true, true
	})
	got := desire(t, service("443:30443"), spec)
	if diff := cmp.Diff(desire(t, service("443:30443"), network()), got); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultNameIsTheFrameworks(t *testing.T) {
	svc := service("80")
	if got, want := DefaultName(svc), cloudprovider.DefaultLoadBalancerName(svc); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDesireRefusesSettingsThatDoNotGoTogether(t *testing.T) {
	tests := []struct {
		name    string
		spec    annotation.Spec
		cluster Cluster
		field   string
	}{
		{"an address with an internal network", network(internal, func(s *annotation.Spec) { s.IP = "203.0.113.9" }), cluster, annotation.IP},
		{"a subnet of an unknown VPC", network(func(s *annotation.Spec) { s.SubnetUUID = "subnet-1" }), Cluster{Region: "nyc3"}, annotation.SubnetUUID},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := inputs(test.spec)
			in.Cluster = test.cluster
			_, problems := Desire(service("80:30080", "443:30443"), test.spec, in)
			wantProblem(t, problems, test.field)
		})
	}
}

// wantProblem demands one problem, with the field.
func wantProblem(t *testing.T, problems []annotation.Problem, field string) {
	t.Helper()
	if len(problems) != 1 || problems[0].Field != field || problems[0].Allowed == "" {
		t.Errorf("problems %v, want one with %s", problems, field)
	}
}

func TestNetworkStack(t *testing.T) {
	stack := func(stack string) func(*annotation.Spec) {
		return func(s *annotation.Spec) { s.NetworkStack = stack }
	}
	tests := []struct {
		name      string
		spec      annotation.Spec
		dualStack bool
		want      string
		automatic bool
	}{
		{"regional", regional(), false, "DUALSTACK", true},
		{"internal", regional(internal), true, "IPV4", true},
		{"internal network", network(internal), true, "IPV4", true},
		{"network with an IPv4-only backend", network(), false, "IPV4", true},
		{"network with dual-stack backends", network(), true, "DUALSTACK", true},
		{"the user's word", regional(stack("IPV4")), true, "IPV4", false},
		{"the user's word the other way", network(stack("DUALSTACK")), false, "DUALSTACK", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := Inputs{Backends: Backends{DropletIDs: []int{1}, DualStack: test.dualStack}, Cluster: cluster}
			d, problems := Desire(service("80:30080"), test.spec, in)
			if len(problems) > 0 || d.NetworkStack != test.want || d.StackAutomatic != test.automatic {
				t.Errorf("%s, automatic %t, problems %v", d.NetworkStack, d.StackAutomatic, problems)
			}
		})
	}
}

func TestDesireSurvivesAnEmptyService(t *testing.T) {
	_, problems := Desire(&v1.Service{}, annotation.Spec{}, Inputs{})
	wantProblem(t, problems, "spec.ports")
}
