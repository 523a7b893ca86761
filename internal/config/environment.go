package config

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
)

// Environment variables. All but the ones marked as ours are those of the
// public manager.
const (
	EnvToken        = "DO_ACCESS_TOKEN"
	EnvTokenFile    = "DO_ACCESS_TOKEN_FILE" // ours
	EnvAPIURL       = "DO_OVERRIDE_URL"
	EnvRateLimit    = "DO_API_RATE_LIMIT_QPS"
	EnvRegion       = "REGION"
	EnvMetadataURL  = "DO_METADATA_URL" // ours
	EnvClusterID    = "DO_CLUSTER_ID"
	EnvVPCID        = "DO_CLUSTER_VPC_ID"
	EnvDefaultType  = "DEFAULT_LB_TYPE"
	EnvFirewallName = "PUBLIC_ACCESS_FIREWALL_NAME"
	EnvFirewallTags = "PUBLIC_ACCESS_FIREWALL_TAGS"
	EnvMetricsAddr  = "METRICS_ADDR"
	EnvDebugAddr    = "DEBUG_ADDR"
	EnvNodeBrake    = "NODE_DELETION_BRAKE"         // ours
	EnvNodeTags     = "NODE_LABELS_FROM_TAGS"       // ours
	EnvNodeIgnore   = "NODE_IGNORE"                 // ours
	EnvDriftPeriod  = "DRIFT_PERIOD"                // ours
	EnvObserveOnly  = "OBSERVE_ONLY"                // ours
	EnvTargets      = "LOAD_BALANCER_TARGETS"       // ours
	EnvHealthCheck  = "LOAD_BALANCER_HEALTH_CHECK"  // ours
	EnvMissing      = "LOAD_BALANCER_MISSING"       // ours
	EnvNameTemplate = "LOAD_BALANCER_NAME_TEMPLATE" // ours
)

// defaultMetadataURL is the link-local address at which a droplet reaches its
// metadata service.
const defaultMetadataURL = "http://169.254.169.254/"

// targetTagPrefix begins the tag that load balancers target.
const targetTagPrefix = "k8s-backends:"

// maxFirewallTags is how many tags DigitalOcean puts a firewall on.
const maxFirewallTags = 5

// maxNameLength bounds a firewall's name and what follows "k8s:" in a tag:
// the API takes up to 255 characters.
const maxNameLength = 255

var (
	uuidPattern     = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	slugPattern     = regexp.MustCompile(`^[a-z0-9]+$`)
	tagPattern      = regexp.MustCompile(`^[a-zA-Z0-9_:-]{1,255}$`)
	firewallPattern = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.-]+$`)
)

// Problem is one setting that can't be used.
type Problem struct {
	// Setting is the environment variable.
	Setting string
	// Value is what was found, or empty where it is unset or secret.
	Value string
	// Allowed says what the setting takes.
	Allowed string
}

// Error implements error: one line that names the setting, its value and what
// is allowed. A token that was put into the wrong setting is left out.
func (p *Problem) Error() string {
	text := fmt.Sprintf("%s: %q is not valid: %s", p.Setting, p.Value, p.Allowed)
	if p.Value == "" {
		text = fmt.Sprintf("%s: %s", p.Setting, p.Allowed)
	}
	return doapi.Scrub(text, "")
}

// FromEnvironment reads the settings from environment variables by lookup
// (usually [os.LookupEnv]). A variable that is set but empty counts as unset,
// as charts render it so. The error joins a [*Problem] for each setting that
// can't be used.
func FromEnvironment(lookup func(string) (string, bool)) (*Config, error) {
	return read(lookup, &file{})
}

// Read reads the settings from a configuration file as well; what the
// environment sets wins over the file. Problems of the file name the path in
// it.
func Read(lookup func(string) (string, bool), configFile io.Reader) (*Config, error) {
	f, err := readFile(configFile)
	if f == nil {
		return nil, err
	}
	c, more := read(lookup, f)
	return c, errors.Join(err, more)
}

func read(lookup func(string) (string, bool), f *file) (*Config, error) {
	r := reader{lookup: lookup, file: f}
	if r.fromEnvironment(EnvToken) || r.fromEnvironment(EnvTokenFile) {
		// Where the token comes from is one setting in two forms.
		delete(f.values, EnvToken)
		delete(f.values, EnvTokenFile)
	}
	if r.fromEnvironment(EnvDefaultType) {
		delete(f.defaults, annotation.Type)
	}
	c := &Config{
		API: API{
			Token:        r.token(),
			TokenFile:    r.text(EnvTokenFile),
			URL:          r.httpURL(EnvAPIURL, ""),
			RateLimitQPS: r.rate(EnvRateLimit),
		},
		Region:      r.matching(EnvRegion, slugPattern, "a region slug such as nyc3: lower-case letters and digits"),
		MetadataURL: r.httpURL(EnvMetadataURL, defaultMetadataURL),
		ClusterID:   r.clusterID(),
		VPCID:       r.matching(EnvVPCID, uuidPattern, "a VPC's UUID in lower case"),
		Defaults: annotation.Defaults{
			Type:    r.oneOf(EnvDefaultType, annotation.TypeRegionalNetwork, annotation.TypeRegional),
			Values:  f.defaults,
			Classes: f.classes,
		},
		Limits:         f.limits,
		NameTemplate:   r.nameTemplate(),
		HealthCheck:    r.healthCheck(),
		KeepMissing:    r.oneOf(EnvMissing, missingRecreate, missingKeep) == missingKeep,
		DriftPeriod:    r.driftPeriod(),
		ObserveOnly:    r.oneOf(EnvObserveOnly, "false", "true") == "true",
		Firewall:       r.firewall(),
		MetricsAddress: r.address(EnvMetricsAddr),
		DebugAddress:   r.address(EnvDebugAddr),
		Nodes: Nodes{
			DeletionBrake: r.brake(),
			TagLabels:     r.tagPatterns(),
			Ignore:        r.ignore(),
		},
	}
	c.TargetTag, c.TargetByTag = r.target()
	r.checkTokenSource(c.API)
	c.Notes = r.notes
	return c, errors.Join(r.problems...)
}

// reader gathers problems while settings are read, so that all are reported
// at once.
type reader struct {
	lookup   func(string) (string, bool)
	file     *file
	problems []error
	notes    []string
	// tokenRefused keeps a token that can't be used from being reported as
	// missing as well.
	tokenRefused bool
}

// raw returns a setting's value: the environment's, or else the file's.
func (r *reader) raw(name string) string {
	if v, _ := r.lookup(name); strings.TrimSpace(v) != "" {
		return v
	}
	return r.file.values[name]
}

func (r *reader) fromEnvironment(name string) bool {
	v, _ := r.lookup(name)
	return strings.TrimSpace(v) != ""
}

func (r *reader) refuse(setting, value, allowed string) {
	if !r.fromEnvironment(setting) && r.file.values[setting] != "" {
		setting = fileName + ": " + pathOf(setting)
	}
	secret := strings.TrimSpace(r.raw(EnvToken)) // of whatever shape
	r.problems = append(r.problems, &Problem{Setting: setting, Value: doapi.Scrub(value, secret), Allowed: allowed})
}

// text returns the variable's value without surrounding white space, which
// files and editors leave behind.
func (r *reader) text(name string) string {
	return strings.TrimSpace(r.raw(name))
}

func (r *reader) matching(name string, pattern *regexp.Regexp, allowed string) string {
	v := r.text(name)
	if v != "" && !pattern.MatchString(v) {
		r.refuse(name, v, "must be "+allowed)
	}
	return v
}

func (r *reader) oneOf(name string, values ...string) string {
	v := r.text(name)
	if v == "" {
		return values[0]
	}
	for _, allowed := range values {
		if v == allowed {
			return v
		}
	}
	r.refuse(name, v, "must be one of "+strings.Join(values, ", "))
	return v
}

func (r *reader) httpURL(name, fallback string) *url.URL {
	v := r.text(name)
	if v == "" {
		v = fallback
	}
	if v == "" {
		return nil
	}
	const allowed = "must be an http or https URL without path, query or user, such as https://api.example.com"
	u, err := url.Parse(v)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
	// The client library resolves some paths against the host alone, so a
	// prefix would be lost for those.
	case strings.Trim(u.Path, "/") != "":
	default:
		u.Path = "/"
		return u
	}
	if u != nil && u.User != nil {
		v = u.Redacted() // a password in a URL is a secret too
	}
	r.refuse(name, v, allowed)
	return nil
}

func (r *reader) rate(name string) float64 {
	v := r.text(name)
	if v == "" {
		return 0
	}
	qps, err := strconv.ParseFloat(v, 64)
	// The upper bound also refuses NaN and infinities.
	if err != nil || !(qps > 0 && qps <= 1000) {
		r.refuse(name, v, "must be requests a second, a number above 0 and at most 1000")
		return 0
	}
	return qps
}

func (r *reader) address(name string) string {
	v := r.text(name)
	if v == "" {
		return ""
	}
	_, port, err := net.SplitHostPort(v)
	if n, convErr := strconv.Atoi(port); err != nil || convErr != nil || n < 0 || n > 65535 {
		r.refuse(name, v, "must be host:port or :port, with a port from 0 to 65535")
	}
	return v
}
