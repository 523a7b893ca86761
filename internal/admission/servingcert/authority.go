package servingcert

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// pair is a certificate with its key.
type pair struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// state is everything that the replicas share.
type state struct {
	// authorities are those that clients are to trust, the oldest first.
	authorities []pair
	serving     pair
}

// plan says what certificates have to be like.
type plan struct {
	// names are the DNS names and addresses of the server.
	names []string
	// lifetime is that of serving certificates.
	lifetime time.Duration
}

const (
	// authorityLifetimes is how long an authority lives, in lifetimes of serving
	// certificates; with half of them left there is another.
	authorityLifetimes = 4
	// maxSettle bounds how long a new authority is only told of.
	maxSettle = 10 * time.Minute
)

// settle is how long an authority is told of before it signs, and by how much
// certificates begin before they are made, as clocks differ.
func (p plan) settle() time.Duration { return min(p.lifetime/10, maxSettle) }

// next is the state that has to follow, and whether it is another one. It is
// pure but for the keys.
func (p plan) next(s state, now time.Time) (state, bool, error) {
	n := state{serving: s.serving}
	for _, a := range s.authorities {
		if now.Before(a.certificate.NotAfter) {
			n.authorities = append(n.authorities, a)
		}
	}
	changed := len(n.authorities) != len(s.authorities)
	if p.needsAuthority(n, now) {
		a, err := p.newAuthority(now)
		if err != nil {
			return state{}, false, err
		}
		n.authorities, changed = append(n.authorities, a), true
	}
	signer := p.signer(n, now)
	if !p.serves(n.serving, signer, now) {
		c, err := p.newServing(signer, now)
		if err != nil {
			return state{}, false, err
		}
		n.serving, changed = c, true
	}
	return n, changed, nil
}

func (p plan) needsAuthority(s state, now time.Time) bool {
	if len(s.authorities) == 0 {
		return true
	}
	newest := s.authorities[len(s.authorities)-1]
	return newest.certificate.NotAfter.Sub(now) < authorityLifetimes/2*p.lifetime
}

// signer is the newest authority that is known everywhere, or the oldest.
func (p plan) signer(s state, now time.Time) pair {
	for _, a := range slices.Backward(s.authorities) {
		if now.Sub(a.certificate.NotBefore) >= 2*p.settle() {
			return a
		}
	}
	return s.authorities[0]
}

// serves tells whether a certificate will do for now.
func (p plan) serves(c pair, signer pair, now time.Time) bool {
	if c.certificate == nil || c.certificate.CheckSignatureFrom(signer.certificate) != nil {
		return false
	}
	for _, name := range p.names {
		if c.certificate.VerifyHostname(name) != nil {
			return false
		}
	}
	return !now.Before(c.certificate.NotBefore) && c.certificate.NotAfter.Sub(now) > p.lifetime/3
}

func (p plan) newAuthority(now time.Time) (pair, error) {
	return sign(&x509.Certificate{
		// Clients tell authorities of one name apart by their keys' ids alone,
		// which not all do.
		Subject:               pkix.Name{CommonName: fmt.Sprintf("DigitalOcean admission CA %d", now.UnixNano())},
		NotBefore:             now.Add(-p.settle()),
		NotAfter:              now.Add(authorityLifetimes * p.lifetime),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}, nil)
}

func (p plan) newServing(signer pair, now time.Time) (pair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "DigitalOcean admission server"},
		NotBefore:   now.Add(-p.settle()),
		NotAfter:    now.Add(p.lifetime),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range p.names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	return sign(template, &signer)
}

// sign makes a key and its certificate, which signs itself without a signer.
func sign(template *x509.Certificate, signer *pair) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("make key: %w", err)
	}
	parent, parentKey := template, key
	if signer != nil {
		parent, parentKey = signer.certificate, signer.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		return pair{}, fmt.Errorf("make certificate: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return pair{}, fmt.Errorf("read certificate: %w", err)
	}
	return pair{certificate, key}, nil
}

// bundle is what clients are to trust, as PEM.
func (s state) bundle() []byte {
	var b bytes.Buffer
	for _, a := range s.authorities {
		b.Write(encodeCertificate(a.certificate))
	}
	return b.Bytes()
}

func (s state) certificate() *tls.Certificate {
	if s.serving.certificate == nil {
		return nil
	}
	return &tls.Certificate{Certificate: [][]byte{s.serving.certificate.Raw}, PrivateKey: s.serving.key, Leaf: s.serving.certificate}
}

func encodeCertificate(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: c.Raw})
}

var errNotOurs = errors.New("not what this server wrote")
