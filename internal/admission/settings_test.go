package admission

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func lookup(variables map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := variables[name]; return v, ok }
}

func TestSettings(t *testing.T) {
	empty, filled := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(filled, "tls.crt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defaults := Settings{
		Address: ":9443", OwnCertificates: true, CertDirectory: empty, CertLifetime: 2160 * time.Hour, Namespace: "kube-system",
		Service: DefaultName, Secret: DefaultSecret, Configuration: DefaultName, ShutdownDelay: 5 * time.Second,
	}
	tests := []struct {
		name      string
		variables map[string]string
		edit      func(*Settings)
	}{
		{"nothing set", nil, func(*Settings) {}},
		{"certificates in files", map[string]string{EnvCertDirectory: filled}, func(s *Settings) { s.CertDirectory, s.OwnCertificates = filled, false }},
		{"own certificates in spite of files", map[string]string{EnvCertDirectory: filled, EnvCertificates: "own"}, func(s *Settings) { s.CertDirectory = filled }},
		{"files that are yet to come", map[string]string{EnvCertificates: "files"}, func(s *Settings) { s.OwnCertificates = false }},
		{"names", map[string]string{EnvCertNames: " a.example.com,, 127.0.0.1 "}, func(s *Settings) { s.CertNames = []string{"a.example.com", "127.0.0.1"} }},
		{"the rest", map[string]string{EnvAddress: "127.0.0.1:1", EnvCertLifetime: "10s", EnvNamespace: "n", EnvService: "s", EnvSecret: "c", EnvConfiguration: "w", EnvShutdownDelay: "0s"}, func(s *Settings) {
			s.Address, s.CertLifetime, s.Namespace, s.Service, s.Secret, s.Configuration, s.ShutdownDelay = "127.0.0.1:1", 10*time.Second, "n", "s", "c", "w", 0
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			variables := map[string]string{EnvCertDirectory: empty}
			for k, v := range test.variables {
				variables[k] = v
			}
			want := defaults
			test.edit(&want)
			got, err := FromEnvironment(lookup(variables))
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

func TestSettingsAreRefusedTogether(t *testing.T) {
	variables := map[string]string{
		EnvAddress: "9443", EnvCertificates: "mine", EnvCertLifetime: "1s", EnvNamespace: "A", EnvShutdownDelay: "an hour",
	}
	_, err := FromEnvironment(lookup(variables))
	if err == nil {
		t.Fatal("no error")
	}
	for name, value := range variables {
		if !strings.Contains(err.Error(), name+`: "`+value+`" is not valid: must be`) {
			t.Errorf("%v lacks %s", err, name)
		}
	}
}
