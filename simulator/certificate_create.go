package simulator

import (
	"crypto/sha1" // #nosec G505 -- the API's fingerprint is SHA-1; nothing is protected by it
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"net/http"
	"regexp"
	"time"
)

const (
	certificateCustom      = "custom"
	certificateLetsEncrypt = "lets_encrypt"
)

var domainName = regexp.MustCompile(`^(\*\.)?([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)+[a-zA-Z]{2,63}$`)

// certificateRequest is the body of POST /v2/certificates. The key is read to
// check it and then forgotten.
type certificateRequest struct {
	Name       string   `json:"name"`
	Type       string   `json:"type"`
	DNSNames   []string `json:"dns_names"`
	PrivateKey string   `json:"private_key"`
	Leaf       string   `json:"leaf_certificate"`
	Chain      string   `json:"certificate_chain"`
}

// kind is the type that was sent, or the one that the other members mean.
func (req *certificateRequest) kind() string {
	switch {
	case req.Type != "":
		return req.Type
	case len(req.DNSNames) > 0 && req.PrivateKey == "" && req.Leaf == "":
		return certificateLetsEncrypt
	}
	return certificateCustom
}

func createCertificate(c *call) (reply, error) {
	var req certificateRequest
	if err := c.decode(&req); err != nil {
		return reply{}, err
	}
	if err := c.validateCertificateName(req.Name); err != nil {
		return reply{}, err
	}
	cert := &certificate{}
	var err error
	switch req.kind() {
	case certificateCustom:
		cert.Certificate, err = req.custom(c.now)
	case certificateLetsEncrypt:
		cert.verifiedAt, cert.reads = c.now.Add(c.s.settings.CertificateVerification), c.s.settings.ActivationReads
		cert.Certificate, err = req.letsEncrypt(cert.verifiedAt)
	default:
		err = unprocessable("type %q is invalid, must be one of custom, lets_encrypt", req.Type)
	}
	if err != nil {
		return reply{}, err
	}
	cert.ID, cert.Name, cert.State = c.s.ids.next(), req.Name, "verified"
	cert.CreatedAt = c.now.Truncate(time.Second)
	if cert.Type == certificateLetsEncrypt {
		cert.SHA1Fingerprint = fingerprint(cert.ID)
	}
	c.team.certificates.add(cert.ID, cert)
	return jsonReply(http.StatusCreated, map[string]any{"certificate": cert.show(c.now)})
}

func (c *call) validateCertificateName(name string) error {
	if name == "" || len(name) > 255 {
		return unprocessable("name must have 1 to 255 characters")
	}
	for cert := range c.team.certificates.all() {
		if cert.Name == name {
			return unprocessable("name is not unique")
		}
	}
	return nil
}

func (req *certificateRequest) letsEncrypt(verifiedAt time.Time) (Certificate, error) {
	if len(req.DNSNames) == 0 {
		return Certificate{}, unprocessable("dns_names is required for a lets_encrypt certificate")
	}
	for _, name := range req.DNSNames {
		if !domainName.MatchString(name) {
			return Certificate{}, unprocessable("dns_names: %q is not a valid domain name", name)
		}
	}
	return Certificate{
		Type: certificateLetsEncrypt, DNSNames: req.DNSNames,
		NotAfter: verifiedAt.Add(certificateLife).Truncate(time.Second),
	}, nil
}

// custom checks what the user brought. No message repeats any of it.
func (req *certificateRequest) custom(now time.Time) (Certificate, error) {
	leaf, err := req.parseLeaf()
	if err != nil {
		return Certificate{}, err
	}
	if key, _ := pem.Decode([]byte(req.PrivateKey)); key == nil {
		return Certificate{}, unprocessable("private_key is not in PEM format")
	}
	if _, err := tls.X509KeyPair([]byte(req.Leaf), []byte(req.PrivateKey)); err != nil {
		return Certificate{}, unprocessable("private_key does not match leaf_certificate")
	}
	if err := validateChain(req.Chain); err != nil {
		return Certificate{}, err
	}
	if !now.Before(leaf.NotAfter) {
		return Certificate{}, unprocessable("leaf_certificate has expired")
	}
	sum := sha1.Sum(leaf.Raw) // #nosec G401 -- see the import
	return Certificate{
		Type: certificateCustom, DNSNames: append([]string{}, leaf.DNSNames...),
		NotAfter: leaf.NotAfter.UTC(), SHA1Fingerprint: hex.EncodeToString(sum[:]),
	}, nil
}

func (req *certificateRequest) parseLeaf() (*x509.Certificate, error) {
	block, _ := pem.Decode([]byte(req.Leaf))
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, unprocessable("leaf_certificate is not in PEM format")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, unprocessable("leaf_certificate is not a valid certificate")
	}
	return leaf, nil
}

// validateChain accepts no chain at all, or one of certificates only.
func validateChain(chain string) error {
	rest := []byte(chain)
	for len(rest) > 0 {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			if len(rest) == len(chain) {
				return unprocessable("certificate_chain is not in PEM format")
			}
			return nil
		}
		if _, err := x509.ParseCertificate(block.Bytes); block.Type != "CERTIFICATE" || err != nil {
			return unprocessable("certificate_chain is not a chain of valid certificates")
		}
	}
	return nil
}
