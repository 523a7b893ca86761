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

// certificate is a certificate in the state it will have when it is verified.
type certificate struct {
	Certificate
	verifiedAt time.Time
	// reads is how often it has to be read before it is verified.
	reads int
	// heldUntil is how long the service takes it for used after a load balancer
	// has let it go.
	heldUntil time.Time
}

// show is the certificate as it is read at now.
func (c *certificate) show(now time.Time) Certificate {
	v := c.Certificate
	if now.Before(c.verifiedAt) || c.reads > 0 {
		v.State, v.NotAfter, v.SHA1Fingerprint = "pending", time.Time{}, ""
	}
	return v
}

// AddCertificate adds a certificate without looking at its fields: names need
// not be unique.
func (s *Simulator) AddCertificate(spec CertificateSpec) Certificate {
	now := s.lock()
	defer s.mu.Unlock()
	return s.addCertificate(s.team(spec.Team), spec, now)
}

func (s *Simulator) addCertificate(t *team, spec CertificateSpec, now time.Time) Certificate {
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
	t.certificates.add(cert.ID, &certificate{Certificate: cert})
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
	renewed := old.Certificate.clone()
	renewed.ID = s.ids.next()
	renewed.CreatedAt = now.Truncate(time.Second)
	renewed.NotAfter = renewed.CreatedAt.Add(certificateLife)
	renewed.SHA1Fingerprint = fingerprint(renewed.ID)
	t.certificates.remove(id)
	t.certificates.add(renewed.ID, &certificate{Certificate: renewed})
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
	if lb := t.userOfCertificate(id); lb != nil {
		return fmt.Errorf("remove certificate %s: %w by load balancer %s", id, ErrInUse, lb.ID)
	}
	t.certificates.remove(id)
	return nil
}

// userOfCertificate returns a load balancer that uses a certificate, or nil.
func (t *team) userOfCertificate(id string) *loadBalancer {
	for lb := range t.loadBalancers.all() {
		if lb.usesCertificate(id) {
			return lb
		}
	}
	return nil
}

// holdCertificates keeps the certificates of a load balancer, which is about to
// change or go, in use for a while.
func (s *Simulator) holdCertificates(t *team, lb *loadBalancer, now time.Time) {
	until := now.Add(s.settings.CertificateRelease)
	hold := func(id string) {
		if cert, ok := t.certificates.get(id); ok {
			cert.heldUntil = until
		}
	}
	for _, r := range lb.ForwardingRules {
		hold(r.CertificateID)
	}
	for _, d := range lb.Domains {
		hold(d.CertificateID)
	}
}

func (s *Simulator) teamOfCertificate(id string) (*team, *certificate, error) {
	for _, name := range s.teamOrder {
		if cert, ok := s.teams[name].certificates.get(id); ok {
			return s.teams[name], cert, nil
		}
	}
	return nil, nil, fmt.Errorf("certificate %s: %w", id, ErrNotFound)
}

func addCertificateRoutes(t *router) {
	t.add(http.MethodGet, "/v2/certificates", listCertificates)
	t.add(http.MethodPost, "/v2/certificates", createCertificate)
	t.add(http.MethodGet, "/v2/certificates/{id}", getCertificate)
	t.add(http.MethodDelete, "/v2/certificates/{id}", deleteCertificate)
}

func listCertificates(c *call) (reply, error) {
	name := c.query.Get("name")
	found := []*certificate{}
	for cert := range c.team.certificates.all() {
		if name == "" || cert.Name == name {
			found = append(found, cert)
		}
	}
	return list(c, "certificates", found, c.readCertificate)
}

func getCertificate(c *call) (reply, error) {
	cert, err := c.team.certificates.find(c.params["id"])
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, map[string]any{"certificate": c.readCertificate(cert)})
}

func (c *call) readCertificate(cert *certificate) Certificate {
	v := cert.show(c.now)
	c.countRead(&cert.reads)
	return v
}

func deleteCertificate(c *call) (reply, error) {
	cert, err := c.team.certificates.find(c.params["id"])
	switch {
	case err != nil:
		return reply{}, err
	case c.team.userOfCertificate(cert.ID) != nil, c.now.Before(cert.heldUntil):
		return reply{}, forbidden("Make sure the certificate is not in use before deleting it")
	}
	c.team.certificates.remove(cert.ID)
	return noContent()
}
