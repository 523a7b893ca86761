package servingcert

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	day   = 24 * time.Hour
	year  = plan{names: []string{"web.default.svc", "127.0.0.1"}, lifetime: 90 * day}
)

func mustNext(t *testing.T, p plan, s state, now time.Time) (state, bool) {
	t.Helper()
	next, changed, err := p.next(s, now)
	if err != nil {
		t.Fatal(err)
	}
	return next, changed
}

// trusts verifies as a client does that has the bundle.
func trusts(t *testing.T, bundle []byte, s state, name string, now time.Time) error {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bundle) {
		t.Fatal("no authority in the bundle")
	}
	_, err := s.serving.certificate.Verify(x509.VerifyOptions{Roots: pool, DNSName: name, CurrentTime: now})
	return err
}

func TestTheFirstCertificateServesAtOnce(t *testing.T) {
	s, changed := mustNext(t, year, state{}, start)
	if !changed || len(s.authorities) != 1 {
		t.Fatalf("changed %v, %d authorities", changed, len(s.authorities))
	}
	for _, name := range year.names {
		if err := trusts(t, s.bundle(), s, name, start); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := trusts(t, s.bundle(), s, "other.default.svc", start); err == nil {
		t.Error("another name is trusted")
	}
	if _, changed := mustNext(t, year, s, start.Add(time.Minute)); changed {
		t.Error("a minute later there is something to do")
	}
}

func TestANewNameNeedsANewCertificateOfTheSameAuthority(t *testing.T) {
	s, _ := mustNext(t, year, state{}, start)
	renamed := plan{names: append([]string{"new.default.svc"}, year.names...), lifetime: year.lifetime}
	next, changed := mustNext(t, renamed, s, start.Add(time.Hour))
	if !changed || trusts(t, s.bundle(), next, "new.default.svc", start.Add(time.Hour)) != nil {
		t.Error("the new name is not served")
	}
}

// Over years of looks, every client that knows the bundle of half a settling
// time ago trusts what is served now.
func TestNoClientEverMeetsAnAuthorityThatItDoesntKnow(t *testing.T) {
	for _, lifetime := range []time.Duration{20 * time.Second, time.Hour, 90 * day} {
		p := plan{names: year.names, lifetime: lifetime}
		s, _ := mustNext(t, p, state{}, start)
		renewals, authorities := 0, map[string]bool{}
		step := p.settle() / 2
		if lifetime > time.Hour {
			step = lifetime / 200
		}
		for now := start; now.Before(start.Add(20 * lifetime)); now = now.Add(step) {
			next, changed := mustNext(t, p, s, now)
			if err := trusts(t, s.bundle(), next, p.names[0], now); err != nil {
				t.Fatalf("lifetime %s, after %s: %v", lifetime, now.Sub(start), err)
			}
			if left := next.serving.certificate.NotAfter.Sub(now); left < lifetime/4 {
				t.Fatalf("lifetime %s: %s left", lifetime, left)
			}
			if len(next.authorities) > 3 {
				t.Fatalf("lifetime %s: %d authorities", lifetime, len(next.authorities))
			}
			if changed {
				renewals++
			}
			for _, a := range next.authorities {
				authorities[a.certificate.Subject.CommonName] = true
			}
			s = next
		}
		if renewals < 20 || len(authorities) < 8 {
			t.Errorf("lifetime %s: %d renewals, %d authorities in 20 lifetimes", lifetime, renewals, len(authorities))
		}
	}
}

func TestTheSecretHoldsEverything(t *testing.T) {
	s, _ := mustNext(t, year, state{}, start)
	s, _ = mustNext(t, year, s, start.Add(200*day)) // a second authority
	if len(s.authorities) != 2 {
		t.Fatal(len(s.authorities))
	}
	data, err := s.encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := read.encode()
	if diff := cmp.Diff(data, again); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for name, spoil := range map[string]func(map[string][]byte){
		"nothing":            func(d map[string][]byte) { clear(d) },
		"no authority":       func(d map[string][]byte) { delete(d, keyAuthorities); delete(d, keyAuthorityKeys) },
		"an authority's key": func(d map[string][]byte) { d[keyAuthorityKeys] = nil },
		"another key":        func(d map[string][]byte) { d["tls.key"] = d[keyAuthorityKeys] },
		"a certificate's text": func(d map[string][]byte) {
			d["tls.crt"] = []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
		},
	} {
		data, _ := s.encode() // it was encoded a moment ago
		spoil(data)
		if _, err := decode(data); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
