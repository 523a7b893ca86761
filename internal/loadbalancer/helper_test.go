package loadbalancer

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

const (
	uid         = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
	certificate = "892071a0-bb95-49bc-8021-3afd67a210bf"
)

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

// local gives a Service the traffic policy Local.
func local(svc *v1.Service) *v1.Service {
	svc.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
	svc.Spec.HealthCheckNodePort = 31234
	return svc
}

var cluster = Cluster{ID: "c1", Region: "nyc3", VPC: "vpc-1"}

// specOf is a type's plain specification, edited.
func specOf(kind string, edits ...func(*annotation.Spec)) annotation.Spec {
	spec := annotation.Spec{Type: kind, Network: annotation.NetworkExternal, SizeUnit: 1, Protocol: annotation.ProtocolTCP}
	for _, edit := range edits {
		edit(&spec)
	}
	return spec
}

func regional(edits ...func(*annotation.Spec)) annotation.Spec {
	return specOf(annotation.TypeRegional, edits...)
}

func network(edits ...func(*annotation.Spec)) annotation.Spec {
	return specOf(annotation.TypeRegionalNetwork, edits...)
}

func internal(s *annotation.Spec)    { s.Network = annotation.NetworkInternal }
func passthrough(s *annotation.Spec) { s.TLSPassthrough = true }
func withCertificate(s *annotation.Spec) {
	s.CertificateID = certificate
}

func protocol(p string) func(*annotation.Spec) { return func(s *annotation.Spec) { s.Protocol = p } }
func httpPorts(p ...int) func(*annotation.Spec) {
	return func(s *annotation.Spec) { s.HTTPPorts = p }
}
func tlsPorts(p ...int) func(*annotation.Spec) {
	return func(s *annotation.Spec) { s.TLSPorts = p }
}
func http2Ports(p ...int) func(*annotation.Spec) {
	return func(s *annotation.Spec) { s.HTTP2Ports = p }
}
func http3Port(p int) func(*annotation.Spec) { return func(s *annotation.Spec) { s.HTTP3Port = p } }

// check overrides the health check.
func check(h annotation.HealthCheck) func(*annotation.Spec) {
	h.Override = true
	return func(s *annotation.Spec) { s.HealthCheck = h }
}

// inputs resolve the certificate of a specification that names it by id.
func inputs(spec annotation.Spec, droplets ...int) Inputs {
	return Inputs{Backends: Backends{DropletIDs: droplets}, Cluster: cluster, CertificateID: spec.CertificateID}
}

// desire fails the test at a problem.
func desire(t *testing.T, svc *v1.Service, spec annotation.Spec) Desired {
	t.Helper()
	d, problems := Desire(svc, spec, inputs(spec, 1, 2))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return d
}

func texts[T fmt.Stringer](values []T) []string {
	var s []string
	for _, v := range values {
		s = append(s, v.String())
	}
	return s
}
