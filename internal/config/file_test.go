package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/limits"
)

const completeFile = `
version: 1
api:
  tokenFile: /run/token
  url: http://127.0.0.1:8080
  rateLimitQPS: 2.5
region: nyc3
metadataURL: http://127.0.0.1:8081/
clusterID: prod
vpcID: 5a4981aa-9653-4bd1-bef5-d6bff52042e4
metricsAddress: 127.0.0.1:9100
debugAddress: ":9101"
driftPeriod: 10m
observeOnly: true
firewall:
  name: k8s-public
  tags: [k8s:worker, k8s]
loadBalancer:
  defaultType: REGIONAL
  targets: tag
  healthCheck: http:9879/healthz
  missing: keep
  nameTemplate: "{{cluster}}-{{namespace}}-{{name}}"
nodes:
  ignore: bare-metal, zone!=x
  deletionBrake: 5,50%
  labelsFromTags: ["pool:*", "env:*"]
`

func TestReadTakesEverySettingFromTheFile(t *testing.T) {
	got, err := Read(environment(nil), strings.NewReader(completeFile))
	if err != nil {
		t.Fatal(err)
	}
	want, err := FromEnvironment(environment(map[string]string{
		EnvTokenFile: "/run/token", EnvAPIURL: "http://127.0.0.1:8080", EnvRateLimit: "2.5", EnvRegion: "nyc3",
		EnvMetadataURL: "http://127.0.0.1:8081/", EnvClusterID: "prod", EnvVPCID: "5a4981aa-9653-4bd1-bef5-d6bff52042e4",
		EnvMetricsAddr: "127.0.0.1:9100", EnvDebugAddr: ":9101", EnvDriftPeriod: "10m", EnvObserveOnly: "true",
		EnvFirewallName: "k8s-public", EnvFirewallTags: "k8s:worker,k8s", EnvDefaultType: "REGIONAL", EnvTargets: "tag", EnvHealthCheck: "http:9879/healthz", EnvMissing: "keep",
		EnvNodeBrake: "5,50%", EnvNodeTags: "pool:*,env:*", EnvNodeIgnore: "bare-metal, zone!=x", EnvNameTemplate: "{{cluster}}-{{namespace}}-{{name}}",
	}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(API{}.Token), sameSelector); diff != "" {
		t.Error(diff)
	}
	if got.DriftPeriod != 10*time.Minute || got.TargetTag != "k8s-backends:prod" || !got.TargetByTag || !got.KeepMissing || got.HealthCheck.Port != 9879 {
		t.Errorf("drift period %v, target tag %q", got.DriftPeriod, got.TargetTag)
	}
	for path := range fileSettings {
		if name := path[strings.LastIndex(path, ".")+1:]; path != "api.token" && !strings.Contains(completeFile, name+":") {
			t.Errorf("this test's file lacks %s", path)
		}
	}
}

// sameSelector compares label selectors as they are written.
var sameSelector = cmp.Comparer(func(a, b labels.Selector) bool { return fmt.Sprint(a) == fmt.Sprint(b) })

func TestReadTakesLimits(t *testing.T) {
	c, err := Read(environment(map[string]string{EnvToken: testToken}), strings.NewReader(`
version: 1
loadBalancer:
  limits:
    tenants:
      namespaces: tenant, tier in (dev, test)
      types: [REGIONAL_NETWORK, REGIONAL]
      networks: EXTERNAL
      projects: 5a4981aa-9653-4bd1-bef5-d6bff52042e4
      maxSizeUnit: 2
      maxLoadBalancersPerNamespace: 0
      maxLoadBalancers: 20
      forbid: [load-balancer-id, ip]
    all:
      maxLoadBalancers: 50
`))
	if err != nil {
		t.Fatal(err)
	}
	tenants, err := labels.Parse("tenant, tier in (dev, test)")
	if err != nil {
		t.Fatal(err)
	}
	want := limits.Limits{{Name: "all", Max: new(50)}, {
		Name: "tenants", Namespaces: tenants, Types: []string{"REGIONAL_NETWORK", "REGIONAL"}, Networks: []string{"EXTERNAL"}, Projects: []string{"5a4981aa-9653-4bd1-bef5-d6bff52042e4"},
		MaxSizeUnit: 2, MaxPerNamespace: new(0), Max: new(20), Forbid: []string{annotation.LoadBalancerID, annotation.IP},
	}}
	if diff := cmp.Diff(want, c.Limits, sameSelector); diff != "" {
		t.Error(diff)
	}
}

func TestReadTakesDefaultsAndClasses(t *testing.T) {
	c, err := Read(environment(map[string]string{EnvToken: testToken}), strings.NewReader(`
version: 1
loadBalancer:
  defaults:
    http-idle-timeout-seconds: 90
    enable-proxy-protocol: true
  classes:
    big: {size-unit: 6}
    empty:
`))
	if err != nil {
		t.Fatal(err)
	}
	want := annotation.Defaults{
		Type:    annotation.TypeRegionalNetwork,
		Values:  map[string]string{annotation.HTTPIdleTimeoutSeconds: "90", annotation.EnableProxyProtocol: "true"},
		Classes: map[string]map[string]string{"big": {annotation.SizeUnit: "6"}, "empty": {}},
	}
	if diff := cmp.Diff(want, c.Defaults); diff != "" {
		t.Error(diff)
	}
}

func TestReadPrefersTheEnvironment(t *testing.T) {
	c, err := Read(environment(map[string]string{EnvToken: testToken, EnvRegion: "fra1", EnvDriftPeriod: "off", EnvTargets: "droplets"}), strings.NewReader(completeFile))
	if err != nil {
		t.Fatal(err)
	}
	if c.Region != "fra1" || c.DriftPeriod != 0 || c.TargetByTag || c.API.TokenFile != "" || c.API.Token.IsZero() {
		t.Errorf("the file won over the environment: %+v", c)
	}
}

func TestReadRefuses(t *testing.T) {
	tests := []struct {
		name, file string
		want       []string
	}{
		{"no version", "region: nyc3", []string{"--cloud-config: version", "must be 1"}},
		{"another version", "version: 2", []string{"--cloud-config: version", `"2"`, "must be 1"}},
		{"an unknown key", "version: 1\nregoin: nyc3", []string{"--cloud-config: regoin", "is region meant?"}},
		{"a section in other letters", "version: 1\nloadbalancer: {limits: {a: {maxSizeUnit: 1}}}", []string{"--cloud-config: loadbalancer", "is loadBalancer meant?"}},
		{"a section at another place", "version: 1\nlimits: {a: {maxSizeUnit: 1}}", []string{"--cloud-config: limits", "is loadBalancer.limits meant?"}},
		{"a second document", "version: 1\n---\nversion: 1\nregion: ams3\n", []string{"--cloud-config must be one YAML document"}},
		{"a second document after an end", "version: 1\n...\nversion: 1\nregion: ams3\n", []string{"--cloud-config is not valid YAML"}},
		{"a second document after an empty one", "---\n# nothing\n---\nversion: 1\nregion: ams3\n", []string{"--cloud-config must be one YAML document"}},
		{"an unknown key far from all", "version: 1\ncolours: red", []string{"--cloud-config: colours", "api.tokenFile"}},
		{"an unknown key in a section", "version: 1\nfirewall: {nam: x}", []string{"--cloud-config: firewall.nam", "is firewall.name meant?"}},
		{"a key twice", "version: 1\nregion: a\nregion: b", []string{"--cloud-config", "region"}},
		{"a section that is a value", "version: 1\napi: x", []string{"--cloud-config: api", "a section"}},
		{"a value that is a section", "version: 1\nregion: {a: b}", []string{"--cloud-config: region", "one value"}},
		{"a bad value names its path", "version: 1\nregion: NYC3", []string{"--cloud-config: region", `"NYC3"`}},
		{"a list with a comma in an entry", "version: 1\nfirewall: {name: fw, tags: ['a,b']}", []string{"--cloud-config: firewall.tags"}},
		{"no YAML", "a: b: c", []string{"--cloud-config", "YAML"}},
		{"a list", "- a", []string{"--cloud-config"}},
		{"an unknown default", "version: 1\nloadBalancer: {defaults: {size-units: 2}}", []string{"--cloud-config: loadBalancer.defaults.size-units", "is size-unit meant?"}},
		{"a bad default", "version: 1\nloadBalancer: {defaults: {size-unit: 0}}", []string{"--cloud-config: loadBalancer.defaults.size-unit", `"0"`, "from 1 to"}},
		{"a default that is a matter of each Service", "version: 1\nloadBalancer: {defaults: {name: web}}", []string{"loadBalancer.defaults.name", "each Service"}},
		{"a list for a default", "version: 1\nloadBalancer: {defaults: {tls-ports: [443]}}", []string{"loadBalancer.defaults.tls-ports", "one value"}},
		{"defaults that are none", "version: 1\nloadBalancer: {defaults: big}", []string{"loadBalancer.defaults", "a section"}},
		{"a bad value in a class", "version: 1\nloadBalancer: {classes: {big: {size-unit: two}}}", []string{"loadBalancer.classes.big.size-unit", `"two"`}},
		{"a bad name of a class", "version: 1\nloadBalancer: {classes: {Big One: {}}}", []string{"loadBalancer.classes.Big One", "lower-case"}},
		{"limits that are none", "version: 1\nloadBalancer: {limits: strict}", []string{"loadBalancer.limits", "a section"}},
		{"a limit that is none", "version: 1\nloadBalancer: {limits: {all: 3}}", []string{"loadBalancer.limits.all", "maxSizeUnit"}},
		{"a limit that restricts nothing", "version: 1\nloadBalancer: {limits: {all: {namespaces: x}}}", []string{"loadBalancer.limits.all", "restrict something"}},
		{"a bad name of a limit", "version: 1\nloadBalancer: {limits: {No One: {maxSizeUnit: 1}}}", []string{"loadBalancer.limits.No One", "lower-case"}},
		{"a restriction without a limit's name", "version: 1\nloadBalancer: {limits: {maxSizeUnit: 1}}", []string{"loadBalancer.limits.maxSizeUnit", "below a name for the limit", "everyone"}},
		{"a default by its whole key", "version: 1\nloadBalancer: {defaults: {service.beta.kubernetes.io/do-loadbalancer-network: INTERNAL}}", []string{"the last part of the annotation alone: network"}},
		{"an unknown restriction", "version: 1\nloadBalancer: {limits: {all: {maxSizeUnits: 1}}}", []string{"loadBalancer.limits.all.maxSizeUnits", "is maxSizeUnit meant?"}},
		{"a restriction without a value", "version: 1\nloadBalancer: {limits: {all: {types: }}}", []string{"loadBalancer.limits.all.types", "or be absent"}},
		{"an empty list", "version: 1\nloadBalancer: {limits: {all: {types: []}}}", []string{"loadBalancer.limits.all.types", "or be absent"}},
		{"a type that isn't there", "version: 1\nloadBalancer: {limits: {all: {types: [NETWORK]}}}", []string{"loadBalancer.limits.all.types", `"NETWORK"`, "REGIONAL_NETWORK"}},
		{"a network that isn't there", "version: 1\nloadBalancer: {limits: {all: {networks: x}}}", []string{"loadBalancer.limits.all.networks", "INTERNAL"}},
		{"a project's name", "version: 1\nloadBalancer: {limits: {all: {projects: [web]}}}", []string{"loadBalancer.limits.all.projects", "UUIDs"}},
		{"a size of nothing", "version: 1\nloadBalancer: {limits: {all: {maxSizeUnit: 0}}}", []string{"loadBalancer.limits.all.maxSizeUnit", "at least 1"}},
		{"a broken number", "version: 1\nloadBalancer: {limits: {all: {maxLoadBalancers: 1.5}}}", []string{"loadBalancer.limits.all.maxLoadBalancers", `"1.5"`}},
		{"a bad selector", "version: 1\nloadBalancer: {limits: {all: {maxSizeUnit: 1, namespaces: 'a in b'}}}", []string{"loadBalancer.limits.all.namespaces", "label selector"}},
		{"an annotation that isn't there", "version: 1\nloadBalancer: {limits: {all: {forbid: [load-balancer-ids]}}}", []string{"loadBalancer.limits.all.forbid", "is load-balancer-id meant?"}},
		{"a bad selector of Nodes", "version: 1\nnodes: {ignore: '='}", []string{"nodes.ignore", "label selector"}},
		{"a bad template", "version: 1\nloadBalancer: {nameTemplate: '{{who}}'}", []string{"loadBalancer.nameTemplate", "{{who}} is none"}},
		{"a template without the cluster that it names", "version: 1\nloadBalancer: {nameTemplate: '{{cluster}}-{{name}}'}", []string{"loadBalancer.nameTemplate", "cluster's id"}},
		{"two problems at once", "version: 1\nregion: NYC3\nx: y", []string{"--cloud-config: region", "--cloud-config: x"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Read(environment(map[string]string{EnvToken: testToken}), strings.NewReader(test.file))
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the message lacks %q: %v", want, err)
				}
			}
		})
	}
}

func TestReadTakesADocumentBetweenMarksAndComments(t *testing.T) {
	c, err := Read(environment(map[string]string{EnvToken: testToken}), strings.NewReader("# ours\n---\nversion: 1\nregion: ams3\n---\n# no more\n"))
	if err != nil || c.Region != "ams3" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestReadTakesAnEmptyFile(t *testing.T) {
	for _, file := range []string{"", "# nothing yet\n", "{}"} {
		if _, err := Read(environment(map[string]string{EnvToken: testToken}), strings.NewReader(file)); err != nil {
			t.Errorf("%q: %v", file, err)
		}
	}
}

func TestReadNeverShowsATokenOfTheFile(t *testing.T) {
	for _, value := range []string{`"` + testToken + ` with blanks"`, "[" + testToken + ", x]", "{" + testToken + ": x}"} {
		_, err := Read(environment(nil), strings.NewReader("version: 1\napi:\n  token: "+value+"\n"))
		if err == nil || strings.Contains(err.Error(), testToken) {
			t.Errorf("token: %s: %v", value, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(completeFile)
	f.Add("version: 1\napi: [1, {a: b}]")
	f.Fuzz(func(t *testing.T, file string) {
		c, err := Read(environment(map[string]string{EnvToken: testToken}), strings.NewReader(file))
		if c == nil && err == nil {
			t.Error("neither settings nor an error")
		}
	})
}
