package admission

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Environment variables of the server's own, beside the manager's.
const (
	EnvAddress         = "ADMISSION_ADDR"
	EnvCertificates    = "ADMISSION_CERTIFICATES"
	EnvCertDirectory   = "ADMISSION_CERT_DIR"
	EnvCertNames       = "ADMISSION_CERT_NAMES"
	EnvCertLifetime    = "ADMISSION_CERT_LIFETIME"
	EnvNamespace       = "ADMISSION_NAMESPACE"
	EnvService         = "ADMISSION_SERVICE"
	EnvSecret          = "ADMISSION_SECRET"
	EnvConfiguration   = "ADMISSION_WEBHOOK_CONFIGURATION"
	EnvShutdownDelay   = "ADMISSION_SHUTDOWN_DELAY"
	certificatesOwn    = "own"
	certificatesFiles  = "files"
	certificatesChoice = certificatesOwn + " or " + certificatesFiles
)

// Defaults of the settings, as the manifests have them.
const (
	DefaultName          = "digitalocean-cloud-controller-manager-admission-server"
	DefaultNamespace     = "kube-system"
	DefaultSecret        = DefaultName + "-tls"
	DefaultPort          = 9443
	DefaultCertDirectory = "/tmp/k8s-webhook-server/serving-certs"

	defaultCertLifetime  = 90 * 24 * time.Hour
	minCertLifetime      = 10 * time.Second
	maxCertLifetime      = 5 * 365 * 24 * time.Hour
	defaultShutdownDelay = 5 * time.Second
	maxShutdownDelay     = time.Minute
)

// Settings are the server's own.
type Settings struct {
	// Address is the host:port of the webhook, with TLS.
	Address string
	// OwnCertificates is true where the server makes its certificates itself;
	// else they are in the files tls.crt and tls.key of CertDirectory.
	OwnCertificates bool
	CertDirectory   string
	// CertNames are DNS names and addresses that own certificates hold beside
	// the Service's names.
	CertNames []string
	// CertLifetime is that of own serving certificates; a third before its end
	// another takes its place.
	CertLifetime time.Duration
	// Namespace and Service are by what the API server reaches the server.
	Namespace, Service string
	// Secret holds own certificates, for all replicas.
	Secret string
	// Configuration is the ValidatingWebhookConfiguration that is told the CA
	// of own certificates.
	Configuration string
	// ShutdownDelay is how long the server goes on after it was told to stop,
	// so that nobody is sent to it any more when it ends.
	ShutdownDelay time.Duration
}

// FromEnvironment reads the settings by lookup (usually [os.LookupEnv]). A
// variable that is empty counts as unset. The error joins one for each setting
// that can't be used.
func FromEnvironment(lookup func(string) (string, bool)) (Settings, error) {
	r := reader{lookup: lookup}
	s := Settings{
		Address:       r.address(EnvAddress, fmt.Sprintf(":%d", DefaultPort)),
		CertDirectory: r.text(EnvCertDirectory, DefaultCertDirectory),
		CertLifetime:  r.duration(EnvCertLifetime, defaultCertLifetime, minCertLifetime, maxCertLifetime),
		Namespace:     r.name(EnvNamespace, DefaultNamespace),
		Service:       r.name(EnvService, DefaultName),
		Secret:        r.name(EnvSecret, DefaultSecret),
		Configuration: r.name(EnvConfiguration, DefaultName),
		ShutdownDelay: r.duration(EnvShutdownDelay, defaultShutdownDelay, 0, maxShutdownDelay),
	}
	for name := range strings.SplitSeq(r.text(EnvCertNames, ""), ",") {
		if name = strings.TrimSpace(name); name != "" {
			s.CertNames = append(s.CertNames, name)
		}
	}
	s.OwnCertificates = r.ownCertificates(s.CertDirectory)
	return s, errors.Join(r.problems...)
}

type reader struct {
	lookup   func(string) (string, bool)
	problems []error
}

func (r *reader) refuse(name, value, allowed string) {
	r.problems = append(r.problems, fmt.Errorf("%s: %q is not valid: %s", name, value, allowed))
}

func (r *reader) text(name, fallback string) string {
	value, _ := r.lookup(name)
	if value = strings.TrimSpace(value); value == "" {
		return fallback
	}
	return value
}

func (r *reader) name(variable, fallback string) string {
	value := r.text(variable, fallback)
	if len(validation.IsDNS1123Subdomain(value)) > 0 {
		r.refuse(variable, value, "must be the name of a Kubernetes object")
	}
	return value
}

func (r *reader) address(variable, fallback string) string {
	value := r.text(variable, fallback)
	if _, _, err := net.SplitHostPort(value); err != nil {
		r.refuse(variable, value, "must be host:port or :port")
	}
	return value
}

func (r *reader) duration(variable string, fallback, least, most time.Duration) time.Duration {
	value := r.text(variable, fallback.String())
	d, err := time.ParseDuration(value)
	if err != nil || d < least || d > most {
		r.refuse(variable, value, fmt.Sprintf("must be a duration from %s to %s", least, most))
	}
	return d
}

// ownCertificates follows the files, if there are any: a cluster that gives the
// public manager's server its certificates gives them to this one too.
func (r *reader) ownCertificates(directory string) bool {
	switch value := r.text(EnvCertificates, ""); value {
	case certificatesOwn:
		return true
	case certificatesFiles:
		return false
	case "":
		_, err := os.Stat(filepath.Join(directory, "tls.crt"))
		return err != nil
	default:
		r.refuse(EnvCertificates, value, "must be "+certificatesChoice)
		return true
	}
}
