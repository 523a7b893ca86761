package simulator_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/simulator"
)

// selfSigned makes a certificate and its key, both in PEM.
func selfSigned(t *testing.T, notAfter time.Time, names ...string) (leaf, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: names,
		NotBefore: notAfter.AddDate(-1, 0, 0), NotAfter: notAfter,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

func TestACustomCertificateShowsWhatItsLeafSays(t *testing.T) {
	w := newWorld(t)
	leaf, key := selfSigned(t, start.AddDate(0, 6, 0), "example.com", "www.example.com")
	made, resp, err := w.client.Certificates.Create(t.Context(), &godo.CertificateRequest{
		Name: "web", Type: "custom", PrivateKey: key, LeafCertificate: leaf, CertificateChain: leaf,
	})
	if err != nil || resp.StatusCode != 201 {
		t.Fatalf("created with %v: %v", resp, err)
	}
	if made.State != "verified" || made.Type != "custom" || made.NotAfter != "2026-09-01T12:00:00Z" ||
		len(made.SHA1Fingerprint) != 40 || !slices.Equal(made.DNSNames, []string{"example.com", "www.example.com"}) {
		t.Errorf("certificate %+v", made)
	}
	if got := must[*godo.Certificate](t)(w.client.Certificates.Get(t.Context(), made.ID)); got.SHA1Fingerprint != made.SHA1Fingerprint {
		t.Errorf("read back %+v", got)
	}
}

func TestPrivateKeysAreNeitherReadBackNorLogged(t *testing.T) {
	w := newWorld(t)
	leaf, key := selfSigned(t, start.AddDate(0, 6, 0), "example.com")
	secret := strings.Split(key, "\n")[1]
	must[*godo.Certificate](t)(w.client.Certificates.Create(t.Context(), &godo.CertificateRequest{
		Name: "web", PrivateKey: key, LeafCertificate: leaf,
	}))
	// The same member in other spellings, in an answer that is an error.
	refused := w.do("POST", "/v2/certificates", `{"name":"b","Private_Key":"`+secret+`","private\u005fkey":"`+secret+`","leaf_certificate":"x"}`)
	for what, text := range map[string]string{
		"list": w.do("GET", "/v2/certificates", "").body, "refusal": refused.body,
		"log": w.control("GET", "requests", "", 200).body, "state": w.control("GET", "state", "", 200).body,
	} {
		if strings.Contains(text, secret) {
			t.Errorf("the %s shows the key", what)
		}
	}
	if body := string(w.Requests()[0].Body); !strings.Contains(body, "[redacted]") || !strings.Contains(body, `"name":"web"`) {
		t.Errorf("logged %s", body)
	}
}

func TestRefusedCertificates(t *testing.T) {
	w := newWorld(t)
	leaf, key := selfSigned(t, start.AddDate(0, 6, 0), "example.com")
	_, otherKey := selfSigned(t, start.AddDate(0, 6, 0), "example.com")
	oldLeaf, oldKey := selfSigned(t, start, "example.com")
	w.AddCertificate(simulator.CertificateSpec{Name: "taken"})
	for name, tc := range map[string]struct {
		req  godo.CertificateRequest
		want string
	}{
		"no name":         {godo.CertificateRequest{PrivateKey: key, LeafCertificate: leaf}, "name"},
		"name taken":      {godo.CertificateRequest{Name: "taken", PrivateKey: key, LeafCertificate: leaf}, "name is not unique"},
		"unknown type":    {godo.CertificateRequest{Name: "a", Type: "magic"}, "type"},
		"no leaf":         {godo.CertificateRequest{Name: "a", PrivateKey: key}, "leaf_certificate"},
		"leaf is no PEM":  {godo.CertificateRequest{Name: "a", PrivateKey: key, LeafCertificate: "x"}, "leaf_certificate is not in PEM"},
		"leaf is a key":   {godo.CertificateRequest{Name: "a", PrivateKey: key, LeafCertificate: key}, "leaf_certificate"},
		"broken leaf":     {godo.CertificateRequest{Name: "a", PrivateKey: key, LeafCertificate: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}, "not a valid certificate"},
		"key is no PEM":   {godo.CertificateRequest{Name: "a", PrivateKey: "x", LeafCertificate: leaf}, "private_key is not in PEM"},
		"other key":       {godo.CertificateRequest{Name: "a", PrivateKey: otherKey, LeafCertificate: leaf}, "private_key does not match"},
		"chain is no PEM": {godo.CertificateRequest{Name: "a", PrivateKey: key, LeafCertificate: leaf, CertificateChain: "x"}, "certificate_chain"},
		"chain of keys":   {godo.CertificateRequest{Name: "a", PrivateKey: key, LeafCertificate: leaf, CertificateChain: key}, "certificate_chain"},
		"expired":         {godo.CertificateRequest{Name: "a", PrivateKey: oldKey, LeafCertificate: oldLeaf}, "expired"},
		"no domains":      {godo.CertificateRequest{Name: "a", Type: "lets_encrypt"}, "dns_names is required"},
		"no domain name":  {godo.CertificateRequest{Name: "a", Type: "lets_encrypt", DNSNames: []string{"a b.example"}}, "not a valid domain"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := w.client.Certificates.Create(t.Context(), &tc.req)
			wantRefusal(t, err, 422, tc.want)
		})
	}
	if got := w.do("POST", "/v2/certificates", "{"); got.status != 400 {
		t.Errorf("no JSON: %d", got.status)
	}
}

func TestALetsEncryptCertificateIsPendingFirst(t *testing.T) {
	w := newWorld(t, simulator.WithCertificateVerification(time.Minute))
	req := &godo.CertificateRequest{Name: "web", DNSNames: []string{"*.example.com"}}
	made := must[*godo.Certificate](t)(w.client.Certificates.Create(t.Context(), req))
	if made.State != "pending" || made.Type != "lets_encrypt" || made.NotAfter != "" || made.SHA1Fingerprint != "" {
		t.Errorf("made %+v", made)
	}
	w.advance(time.Minute)
	got := must[*godo.Certificate](t)(w.client.Certificates.Get(t.Context(), made.ID))
	if got.State != "verified" || got.NotAfter != "2026-05-30T12:01:00Z" || len(got.SHA1Fingerprint) != 40 {
		t.Errorf("a minute later %+v", got)
	}
}

func TestACertificateInUseStays(t *testing.T) {
	w := newWorld(t, simulator.WithCertificateRelease(30*time.Second))
	cert := w.AddCertificate(simulator.CertificateSpec{Name: "web"})
	req := lbRequest("a")
	req.ForwardingRules = []godo.ForwardingRule{secured(rule("https", 443, "http", 80), cert.ID)}
	lb := createLB(t, w, req)
	remove := func() error { _, err := w.client.Certificates.Delete(t.Context(), cert.ID); return err }
	wantRefusal(t, remove(), 403, "Make sure the certificate is not in use before deleting it")
	must[*godo.LoadBalancer](t)(w.client.LoadBalancers.Update(t.Context(), lb.ID, lbRequest("a")))
	wantRefusal(t, remove(), 403, "not in use")
	w.advance(30 * time.Second)
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, remove(), 404, "")
}
