package simulator

import (
	"cmp"
	"crypto/sha1" // #nosec G505 -- the API's fingerprint is SHA-1; nothing is protected by it
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// ErrInUse is wrapped by the error of removing a certificate that a load
// balancer uses.
var ErrInUse = errors.New("in use")

// certificateLife is how long a certificate of Let's Encrypt is valid.
const certificateLife = 90 * 24 * time.Hour

// Certificate is a TLS certificate as the API shows it: keys are never read
// back.
type Certificate struct {
	ID              string    `json:"id"`
	Name            string    `json:"name"`
	NotAfter        time.Time `json:"not_after,omitzero"`
	SHA1Fingerprint string    `json:"sha1_fingerprint"`
	CreatedAt       time.Time `json:"created_at"`
	DNSNames        []string  `json:"dns_names"`
	State           string    `json:"state"` // pending, verified or error
	Type            string    `json:"type"`  // custom or lets_encrypt
}

// CertificateSpec describes a certificate to add.
type CertificateSpec struct {
	Name string `json:"name"`
	// Type defaults to custom.
	Type string `json:"type,omitempty"`
	// State defaults to verified.
	State    string   `json:"state,omitempty"`
	DNSNames []string `json:"dns_names,omitempty"`
	// NotAfter defaults to 90 days from now.
	NotAfter time.Time `json:"not_after,omitzero"`
	// Team defaults to the team of the first token.
	Team string `json:"team,omitempty"`
}

// AddCertificate adds a certificate without looking at its fields: names need
// not be unique.
func (s *Simulator) AddCertificate(spec CertificateSpec) Certificate {
	now := s.lock()
	defer s.mu.Unlock()
	t := s.team(spec.Team)
	cert := Certificate{
		ID: s.ids.next(), Name: spec.Name, CreatedAt: now.Truncate(time.Second),
		NotAfter: spec.NotAfter.UTC().Truncate(time.Second),
		DNSNames: append([]string{}, spec.DNSNames...),
		Type:     cmp.Or(spec.Type, "custom"), State: cmp.Or(spec.State, "verified"),
	}
	if spec.NotAfter.IsZero() {
		cert.NotAfter = cert.CreatedAt.Add(certificateLife)
	}
	cert.SHA1Fingerprint = fingerprint(cert.ID)
	t.certificates.add(cert.ID, &cert)
	return cert.clone()
}

func (c Certificate) clone() Certificate {
	c.DNSNames = slices.Clone(c.DNSNames)
	return c
}

// fingerprint stands for that of a certificate which does not exist.
func fingerprint(id string) string {
	sum := sha1.Sum([]byte(id)) // #nosec G401 -- see the import
	return hex.EncodeToString(sum[:])
}

// RotateCertificate renews a certificate as the service does with Let's
// Encrypt's: the same name gets a new id, and every load balancer that used the
// old one uses the new one. The error wraps ErrNotFound.
func (s *Simulator) RotateCertificate(id string) (Certificate, error) {
	now := s.lock()
	defer s.mu.Unlock()
	t, old, err := s.teamOfCertificate(id)
	if err != nil {
		return Certificate{}, err
	}
	renewed := old.clone()
	renewed.ID = s.ids.next()
	renewed.CreatedAt = now.Truncate(time.Second)
	renewed.NotAfter = renewed.CreatedAt.Add(certificateLife)
	renewed.SHA1Fingerprint = fingerprint(renewed.ID)
	t.certificates.remove(id)
	t.certificates.add(renewed.ID, &renewed)
	for lb := range t.loadBalancers.all() {
		lb.replaceCertificate(id, renewed.ID)
	}
	return renewed.clone(), nil
}

// RemoveCertificate removes a certificate. The error wraps ErrNotFound, or
// ErrInUse as long as a load balancer uses it.
func (s *Simulator) RemoveCertificate(id string) error {
	s.lock()
	defer s.mu.Unlock()
	t, _, err := s.teamOfCertificate(id)
	if err != nil {
		return err
	}
	for lb := range t.loadBalancers.all() {
		if lb.usesCertificate(id) {
			return fmt.Errorf("remove certificate %s: %w by load balancer %s", id, ErrInUse, lb.ID)
		}
	}
	t.certificates.remove(id)
	return nil
}

func (s *Simulator) teamOfCertificate(id string) (*team, *Certificate, error) {
	for _, name := range s.teamOrder {
		if cert, ok := s.teams[name].certificates.get(id); ok {
			return s.teams[name], cert, nil
		}
	}
	return nil, nil, fmt.Errorf("certificate %s: %w", id, ErrNotFound)
}

func addCertificateRoutes(t *router) {
	t.add(http.MethodGet, "/v2/certificates", listCertificates)
	t.add(http.MethodGet, "/v2/certificates/{id}", getCertificate)
}

func listCertificates(c *call) (reply, error) {
	name := c.query.Get("name")
	found := []*Certificate{}
	for cert := range c.team.certificates.all() {
		if name == "" || cert.Name == name {
			found = append(found, cert)
		}
	}
	return list(c, "certificates", found, same[*Certificate])
}

func getCertificate(c *call) (reply, error) {
	cert, ok := c.team.certificates.get(c.params["id"])
	if !ok {
		return reply{}, notFound()
	}
	return jsonReply(http.StatusOK, map[string]any{"certificate": cert})
}
