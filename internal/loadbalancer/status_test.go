package loadbalancer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

func TestStatus(t *testing.T) {
	const (
		v4, v6 = "203.0.113.7", "2001:db8::7"
		name   = "web.example.com"
	)
	vip, proxy := v1.LoadBalancerIPModeVIP, v1.LoadBalancerIPModeProxy
	https := desire(t, service("80:30080", "443:30443"), regional(withCertificate)).Settings
	withProxy := func(s *annotation.Spec) { s.EnableProxyProtocol = true }
	plain := desire(t, service("80:30080", "53:30053/UDP"), regional()).Settings
	packets := desire(t, service("80:30080"), network(withProxy)).Settings
	tests := []struct {
		name      string
		settings  Settings
		hostname  string
		addresses []string
		want      []v1.LoadBalancerIngress
	}{
		{"network", packets, "", []string{v4, v6}, []v1.LoadBalancerIngress{{IP: v4, IPMode: &vip}, {IP: v6, IPMode: &vip}}},
		{"an empty address makes no entry", packets, "", []string{v4, ""}, []v1.LoadBalancerIngress{{IP: v4, IPMode: &vip}}},
		{"network with a host name keeps its address", packets, name, []string{v4, ""}, []v1.LoadBalancerIngress{{IP: v4, IPMode: &vip, Hostname: name}}},
		{"regional of TCP and UDP", plain, "", []string{v4}, []v1.LoadBalancerIngress{{IP: v4, IPMode: &vip}}},
		{"regional that ends TLS", https, "", []string{v4, v6}, []v1.LoadBalancerIngress{{IP: v4, IPMode: &proxy}, {IP: v6, IPMode: &proxy}}},
		{"regional of HTTP", desire(t, service("80:30080"), regional(protocol("http"))).Settings, "", []string{v4}, []v1.LoadBalancerIngress{{IP: v4, IPMode: &proxy}}},
		{"regional that passes TLS through", desire(t, service("443:30443"), regional(passthrough)).Settings, "", []string{v4}, []v1.LoadBalancerIngress{{IP: v4, IPMode: &vip}}},
		{"regional with PROXY protocol", desire(t, service("443:30443"), regional(passthrough, withProxy)).Settings, "", []string{v4}, []v1.LoadBalancerIngress{{IP: v4, IPMode: &proxy}}},
		{"regional with a host name hides its address", https, name, []string{v4, v6}, []v1.LoadBalancerIngress{{Hostname: name}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			status, ok := Status(service("80"), test.settings, test.hostname, "", test.addresses)
			if !ok {
				t.Fatal("no status")
			}
			if diff := cmp.Diff(test.want, status.Ingress); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStatusStaysWhileThereIsNoAddress(t *testing.T) {
	svc := service("80")
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "203.0.113.1", IPMode: new(v1.LoadBalancerIPModeVIP)}}
	for _, hostname := range []string{"", "web.example.com"} {
		status, ok := Status(svc, Settings{}, hostname, "", []string{"", ""})
		if diff := cmp.Diff(&svc.Status.LoadBalancer, status); ok || diff != "" {
			t.Errorf("ok %t: %s", ok, diff)
		}
	}
	if status, ok := Status(service("80"), Settings{}, "", "", nil); ok || len(status.Ingress) > 0 {
		t.Errorf("a new Service's status is %v", status)
	}
}
