package sandbox

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// addRequestHeaderCA has kube-apiserver publish whom to believe when another
// API server names a user in headers. Every real cluster does, and what asks
// the API server who its callers are, as the manager does, waits for it. Nobody
// has a certificate of this authority.
func addRequestHeaderCA(api *envtest.APIServer) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make a certificate authority: %w", err)
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "front-proxy-ca"}, key)
	if err != nil {
		return fmt.Errorf("make a certificate authority: %w", err)
	}
	encoded, err := cert.EncodeCertificates(ca)
	if err != nil {
		return fmt.Errorf("make a certificate authority: %w", err)
	}
	path := filepath.Join(api.CertDir, "front-proxy-ca.crt")
	if err := os.WriteFile(path, encoded, 0o600); err != nil {
		return fmt.Errorf("make a certificate authority: %w", err)
	}
	api.Configure().
		Set("requestheader-client-ca-file", path).
		Set("requestheader-allowed-names", "front-proxy-client").
		Set("requestheader-username-headers", "X-Remote-User").
		Set("requestheader-group-headers", "X-Remote-Group").
		Set("requestheader-extra-headers-prefix", "X-Remote-Extra-")
	return nil
}
