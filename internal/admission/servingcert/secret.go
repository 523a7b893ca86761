package servingcert

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// Keys of the Secret. Those of authorities hold several blocks, in the same
// order.
const (
	keyAuthorities   = "ca.crt"
	keyAuthorityKeys = "ca.key"

	blockCertificate = "CERTIFICATE"
	blockKey         = "PRIVATE KEY"
)

// encode writes the state as a Secret of the type kubernetes.io/tls holds it.
func (s state) encode() (map[string][]byte, error) {
	var keys bytes.Buffer
	for _, a := range s.authorities {
		key, err := encodeKey(a.key)
		if err != nil {
			return nil, err
		}
		keys.Write(key)
	}
	servingKey, err := encodeKey(s.serving.key)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		keyAuthorities:      s.bundle(),
		keyAuthorityKeys:    keys.Bytes(),
		v1.TLSCertKey:       encodeCertificate(s.serving.certificate),
		v1.TLSPrivateKeyKey: servingKey,
	}, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockKey, Bytes: der}), nil
}

// decode reads what encode wrote.
func decode(data map[string][]byte) (state, error) {
	authorities, err := decodePairs(data[keyAuthorities], data[keyAuthorityKeys])
	if err != nil {
		return state{}, fmt.Errorf("read authorities: %w", err)
	}
	serving, err := decodePairs(data[v1.TLSCertKey], data[v1.TLSPrivateKeyKey])
	if err != nil {
		return state{}, fmt.Errorf("read serving certificate: %w", err)
	}
	if len(serving) != 1 || len(authorities) == 0 {
		return state{}, fmt.Errorf("read certificates: %d authorities and %d serving certificates: %w", len(authorities), len(serving), errNotOurs)
	}
	return state{authorities: authorities, serving: serving[0]}, nil
}

func decodePairs(certificates, keys []byte) ([]pair, error) {
	var pairs []pair
	for {
		certBlock, restCerts := pem.Decode(certificates)
		keyBlock, restKeys := pem.Decode(keys)
		if certBlock == nil && keyBlock == nil {
			return pairs, nil
		}
		if certBlock == nil || keyBlock == nil {
			return nil, fmt.Errorf("certificates and keys differ in number: %w", errNotOurs)
		}
		p, err := decodePair(certBlock.Bytes, keyBlock.Bytes)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, p)
		certificates, keys = restCerts, restKeys
	}
}

func decodePair(certificate, key []byte) (pair, error) {
	c, err := x509.ParseCertificate(certificate)
	if err != nil {
		return pair{}, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(key)
	if err != nil {
		return pair{}, err
	}
	k, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || !k.PublicKey.Equal(c.PublicKey) {
		return pair{}, fmt.Errorf("a key is not its certificate's: %w", errNotOurs)
	}
	return pair{c, k}, nil
}
