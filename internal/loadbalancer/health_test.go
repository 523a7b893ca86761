package loadbalancer

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

func TestHealthCheck(t *testing.T) {
	const (
		times = " every 3s, timeout 5s, healthy after 5, unhealthy after 3"
		plain = times + ", PROXY protocol false"
	)
	web := service("53:30053/UDP", "80:30080", "443:30443")
	proxy := func(s *annotation.Spec) { s.EnableProxyProtocol = true }
	tests := []struct {
		name string
		svc  *v1.Service
		spec annotation.Spec
		want string
	}{
		{"kube-proxy", web, network(), "http:10256/healthz" + plain},
		{"kube-proxy for UDP alone", service("51820:31820/UDP"), regional(), "http:10256/healthz" + plain},
		{"kube-proxy hears no PROXY header", web, regional(proxy), "http:10256/healthz" + plain},
		{"traffic policy Local", local(service("80:30080")), network(), "http:31234/healthz" + plain},
		{"no effect without the override", web, network(func(s *annotation.Spec) {
			s.HealthCheck = annotation.HealthCheck{Port: 80, Protocol: "tcp", Path: "/ping"}
		}), "http:10256/healthz" + plain},
		{"times have an effect always", web, network(func(s *annotation.Spec) {
			s.HealthCheck = annotation.HealthCheck{CheckIntervalSeconds: 10, ResponseTimeoutSeconds: 4, HealthyThreshold: 2, UnhealthyThreshold: 9}
		}), "http:10256/healthz every 10s, timeout 4s, healthy after 2, unhealthy after 9, PROXY protocol false"},
		{"override alone: TCP at the first TCP port", web, regional(check(annotation.HealthCheck{})), "tcp:30080" + times},
		{"override goes before traffic policy Local", local(service("80:30080")), regional(check(annotation.HealthCheck{})), "tcp:30080" + times},
		{"a path makes it HTTP", web, regional(check(annotation.HealthCheck{Path: "/ping"})), "http:30080/ping" + times},
		{"HTTP without a path asks for the root", web, regional(check(annotation.HealthCheck{Protocol: "http"})), "http:30080/" + times},
		{"HTTPS where it is written", web, regional(check(annotation.HealthCheck{Protocol: "https", Path: "/ping", Port: 443})), "https:30443/ping" + times},
		{"no protocol is inherited", web, regional(passthrough, protocol("https"), check(annotation.HealthCheck{})), "tcp:30080" + times},
		{"a port of two", web, regional(check(annotation.HealthCheck{Port: 443})), "tcp:30443" + times},
		{"a network load balancer probes the node port", web, network(check(annotation.HealthCheck{Port: 443})), "tcp:30443" + times},
		{"the override follows the PROXY protocol", web, regional(proxy, check(annotation.HealthCheck{})), "tcp:30080" + times},
		{"a port that TCP and UDP share", service("53:30053/UDP", "53:30054"), regional(check(annotation.HealthCheck{Port: 53})), "tcp:30054" + times},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := desire(t, test.svc, test.spec).HealthCheck.String(); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestHealthCheckRefuses(t *testing.T) {
	unallocated := service("80:30080")
	unallocated.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
	tests := []struct {
		name  string
		svc   *v1.Service
		spec  annotation.Spec
		field string
	}{
		{"a Service of UDP alone", service("53:30053/UDP"), regional(check(annotation.HealthCheck{})), annotation.OverrideHealthCheck},
		{"a Service without node ports", service("80"), network(check(annotation.HealthCheck{})), annotation.OverrideHealthCheck},
		{"traffic policy Local without its port", unallocated, network(), "spec.healthCheckNodePort"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, problems := Desire(test.svc, test.spec, inputs(test.spec))
			wantProblem(t, problems, test.field)
		})
	}
}

// A change of node port moves the rule and the check together; that of another
// port leaves the check alone.
func TestHealthCheckMovesWithItsPort(t *testing.T) {
	spec := regional(check(annotation.HealthCheck{}))
	before := desire(t, service("80:30080", "443:30443"), spec)
	tests := []struct{ name, first, second, want string }{
		{"its own port", "80:31080", "443:30443", "forwarding rules +tcp:80->tcp:31080 -tcp:80->tcp:30080; health check port 30080 -> 31080"},
		{"the other port", "80:30080", "443:31443", "forwarding rules +tcp:443->tcp:31443 -tcp:443->tcp:30443"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			after := desire(t, service(test.first, test.second), spec)
			if got := Describe(Diff(after.Settings, before.Settings)); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestTrafficPolicyFlipsNothingButTheHealthCheck(t *testing.T) {
	nodes := desire(t, service("80:30080"), network())
	endpoints := desire(t, local(service("80:30080")), network())
	if got, want := Describe(Diff(endpoints.Settings, nodes.Settings)), "health check port 10256 -> 31234"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := Describe(Diff(nodes.Settings, endpoints.Settings)), "health check port 31234 -> 10256"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
