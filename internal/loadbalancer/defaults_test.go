package loadbalancer

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// Defaults that change later are those of new load balancers alone.
func TestALoadBalancerKeepsTheDefaultsItWasMadeWith(t *testing.T) {
	known := map[int]Defaults{1: {}, 2: {}, 3: {}}
	tests := []struct {
		name, version, id string
		want              int
	}{
		{"a new one", "", "", 3},
		{"one of the public manager's", "", "some-id", 1},
		{"an old one", "2", "some-id", 2},
		{"an old one whose id was lost", "1", "", 1},
		{"one of a newer manager", "9", "some-id", 3},
		{"what can't be read", "x", "some-id", 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			svc := service("80")
			svc.Annotations = map[string]string{annotation.DefaultsVersion: test.version, annotation.LoadBalancerID: test.id}
			if got := versionOf(svc, 3, known); got != test.want {
				t.Errorf("version %d, want %d", got, test.want)
			}
		})
	}
	if _, ok := defaultsByVersion[DefaultsVersion]; !ok {
		t.Error("the newest defaults are missing")
	}
}

func TestAClustersOwnHealthCheck(t *testing.T) {
	const times = " every 3s, timeout 5s, healthy after 5, unhealthy after 3"
	tests := []struct {
		name, text string
		svc        *v1.Service
		spec       annotation.Spec
		want       string
	}{
		{"none", "", service("80:30080"), network(), "http:10256/healthz" + times + ", PROXY protocol false"},
		{"the first node port", "tcp", service("53:30053/UDP", "80:30080"), network(), "tcp:30080" + times},
		{"a port", "http:9879/ready", service("80:30080"), network(), "http:9879/ready" + times + ", PROXY protocol false"},
		{"the root", "https:9879", service("80:30080"), regional(), "https:9879/" + times + ", PROXY protocol false"},
		{"a TCP port", "tcp:22", service("80:30080"), regional(), "tcp:22" + times + ", PROXY protocol false"},
		{"not for the traffic policy Local", "tcp", local(service("80:30080")), network(), "http:31234/healthz" + times + ", PROXY protocol false"},
		{"not against the override", "tcp:22", service("80:30080"), regional(check(annotation.HealthCheck{Path: "/x"})), "http:30080/x" + times},
		{"nothing to ask of UDP alone", "tcp", service("53:30053/UDP"), network(), "http:10256/healthz" + times + ", PROXY protocol false"},
		{"nothing to ask without node ports", "tcp", service("80"), network(), "http:10256/healthz" + times + ", PROXY protocol false"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := inputs(test.spec, 1)
			var err error
			if in.Cluster.HealthCheck, err = ParseDefaultHealthCheck(test.text); err != nil {
				t.Fatal(err)
			}
			desired, problems := Desire(test.svc, test.spec, in)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if got := desired.HealthCheck.String(); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestDefaultHealthCheckRefuses(t *testing.T) {
	for _, text := range []string{"udp", "http", "http:", "http:0/", "tcp:65536", "tcp:22/x", ":80", "ftp:21", "http:x/y"} {
		if d, err := ParseDefaultHealthCheck(text); err == nil {
			t.Errorf("%q is taken for %+v", text, d)
		}
	}
}

// A load balancer of both stacks sends to Nodes without IPv6 rather than
// nowhere, and says what is missing.
func TestDualStackServesHalfRatherThanNothing(t *testing.T) {
	v4 := Candidate{Node: "v4", DropletID: 1, PublicIPv4: true}
	private := Candidate{Node: "private", DropletID: 2}
	b := SelectBackends(network(), annotation.StackDual, []Candidate{v4, private})
	if len(b.DropletIDs) != 1 || b.DropletIDs[0] != 1 || b.DualStack {
		t.Errorf("%+v", b)
	}
	if got, want := b.ExplainStack(), "clients that come by IPv6 are not served, as no Node has both addresses: 1 (v4): "+reasonIPv4Only; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := b.Explain(); got != "" {
		t.Errorf("explained %q", got)
	}
}
