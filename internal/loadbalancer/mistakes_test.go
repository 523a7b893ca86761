package loadbalancer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

func problemFields(problems []annotation.Problem) []string {
	var fields []string
	for _, p := range problems {
		fields = append(fields, p.Field)
	}
	return fields
}

// What is wrong with a Service is told once, wherever it is found: among the
// annotations, or when they meet the Service's ports and the cluster.
func TestMistakesAreToldOnce(t *testing.T) {
	web := service("80:30080", "443:30443")
	tests := []struct {
		name        string
		svc         *v1.Service
		annotations map[string]string
		want        []string
	}{
		{"UDP as the protocol of TCP ports", web, map[string]string{annotation.Protocol: "udp"}, []string{annotation.Protocol}},
		{"HTTPS without a certificate", web, map[string]string{annotation.Protocol: "https"}, []string{annotation.Protocol}},
		{"TLS ports without a certificate", web, map[string]string{annotation.TLSPorts: "443"}, []string{annotation.TLSPorts}},
		{"HTTP/2 ports without a certificate", web, map[string]string{annotation.HTTP2Ports: "443"}, []string{annotation.HTTP2Ports}},
		{"a port of two protocols", web, map[string]string{annotation.TLSPorts: "443", annotation.HTTPPorts: "80,443", annotation.TLSPassthrough: "true"}, []string{annotation.HTTPPorts}},
		{"both ends of TLS", web, map[string]string{annotation.CertificateID: certificate, annotation.TLSPassthrough: "true"}, []string{annotation.TLSPassthrough}},
		{"a certificate that isn't known", web, map[string]string{annotation.CertificateName: "gone", annotation.HTTP2Ports: "80"}, []string{annotation.CertificateName}},
		{"HTTP/3 for all", web, map[string]string{annotation.Protocol: "http3", annotation.HTTP2Ports: "80", annotation.HTTPPorts: "443", annotation.CertificateID: certificate}, nil},
		{"HTTP/3 without a certificate", web, map[string]string{annotation.TLSPorts: "443", annotation.HTTP3Port: "443"}, []string{annotation.HTTP3Port, annotation.TLSPorts}},
		{"HTTP/3 with passthrough", web, map[string]string{annotation.TLSPorts: "443", annotation.HTTP3Port: "443", annotation.TLSPassthrough: "true"}, []string{annotation.HTTP3Port}},
		{"HTTP/3 at a port that the Service lacks", web, map[string]string{annotation.TLSPorts: "443", annotation.HTTP3Port: "8443", annotation.CertificateID: certificate}, []string{annotation.HTTP3Port}},
		{"HTTP/3 at a port without TLS", web, map[string]string{annotation.TLSPorts: "443", annotation.HTTP3Port: "80", annotation.CertificateID: certificate}, []string{annotation.HTTP3Port}},
		{"a check of a port that the Service lacks", web, map[string]string{annotation.OverrideHealthCheck: "", annotation.HealthCheckPort: "81"}, []string{annotation.HealthCheckPort}},
		{"a check of a UDP port", service("80:30080", "53:30053/UDP"), map[string]string{annotation.OverrideHealthCheck: "", annotation.HealthCheckPort: "53"}, []string{annotation.HealthCheckPort}},
		{"a check of TCP with a path", web, map[string]string{annotation.OverrideHealthCheck: "", annotation.HealthCheckProtocol: "tcp", annotation.HealthCheckPath: "/ping"}, []string{annotation.HealthCheckPath}},
		{"a misspelt kind of check", web, map[string]string{annotation.OverrideHealthCheck: "", annotation.HealthCheckProtocol: "foo"}, []string{annotation.HealthCheckProtocol}},
		{"a misspelt kind of sticky sessions", web, map[string]string{annotation.StickySessionsType: "cookie"}, []string{annotation.StickySessionsType}},
		{"times out of bounds", web, map[string]string{
			annotation.HealthCheckIntervalSeconds: "3s", annotation.HealthCheckResponseTimeoutSeconds: "301",
			annotation.HealthCheckUnhealthyThreshold: "1", annotation.HealthCheckHealthyThreshold: "11",
		}, []string{
			annotation.HealthCheckIntervalSeconds, annotation.HealthCheckResponseTimeoutSeconds,
			annotation.HealthCheckUnhealthyThreshold, annotation.HealthCheckHealthyThreshold,
		}},
		{"both stacks with an internal network", web, map[string]string{annotation.NetworkStack: "DUALSTACK", annotation.Network: "INTERNAL"}, []string{annotation.NetworkStack}},
		{"one's own address with an internal network", web, map[string]string{annotation.IP: "203.0.113.9", annotation.Network: "INTERNAL"}, []string{annotation.IP}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			svc := test.svc.DeepCopy()
			svc.Annotations = test.annotations
			spec, problems := annotation.Parse(svc, annotation.Defaults{Type: annotation.TypeRegional})
			_, more := Desire(svc, spec, inputs(spec))
			if diff := cmp.Diff(test.want, problemFields(append(problems, more...))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
