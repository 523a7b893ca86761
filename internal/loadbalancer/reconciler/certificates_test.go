package reconciler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/events"
	"digitalocean-cloud-controller-manager/simulator"
)

// certificatesAt are the certificates of "web", by entry port.
func (s *stand) certificatesAt() map[int]string {
	s.t.Helper()
	at := map[int]string{}
	for _, rule := range s.mine().ForwardingRules {
		if rule.CertificateID != "" {
			at[rule.EntryPort] = rule.CertificateID
		}
	}
	return at
}

func (s *stand) wantCertificates(want map[int]string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.certificatesAt()); diff != "" {
		s.t.Errorf("certificates: %s", diff)
	}
}

// letsEncrypt adds a certificate that renews itself.
func (s *stand) letsEncrypt(name string) string {
	return s.sim.AddCertificate(simulator.CertificateSpec{Name: name, Type: typeLetsEncrypt, DNSNames: []string{name + ".example.com"}}).ID
}

func (s *stand) renew(id string) string {
	s.t.Helper()
	fresh, err := s.sim.RotateCertificate(id)
	if err != nil {
		s.t.Fatal(err)
	}
	return fresh.ID
}

func TestARenewedCertificateOfOnePortIsFollowedThere(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		web, admin := s.letsEncrypt("web"), s.letsEncrypt("admin")
		svc := webService(map[string]string{annotation.Type: "REGIONAL", annotation.CertificateID: web, annotation.CertificateID + ".admin": admin})
		svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Name: "admin", Port: 8443, NodePort: 30843, Protocol: v1.ProtocolTCP})
		s.apply(svc)
		s.later(2 * time.Minute)
		s.wantCertificates(map[int]string{443: web, 8443: admin})

		renewed := s.renew(admin)
		s.news()
		s.calls()
		s.pass()
		s.wantWrites()
		s.wantNews("annotation follows", events.CertificateRenewed)
		annotations := s.web().Annotations
		if annotations[annotation.CertificateID+".admin"] != renewed || annotations[annotation.CertificateID] != web {
			s.t.Errorf("annotations: %v", annotations)
		}
		s.wantCertificates(map[int]string{443: web, 8443: renewed})

		// The user's own change is no renewal.
		third := s.letsEncrypt("third")
		s.edit(annotation.CertificateID+".admin", third)
		s.wantCertificates(map[int]string{443: web, 8443: third})
		// Nor is the way back to the one for all.
		s.edit(annotation.CertificateID+".admin", "", annotation.TLSPorts, "443,8443")
		s.wantCertificates(map[int]string{443: web, 8443: web})
		s.later(time.Minute)
		renewed = s.renew(web)
		s.pass()
		s.wantCertificates(map[int]string{443: renewed, 8443: renewed})
		if got := s.web().Annotations[annotation.CertificateID]; got != renewed {
			s.t.Errorf("annotation %s, want %s", got, renewed)
		}
	})
}

func TestARenewedCertificateOfAPortByNameIsFollowed(t *testing.T) {
	inStand(t, nil, func(s *stand) {
		custom := s.sim.AddCertificate(simulator.CertificateSpec{Name: "custom"}).ID
		admin := s.letsEncrypt("admin")
		svc := webService(map[string]string{annotation.Type: "REGIONAL", annotation.TLSPorts: "443,8443", annotation.CertificateName: "custom", annotation.CertificateName + ".8443": "admin"})
		svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Name: "admin", Port: 8443, NodePort: 30843, Protocol: v1.ProtocolTCP})
		s.apply(svc)
		s.later(2 * time.Minute)
		s.wantCertificates(map[int]string{443: custom, 8443: admin})
		renewed := s.renew(admin)
		s.pass()
		s.wantCertificates(map[int]string{443: custom, 8443: renewed})
		s.edit(annotation.CertificateName+".8443", "nobodys")
		s.wantCertificates(map[int]string{443: custom, 8443: renewed})
		if problems := s.news(); len(problems) == 0 {
			s.t.Error("a certificate that doesn't exist is not told of")
		}
	})
}
