package loadbalancer

import (
	"slices"
	"strings"
	"testing"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// full is a desired state in which every field has a value.
func full(t *testing.T) Settings {
	return desire(t, service("80:30080", "443:30443"), regional(httpPorts(80), withCertificate, func(s *annotation.Spec) {
		s.TLSCipherPolicy = annotation.CiphersStrong
		s.NetworkStack, s.IP, s.SubnetUUID = annotation.StackIPv4, "203.0.113.9", "subnet-1"
		s.AllowRules, s.DenyRules = []string{"ip:192.0.2.1"}, []string{"ip:192.0.2.9"}
	})).Settings
}

const otherCertificate = "c0d6b1a8-3f4e-4b57-8f0e-3f1f5f6f7a8b"

// differences are all kinds of differences from full: what the load balancer
// has, and how the change is told.
var differences = []struct {
	name  string
	edit  func(actual *Settings)
	field string
	kind  ChangeKind
	want  string
}{
	{"type", func(s *Settings) { s.Type = "GLOBAL" }, FieldType, ChangeImmutable, "type GLOBAL -> REGIONAL"},
	{"network", func(s *Settings) { s.Network = "INTERNAL" }, FieldNetwork, ChangeImmutable, "network INTERNAL -> EXTERNAL"},
	{"network stack", func(s *Settings) { s.NetworkStack = "DUALSTACK" }, FieldNetworkStack, ChangeImmutable, "network stack DUALSTACK -> IPV4"},
	{"region", func(s *Settings) { s.Region = "ams3" }, FieldRegion, ChangeImmutable, "region ams3 -> nyc3"},
	{"VPC", func(s *Settings) { s.VPC = "vpc-2" }, FieldVPC, ChangeImmutable, "VPC vpc-2 -> vpc-1"},
	{"subnet", func(s *Settings) { s.SubnetUUID = "" }, FieldSubnet, ChangeImmutable, "subnet none -> subnet-1"},
	{"IP", func(s *Settings) { s.IP = "203.0.113.1" }, FieldIP, ChangeImmutable, "IP 203.0.113.1 -> 203.0.113.9"},
	{"name", func(s *Settings) { s.Name = "old" }, FieldName, ChangeSettings, "name old -> a0f1e2d3c4b5a69788796a5b4c3d2e1f"},
	{"size", func(s *Settings) { s.SizeUnit = 3 }, FieldSize, ChangeSettings, "size unit 3 -> 1"},
	{"a rule too many", func(s *Settings) {
		s.ForwardingRules = append(s.ForwardingRules, ForwardingRule{EntryProtocol: "tcp", EntryPort: 22, TargetProtocol: "tcp", TargetPort: 22})
	}, FieldForwardingRules, ChangeSettings, "forwarding rules -tcp:22->tcp:22"},
	{"a rule missing", func(s *Settings) { s.ForwardingRules = s.ForwardingRules[1:] }, FieldForwardingRules, ChangeSettings, "forwarding rules +http:80->http:30080"},
	{"another protocol", func(s *Settings) {
		s.ForwardingRules[0].EntryProtocol, s.ForwardingRules[0].TargetProtocol = "tcp", "tcp"
	},
		FieldForwardingRules, ChangeSettings, "forwarding rules +http:80->http:30080 -tcp:80->tcp:30080"},
	{"rules that shrank", func(s *Settings) { s.ForwardingRules[0].TargetPort, s.ForwardingRules[1].TargetPort = 80, 443 }, FieldForwardingRules, ChangeSettings,
		"forwarding rules +http:80->http:30080 +https:443->http:30443 (certificate " + certificate + ") -http:80->http:80 -https:443->http:443 (certificate " + certificate + ")"},
	{"certificate", func(s *Settings) { s.ForwardingRules[1].CertificateID = otherCertificate }, FieldForwardingRules, ChangeSettings,
		"forwarding rules https:443 certificate " + otherCertificate + " -> " + certificate},
	{"health check", func(s *Settings) {
		s.HealthCheck.Port, s.HealthCheck.Path, s.HealthCheck.CheckIntervalSeconds = 80, "/", 10
	}, FieldHealthCheck, ChangeSettings,
		"health check port 80 -> 10256, path / -> /healthz, interval 10s -> 3s"},
	{"health check with the PROXY header", func(s *Settings) { s.HealthCheck.ProxyProtocol = new(true) }, FieldHealthCheck, ChangeSettings, "health check PROXY protocol true -> false"},
	{"sticky sessions", func(s *Settings) { s.StickySessions = StickySessions{"cookies", "LB", 300} }, FieldStickySessions, ChangeSettings, "sticky sessions cookies (LB for 300s) -> none"},
	{"redirect", func(s *Settings) { s.RedirectHTTPToHTTPS = true }, FieldRedirect, ChangeSettings, "redirect HTTP to HTTPS true -> false"},
	{"PROXY protocol", func(s *Settings) { s.EnableProxyProtocol = true }, FieldProxyProtocol, ChangeSettings, "PROXY protocol true -> false"},
	{"keepalive", func(s *Settings) { s.EnableBackendKeepalive = true }, FieldBackendKeepalive, ChangeSettings, "backend keepalive true -> false"},
	{"DNS records", func(s *Settings) { s.DisableLetsEncryptDNSRecords = true }, FieldDisableDNSRecords, ChangeSettings, "disable Let's Encrypt DNS records true -> false"},
	{"idle timeout", func(s *Settings) { s.HTTPIdleTimeoutSeconds = 120 }, FieldHTTPIdleTimeout, ChangeSettings, "HTTP idle timeout 120s -> 60s"},
	{"ciphers", func(s *Settings) { s.TLSCipherPolicy = "DEFAULT" }, FieldTLSCipherPolicy, ChangeSettings, "TLS cipher policy DEFAULT -> STRONG"},
	{"allowed sources", func(s *Settings) { s.AllowRules = []string{"cidr:10.0.0.0/8"} }, FieldAllowedSources, ChangeSettings, "allowed sources +ip:192.0.2.1 -cidr:10.0.0.0/8"},
	{"denied sources", func(s *Settings) { s.DenyRules = nil }, FieldDeniedSources, ChangeSettings, "denied sources +ip:192.0.2.9"},
	{"backends by tag", func(s *Settings) { s.Tag = "k8s:c1" }, FieldTag, ChangeSettings, "backends' tag k8s:c1 -> none"},
	{"droplets", func(s *Settings) { s.DropletIDs = []int{2, 9, 8, 7} }, FieldDroplets, ChangeDroplets, "droplets +1 -3 (added 1; removed 9 8 7), now 2"},
	{"many droplets", func(s *Settings) { s.DropletIDs = []int{2, 3, 4, 5, 6, 7} }, FieldDroplets, ChangeDroplets, "droplets +1 -5, now 2"},
}

func TestDiffTellsEachField(t *testing.T) {
	for _, test := range differences {
		t.Run(test.name, func(t *testing.T) {
			desired, actual := full(t), full(t)
			test.edit(&actual)
			changes := Diff(desired, actual)
			if len(changes) != 1 || changes[0].Kind != test.kind || changes[0].Field != test.field || Describe(changes) != test.want {
				t.Errorf("%+v, want %s %q", changes, test.kind, test.want)
			}
		})
	}
}

func TestWithoutTakesAFieldFromWhatIs(t *testing.T) {
	for _, test := range differences {
		t.Run(test.name, func(t *testing.T) {
			desired, actual := full(t), full(t)
			test.edit(&actual)
			actual.HTTPIdleTimeoutSeconds++
			want := []Change{}
			for _, c := range Diff(desired, actual) {
				if c.Field != test.field {
					want = append(want, c)
				}
			}
			if test.field == FieldType {
				want = Diff(full(t), Without(actual, full(t), FieldType)) // the other fields show only now
			}
			if got := Diff(Without(desired, actual, test.field), actual); !slices.Equal(want, got) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

func TestEveryFieldHasADifference(t *testing.T) {
	told := map[string]bool{}
	for _, d := range differences {
		told[d.field] = true
	}
	for field := range takers {
		if !told[field] {
			t.Errorf("no test tells a difference of %s", field)
		}
	}
}

func TestWithoutAnUnknownFieldChangesNothing(t *testing.T) {
	desired := full(t)
	if changes := Diff(Without(desired, Settings{}, "colour"), desired); len(changes) > 0 {
		t.Error(changes)
	}
}

func TestNoDifference(t *testing.T) {
	tests := []struct {
		name            string
		desired, actual func(*Settings)
	}{
		{"the order of rules and droplets", func(*Settings) {}, func(s *Settings) {
			slices.Reverse(s.ForwardingRules)
			s.DropletIDs = []int{2, 1}
		}},
		{"what is chosen at creation, when nobody asks for it",
			func(s *Settings) { s.StackAutomatic, s.VPC, s.SubnetUUID, s.IP = true, "", "", "" },
			func(s *Settings) { s.NetworkStack = "DUALSTACK" }},
		{"ciphers that nobody asks for", func(s *Settings) { s.TLSCipherPolicy = "" }, func(*Settings) {}},
		{"an address that isn't shown yet", func(*Settings) {}, func(s *Settings) { s.IP = "" }},
		{"the name of the size", func(s *Settings) { s.SizeSlug = "lb-small" }, func(*Settings) {}},
		{"droplets that a tag chooses", func(s *Settings) { s.Tag = "k8s:c1" }, func(s *Settings) { s.Tag, s.DropletIDs = "k8s:c1", []int{1, 7} }},
		{"a health check that says nothing of a PROXY protocol that is off", func(*Settings) {}, func(s *Settings) { s.HealthCheck.ProxyProtocol = nil }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			desired, actual := full(t), full(t)
			test.desired(&desired)
			test.actual(&actual)
			if changes := Diff(desired, actual); len(changes) > 0 {
				t.Error(changes)
			}
		})
	}
}

// kube-proxy would not understand the header of the PROXY protocol.
func TestHealthCheckThatFollowsThePROXYProtocolIsADifference(t *testing.T) {
	desired, actual := full(t), full(t)
	desired.EnableProxyProtocol, actual.EnableProxyProtocol = true, true
	actual.HealthCheck.ProxyProtocol = nil
	if got, want := Describe(Diff(desired, actual)), "health check PROXY protocol true -> false"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTargetingByTagIsChangedBothWays(t *testing.T) {
	tag := func(s *Settings) { s.Tag = "k8s:c1" }
	listed, tagged := full(t), full(t)
	tag(&tagged)
	tagged.DropletIDs = []int{1, 2, 3}
	if got, want := Describe(Diff(tagged, listed)), "backends' tag none -> k8s:c1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Describe(Diff(listed, tagged)), "backends' tag k8s:c1 -> none; droplets -1 (removed 3), now 2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Nothing that another kind of load balancer needs is written to one that
// can't become it.
func TestAnotherTypeChangesNothingElse(t *testing.T) {
	was := desire(t, service("80:30080"), regional()).Settings
	wanted := desire(t, service("80:30080"), network()).Settings
	wanted.Name, wanted.DropletIDs = "other", []int{7}
	if changes := Diff(wanted, was); len(changes) != 1 || changes[0].Field != FieldType {
		t.Error(changes)
	}
}

func TestOfAndDescribe(t *testing.T) {
	desired, actual := full(t), full(t)
	actual.SizeUnit, actual.DropletIDs, actual.Region = 2, []int{1}, "ams3"
	changes := Diff(desired, actual)
	if got, want := Describe(changes), "region ams3 -> nyc3; size unit 2 -> 1; droplets +1 (added 2), now 2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Describe(Of(ChangeDroplets, changes)); !strings.HasPrefix(got, "droplets ") {
		t.Error(got)
	}
}
