package chart

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/admission"
	"digitalocean-cloud-controller-manager/internal/config"
)

// lookup is a container's environment, as far as the chart sets its values.
func lookup(env []v1.EnvVar) func(string) (string, bool) {
	return func(name string) (string, bool) {
		i := slices.IndexFunc(env, func(e v1.EnvVar) bool { return e.Name == name })
		if i < 0 {
			return "", false
		}
		return env[i].Value, true
	}
}

func TestTheProgramsCanUseTheSettings(t *testing.T) {
	for name, values := range matrix(t) {
		t.Run(name, func(t *testing.T) {
			objects := render(t, values)
			var file string
			for _, o := range objects {
				if o.GetKind() == "ConfigMap" && !strings.HasSuffix(o.GetName(), "-dashboard") {
					file = as[v1.ConfigMap](t, objects, "ConfigMap", o.GetName()).Data["config.yaml"]
				}
			}
			for _, c := range containers(t, objects) {
				if _, err := config.Read(lookup(c.Env), strings.NewReader(file)); err != nil {
					t.Errorf("%s: %v\n%s", c.Name, err, file)
				}
				if c.Name != "admission-server" {
					continue
				}
				if _, err := admission.FromEnvironment(lookup(c.Env)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestSettingsReachTheManager(t *testing.T) {
	objects := render(t, matrix(t)["everything"])
	file := as[v1.ConfigMap](t, objects, "ConfigMap", "do-ccm").Data["config.yaml"]
	c, err := config.Read(lookup(containers(t, objects)[0].Env), strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if c.Region != "nyc3" || c.ClusterID != "my-cluster" || c.API.RateLimitQPS != 12.5 || c.Firewall == nil || len(c.Firewall.Tags) != 2 ||
		c.Nodes.DeletionBrake.Count != 5 || !c.TargetByTag || !c.KeepMissing || len(c.Limits) != 2 || c.DebugAddress != ":12302" {
		t.Errorf("%+v", c)
	}
}

func containers(t *testing.T, objects []*object) []v1.Container {
	t.Helper()
	var found []v1.Container
	for _, o := range objects {
		switch o.GetKind() {
		case "Deployment":
			found = append(found, as[appsv1.Deployment](t, objects, "Deployment", o.GetName()).Spec.Template.Spec.Containers...)
		case "DaemonSet":
			found = append(found, as[appsv1.DaemonSet](t, objects, "DaemonSet", o.GetName()).Spec.Template.Spec.Containers...)
		}
	}
	// The manager's first.
	slices.SortFunc(found, func(a, b v1.Container) int { return strings.Compare(b.Name, a.Name) })
	return found
}

// schema is as much of a JSON schema as the chart's has.
type schema struct {
	Description          string             `json:"description"`
	Properties           map[string]*schema `json:"properties"`
	AdditionalProperties any                `json:"additionalProperties"`
	Enum                 []any              `json:"enum"`
}

func readSchema(t *testing.T) *schema {
	t.Helper()
	text, err := os.ReadFile(chartPath + "/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	s := &schema{}
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// known finds out all settings that may be in the place of one of a configuration
// file: a key that is none is answered with them.
func known(t *testing.T, file string) []string {
	t.Helper()
	_, err := config.Read(func(string) (string, bool) { return "", false }, strings.NewReader(file))
	if err == nil {
		t.Fatal("an unknown setting is no problem")
	}
	_, list, ok := strings.Cut(err.Error(), "there are ")
	if !ok {
		t.Fatal(err)
	}
	list, _, _ = strings.Cut(list, "\n")
	return strings.Split(list, ", ")
}

func TestEverySettingHasAValue(t *testing.T) {
	// What the chart sets itself.
	own := []string{"api.token", "api.tokenFile", "debugAddress"}
	settings := known(t, "{version: 1, qqqqqqqqqqqqqqqq: 1}")
	if len(settings) < 15 {
		t.Fatal(settings)
	}
	var have []string
	leaves(readSchema(t).Properties["config"], "", &have)
	for _, setting := range settings {
		if slices.Contains(have, setting) == slices.Contains(own, setting) {
			t.Errorf("config.%s is in the chart's schema: %t", setting, slices.Contains(have, setting))
		}
	}
	for _, setting := range have {
		if !slices.Contains(settings, setting) {
			t.Errorf("config.%s is no setting of the manager's", setting)
		}
	}
}

func TestEveryRestrictionHasAValue(t *testing.T) {
	restrictions := known(t, "{version: 1, loadBalancer: {limits: {all: {maxSizeUnit: 1, qqqqqqqqqqqqqqqq: 1}}}}")
	limit, ok := readSchema(t).Properties["config"].Properties["loadBalancer"].Properties["limits"].AdditionalProperties.(map[string]any)
	if !ok {
		t.Fatal("the schema has no limits")
	}
	have := slices.Sorted(maps.Keys(limit["properties"].(map[string]any)))
	slices.Sort(restrictions)
	if !slices.Equal(have, restrictions) {
		t.Errorf("the schema's limits have %q, the manager's %q", have, restrictions)
	}
}

func leaves(s *schema, path string, list *[]string) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		below := strings.TrimPrefix(path+"."+name, ".")
		if len(s.Properties[name].Properties) == 0 {
			*list = append(*list, below)
			continue
		}
		leaves(s.Properties[name], below, list)
	}
}

func TestMistakesInValuesAreRefused(t *testing.T) {
	tests := []struct{ name, values, want string }{
		{"a misspelt value", "replica: 3", "replica"},
		{"a misspelt setting", "config: {regoin: nyc3}", "regoin"},
		{"a setting's type", "config: {loadBalancer: {targets: tags}}", "targets"},
		{"half an address of the API server", "kubernetesAPI: {host: 10.0.0.1}", "kubernetesAPI"},
		{"a kind that is none", "kind: StatefulSet", "kind"},
		{"a duration without unit", "leaderElection: {leaseDuration: \"15\"}", "leaseDuration"},
		{"a webhook that blocks", "admission: {enabled: true, webhook: {failurePolicy: Fail}}", "blockServicesWhenAway"},
		{"a firewall without tags", "config: {firewall: {name: public}}", "tags"},
		{"a PodMonitor that could read nothing", "monitoring: {podMonitor: {enabled: true}}", "tokenSecret"},
		{"a policy that warns of what it refuses", "admissionPolicy: {enabled: true, validationActions: [Deny, Warn]}", "twice"},
		{"a policy that does nothing", "admissionPolicy: {enabled: true, validationActions: []}", "validationActions"},
		{"no lease", "extraArgs: {leader-elect: false}", "leader-elect"},
		{"a flag with dashes", "extraArgs: {--profiling: false}", "--profiling"},
		{"a lease that ends before it is renewed", "leaderElection: {leaseDuration: 10s}", "longer than leaderElection.renewDeadline"},
		{"no time to renew the lease", "leaderElection: {renewDeadline: 1m, leaseDuration: 1m30.5s, retryPeriod: 1m1s}", "longer than leaderElection.retryPeriod"},
		{"two listeners on one port", "debug: {port: 10258}", "must differ"},
		{"metrics on another's port", "config: {metricsAddress: ':12301'}", "must differ"},
		{"the token in the environment", "extraEnv: {DO_ACCESS_TOKEN: abc}", "DO_ACCESS_TOKEN"},
		{"a token with a line break", "token: {value: \"abc\\n\"}", "/token/value"},
		{"a name that Kubernetes refuses", "fullnameOverride: My_Manager", "fullnameOverride"},
		{"no settings at all", "config: null", "missing property 'config'"},
		{"no image", "image: {repository: null}", "missing property 'repository'"},
		{"no length of the lease", "leaderElection: {leaseDuration: null}", "missing property 'leaseDuration'"},
		{"a monitor of the loopback address", "{config: {metricsAddress: '127.0.0.1:9000'}, monitoring: {serviceMonitor: {enabled: true}}}", "loopback"},
		{"two monitors", "monitoring: {podMonitor: {enabled: true, tokenSecret: {name: a, key: b}}, serviceMonitor: {enabled: true}}", "twice"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out, err := template(t, test.values)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v with %d bytes, want one with %q", err, len(out), test.want)
			}
		})
	}
}

// What is optional can be left out altogether, as by null.
func TestDefaultsOfPodsCanBeTakenAway(t *testing.T) {
	const values = "{affinity: null, tolerations: null, resources: null, securityContext: null, podSecurityContext: null, priorityClassName: null, " +
		"livenessProbe: null, nodeSelector: null, strategy: null, monitoring: {dashboard: {labels: null}}, admission: {enabled: true, resources: null, webhook: {excludedNamespaces: null}}, admissionPolicy: {enabled: true, excludedNamespaces: null}}"
	pod := as[appsv1.Deployment](t, render(t, values), "Deployment", chartName).Spec.Template.Spec
	if len(pod.Tolerations) > 0 || pod.Containers[0].SecurityContext != nil || len(pod.Containers[0].Resources.Requests) > 0 {
		t.Errorf("%+v", pod)
	}
	if pod.Affinity == nil || pod.Containers[0].LivenessProbe == nil {
		t.Error("affinity and probes have defaults that are more than values")
	}
}

func TestAlertsAreThoseOfTheFile(t *testing.T) {
	rendered, err := template(t, matrix(t)["monitoring"])
	if err != nil {
		t.Fatal(err)
	}
	some, err := template(t, matrix(t)["everything"])
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(`alert: (\w+)`)
	all, fewer := pattern.FindAllString(rendered, -1), pattern.FindAllString(some, -1)
	if len(all) < 10 || len(fewer) != len(all)-1 || strings.Contains(some, "alert: DigitalOceanCCMQuotaLow") {
		t.Errorf("%d alerts, and %d with one disabled", len(all), len(fewer))
	}
	if !strings.Contains(some, "runbook_url: https://runbooks.example.com/#digitaloceanccmabsent") || strings.Contains(rendered, "runbook_url") {
		t.Error("runbook_url")
	}
}
