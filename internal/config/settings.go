package config

import (
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

func (r *reader) clusterID() string {
	v := r.text(EnvClusterID)
	if v != "" && (!tagPattern.MatchString(v) || len("k8s:"+v) > maxNameLength) {
		r.refuse(EnvClusterID, v, "must be made of letters, digits, '_', '-' and ':', at most 251 of them, as it becomes part of a tag")
	}
	return v
}

// Bounds of the drift period: more often would spend the quota on looking, and
// less often is what "0" (off) is for.
const (
	defaultDriftPeriod = 5 * time.Minute
	minDriftPeriod     = time.Second
	maxDriftPeriod     = 24 * time.Hour
)

func (r *reader) driftPeriod() time.Duration {
	v := r.text(EnvDriftPeriod)
	switch v {
	case "":
		return defaultDriftPeriod
	case "0", "off":
		return 0
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < minDriftPeriod || d > maxDriftPeriod {
		r.refuse(EnvDriftPeriod, v, `must be a duration from 1s to 24h such as 5m, or "off"`)
		return defaultDriftPeriod
	}
	return d
}

// What load balancers send traffic to.
const (
	targetsDroplets = "droplets"
	targetsTag      = "tag"
)

// target returns the tag that load balancers may target, and whether they are to.
func (r *reader) target() (tag string, wanted bool) {
	if cluster := r.text(EnvClusterID); cluster != "" && len(targetTagPrefix+cluster) <= maxNameLength {
		tag = targetTagPrefix + cluster
	}
	if r.oneOf(EnvTargets, targetsDroplets, targetsTag) != targetsTag || r.text(EnvTargets) != targetsTag {
		return tag, false
	}
	if tag == "" {
		r.refuse(EnvTargets, targetsTag, fmt.Sprintf("must be droplets unless %s is set, of at most %d characters, by which the tag is named", EnvClusterID, maxNameLength-len(targetTagPrefix)))
	}
	return tag, true
}

// What becomes of a Service whose load balancer doesn't exist any more.
const (
	missingRecreate = "recreate"
	missingKeep     = "keep"
)

func (r *reader) healthCheck() loadbalancer.DefaultHealthCheck {
	v := r.text(EnvHealthCheck)
	h, err := loadbalancer.ParseDefaultHealthCheck(v)
	if err != nil {
		r.refuse(EnvHealthCheck, v, "must be tcp, tcp:<port>, http:<port>/<path> or https:<port>/<path>, with a port from 1 to 65535")
	}
	return h
}

func (r *reader) firewall() *Firewall {
	name := r.text(EnvFirewallName)
	tags := splitList(r.text(EnvFirewallTags))
	switch {
	case name == "" && len(tags) == 0:
		return nil
	case name == "":
		r.refuse(EnvFirewallName, "", "must be set as well, since "+EnvFirewallTags+" is")
		return nil
	case len(tags) == 0:
		r.refuse(EnvFirewallTags, "", "must be set as well, since "+EnvFirewallName+" is")
		return nil
	}
	if !firewallPattern.MatchString(name) || len(name) > maxNameLength {
		r.refuse(EnvFirewallName, name, "must start with a letter or digit and go on with letters, digits, '.' and '-', 2 to 255 in all")
	}
	if len(tags) > maxFirewallTags {
		r.refuse(EnvFirewallTags, strings.Join(tags, ","), fmt.Sprintf("must be at most %d tags, as DigitalOcean puts a firewall on no more", maxFirewallTags))
	}
	for _, tag := range tags {
		if !tagPattern.MatchString(tag) {
			r.refuse(EnvFirewallTags, tag, "must be tags separated by commas, each of letters, digits, '_', '-' and ':', at most 255 of them")
		}
	}
	return &Firewall{Name: name, Tags: tags}
}

func (r *reader) tagPatterns() []string {
	patterns := splitList(r.text(EnvNodeTags))
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil {
			r.refuse(EnvNodeTags, p, "must be tag patterns separated by commas, such as pool:* or env:prod")
		}
	}
	return patterns
}

// Defaults of the brake on Node removals: a rolling replacement of a small
// pool passes, a wrong token or an API that forgets things does not.
const (
	defaultBrakeCount   = 3
	defaultBrakePercent = 20
	defaultBrakeWindow  = time.Minute
)

func (r *reader) brake() Brake {
	b := Brake{Count: defaultBrakeCount, Percent: defaultBrakePercent, Window: defaultBrakeWindow}
	v := r.text(EnvNodeBrake)
	switch {
	case v == "":
		return b
	case v == "off":
		b.Off = true
		return b
	}
	count, percent, ok := strings.Cut(v, ",")
	n, errCount := strconv.Atoi(strings.TrimSpace(count))
	p, errPercent := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(percent), "%"))
	if !ok || errCount != nil || errPercent != nil || n < 0 || p < 0 || p > 100 {
		r.refuse(EnvNodeBrake, v, `must be "off" or a count and a percentage such as "3,20%"`)
		return b
	}
	b.Count, b.Percent = n, p
	return b
}

// token reads the token without showing it in any problem.
func (r *reader) token() doapi.Token {
	raw := r.raw(EnvToken)
	if strings.TrimSpace(raw) == "" {
		return doapi.Token{}
	}
	token, notes, err := doapi.NewToken(raw)
	if err != nil {
		r.refuse(EnvToken, "", err.Error())
		r.tokenRefused = true
	}
	for _, note := range notes {
		r.notes = append(r.notes, EnvToken+": "+note)
	}
	return token
}

func (r *reader) checkTokenSource(api API) {
	switch {
	case r.tokenRefused:
	case api.Token.IsZero() && api.TokenFile == "":
		r.refuse(EnvToken, "", "must hold a DigitalOcean API token, or "+EnvTokenFile+" the path of a file with one")
	case !api.Token.IsZero() && api.TokenFile != "":
		r.refuse(EnvTokenFile, api.TokenFile, "must not be set together with "+EnvToken)
	}
	if info, err := os.Stat(api.TokenFile); err == nil && info.IsDir() {
		r.refuse(EnvTokenFile, api.TokenFile, "must be a file, not a directory")
	}
}

// splitList splits at commas and forgives white space and empty entries.
func splitList(s string) []string {
	var list []string
	for _, entry := range strings.Split(s, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			list = append(list, entry)
		}
	}
	return list
}
