package loadbalancer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

const uid = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"

// service is a LoadBalancer Service with ports of the form "80", "53/UDP" or
// "80:30080".
func service(ports ...string) *v1.Service {
	svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: uid}, Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer}}
	for _, text := range ports {
		var port v1.ServicePort
		text, protocol, _ := strings.Cut(text, "/")
		if protocol == "" {
			protocol = "TCP"
		}
		port.Protocol = v1.Protocol(protocol)
		if _, err := fmt.Sscanf(text, "%d:%d", &port.Port, &port.NodePort); err != nil && port.Port == 0 {
			panic(err)
		}
		svc.Spec.Ports = append(svc.Spec.Ports, port)
	}
	return svc
}

var (
	networkSpec  = annotation.Spec{Type: annotation.TypeRegionalNetwork, Network: annotation.NetworkExternal, SizeUnit: 1}
	regionalSpec = annotation.Spec{Type: annotation.TypeRegional, Network: annotation.NetworkExternal, SizeUnit: 1}
	cluster      = Cluster{ID: "c1", Region: "nyc3", VPC: "vpc-1"}
)

func TestDesire(t *testing.T) {
	no := false
	want := Desired{
		Settings: Settings{
			Name: "a0f1e2d3c4b5a69788796a5b4c3d2e1f", Type: "REGIONAL_NETWORK", Network: "EXTERNAL", NetworkStack: "IPV4",
			Region: "nyc3", VPC: "vpc-1", SizeUnit: 1,
			ForwardingRules: []ForwardingRule{
				{EntryProtocol: "udp", EntryPort: 53, TargetProtocol: "udp", TargetPort: 53},
				{EntryProtocol: "tcp", EntryPort: 80, TargetProtocol: "tcp", TargetPort: 80},
			},
			HealthCheck: HealthCheck{
				Protocol: "http", Port: 10256, Path: "/healthz", CheckIntervalSeconds: 3, ResponseTimeoutSeconds: 5,
				HealthyThreshold: 5, UnhealthyThreshold: 3, ProxyProtocol: &no,
			},
			DropletIDs: []int{1, 2},
		},
		Tags: []string{"k8s:c1", "k8s-svc:" + uid},
	}
	got, problems := Desire(service("80:30080", "53:30053/UDP"), networkSpec, Backends{DropletIDs: []int{1, 2}}, cluster)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultNameIsTheFrameworks(t *testing.T) {
	svc := service("80")
	if got, want := DefaultName(svc), cloudprovider.DefaultLoadBalancerName(svc); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTargetPorts(t *testing.T) {
	tests := []struct {
		name string
		spec annotation.Spec
		want string
	}{
		{"a network load balancer keeps the Service's port", networkSpec, "tcp:80->tcp:80"},
		{"a regional one sends to the node port", regionalSpec, "tcp:80->tcp:30080"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d, problems := Desire(service("80:30080"), test.spec, Backends{}, cluster)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if got := d.ForwardingRules[0].String(); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestDesireRefuses(t *testing.T) {
	var many []string
	for port := range 41 {
		many = append(many, fmt.Sprint(port+1))
	}
	tests := []struct {
		name  string
		svc   *v1.Service
		spec  annotation.Spec
		field string
	}{
		{"SCTP", service("80", "81/SCTP"), networkSpec, "spec.ports[1].protocol"},
		{"a port that DigitalOcean keeps", service("50053"), networkSpec, "spec.ports[0].port"},
		{"regional without node ports", service("80"), regionalSpec, "spec.ports[0].nodePort"},
		{"more than 40 ports", service(many...), networkSpec, "spec.ports"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, problems := Desire(test.svc, test.spec, Backends{}, cluster)
			if len(problems) != 1 || problems[0].Field != test.field || problems[0].Allowed == "" {
				t.Errorf("problems %v, want one with %s", problems, test.field)
			}
		})
	}
}

func TestHealthCheckOfTrafficPolicyLocal(t *testing.T) {
	svc := service("80")
	svc.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
	svc.Spec.HealthCheckNodePort = 31234
	d, _ := Desire(svc, networkSpec, Backends{}, cluster)
	if h := d.HealthCheck; h.Port != 31234 || h.Path != "/healthz" || h.Protocol != "http" {
		t.Errorf("health check %s", h)
	}
}

func TestNetworkStack(t *testing.T) {
	internal := regionalSpec
	internal.Network = annotation.NetworkInternal
	tests := []struct {
		name      string
		spec      annotation.Spec
		dualStack bool
		want      string
	}{
		{"regional", regionalSpec, false, StackDual},
		{"internal", internal, true, StackIPv4},
		{"network with an IPv4-only backend", networkSpec, false, StackIPv4},
		{"network with dual-stack backends", networkSpec, true, StackDual},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d, _ := Desire(service("80:30080"), test.spec, Backends{DropletIDs: []int{1}, DualStack: test.dualStack}, cluster)
			if d.NetworkStack != test.want {
				t.Errorf("%s, want %s", d.NetworkStack, test.want)
			}
		})
	}
}

func TestSelectBackends(t *testing.T) {
	internal := networkSpec
	internal.Network = annotation.NetworkInternal
	candidates := []Candidate{
		{Node: "dual", DropletID: 3, PublicIPv4: true, PublicIPv6: true},
		{Node: "v4", DropletID: 1, PublicIPv4: true},
		{Node: "private", DropletID: 2},
		{Node: "foreign", Excluded: "its provider ID isn't a droplet's"},
		{Node: "again", DropletID: 3, PublicIPv4: true, PublicIPv6: true},
	}
	tests := []struct {
		name       string
		spec       annotation.Spec
		candidates []Candidate
		want       []int
		dualStack  bool
	}{
		{"network needs a public IPv4 address", networkSpec, candidates, []int{1, 3}, false},
		{"regional does not", regionalSpec, candidates, []int{1, 2, 3}, false},
		{"internal does not", internal, candidates, []int{1, 2, 3}, false},
		{"all dual-stack", networkSpec, candidates[:1], []int{3}, true},
		{"none", networkSpec, nil, nil, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := SelectBackends(test.spec, test.candidates)
			if diff := cmp.Diff(test.want, b.DropletIDs); diff != "" {
				t.Error(diff)
			}
			if b.DualStack != test.dualStack {
				t.Errorf("dual stack %t", b.DualStack)
			}
		})
	}
}

func TestExplainNamesTheReasons(t *testing.T) {
	b := SelectBackends(networkSpec, []Candidate{{Node: "n1", Excluded: "reason one"}, {Node: "n2"}, {Node: "n3"}, {Node: "n4"}, {Node: "n5"}})
	got := b.Explain()
	for _, want := range []string{"5 Nodes", "n1: reason one", "n2: ", "no public IPv4 address", "and 2 more"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	if got := (Backends{DropletIDs: []int{1}}).Explain(); got != "" {
		t.Errorf("explained %q though there is a backend", got)
	}
}

func TestDiff(t *testing.T) {
	desired, _ := Desire(service("80", "443"), networkSpec, Backends{DropletIDs: []int{1, 2}}, cluster)
	tests := []struct {
		name string
		edit func(*Settings)
		want string
		kind ChangeKind
	}{
		{"name", func(s *Settings) { s.Name = "old" }, "name old -> " + desired.Name, ChangeSettings},
		{"size", func(s *Settings) { s.SizeUnit = 3 }, "size unit 3 -> 1", ChangeSettings},
		{"type", func(s *Settings) { s.Type = "REGIONAL" }, "type REGIONAL -> REGIONAL_NETWORK", ChangeImmutable},
		{"network", func(s *Settings) { s.Network = "INTERNAL" }, "network INTERNAL -> EXTERNAL", ChangeImmutable},
		{"VPC", func(s *Settings) { s.VPC = "vpc-2" }, "VPC vpc-2 -> vpc-1", ChangeImmutable},
		{"a rule too many", func(s *Settings) {
			s.ForwardingRules = append(s.ForwardingRules, ForwardingRule{EntryProtocol: "tcp", EntryPort: 22, TargetProtocol: "tcp", TargetPort: 22})
		}, "forwarding rules -tcp:22->tcp:22", ChangeSettings},
		{"a rule missing", func(s *Settings) { s.ForwardingRules = s.ForwardingRules[:1] }, "forwarding rules +tcp:443->tcp:443", ChangeSettings},
		{"droplets", func(s *Settings) { s.DropletIDs = []int{2, 9} }, "droplets +1 -9 (2 now)", ChangeDroplets},
		{"health check", func(s *Settings) { s.HealthCheck.Port = 80 }, "health check http:80/healthz", ChangeSettings},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			actual := desired.Settings
			actual.ForwardingRules = append([]ForwardingRule(nil), desired.ForwardingRules...)
			test.edit(&actual)
			changes := Diff(desired.Settings, actual)
			if len(changes) != 1 || changes[0].Kind != test.kind || !strings.HasPrefix(Describe(changes), test.want) {
				t.Errorf("%v %q, want %s %q", changes, Describe(changes), test.kind, test.want)
			}
		})
	}
}

func TestDiffIsEmptyWhateverTheOrder(t *testing.T) {
	desired, _ := Desire(service("80", "443"), networkSpec, Backends{DropletIDs: []int{1, 2}}, Cluster{Region: "nyc3"})
	actual := desired.Settings
	actual.VPC = "the region's default"
	actual.NetworkStack = StackDual // fixed when the load balancer was made
	actual.ForwardingRules = []ForwardingRule{desired.ForwardingRules[1], desired.ForwardingRules[0]}
	actual.DropletIDs = []int{2, 1}
	if changes := Diff(desired.Settings, actual); len(changes) > 0 {
		t.Errorf("changes %v", changes)
	}
}

func TestStatus(t *testing.T) {
	svc := service("80")
	old := v1.LoadBalancerIPModeVIP
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "203.0.113.1", IPMode: &old}}

	status, ok := Status(svc, []string{"203.0.113.7", "2001:db8::7"})
	if !ok || len(status.Ingress) != 2 || status.Ingress[0].IP != "203.0.113.7" || status.Ingress[1].IP != "2001:db8::7" {
		t.Errorf("status %+v", status)
	}
	for _, ingress := range status.Ingress {
		if ingress.IPMode == nil || *ingress.IPMode != v1.LoadBalancerIPModeVIP {
			t.Errorf("mode of %s is %v", ingress.IP, ingress.IPMode)
		}
	}

	status, ok = Status(svc, []string{"", ""})
	if ok || status.Ingress[0].IP != "203.0.113.1" {
		t.Errorf("without an address the status is %+v, want what it was", status)
	}
}
