package chart

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"digitalocean-cloud-controller-manager/internal/golden"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Alerts and dashboards ask for metrics that exist.
func TestMetricsExist(t *testing.T) {
	documented := read(t, root+"/docs/metrics.md")
	pattern := regexp.MustCompile(`digitalocean_ccm_[a-z_]+`)
	for _, file := range []string{"alerts.yaml", "dashboard.json"} {
		used := pattern.FindAllString(read(t, chartPath+"/files/"+file), -1)
		if len(used) < 10 {
			t.Errorf("%s: %q", file, used)
		}
		for _, metric := range used {
			// Histograms have three series each.
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				metric = strings.TrimSuffix(metric, suffix)
			}
			if !strings.Contains(documented, "`"+metric+"`") {
				t.Errorf("%s: docs/metrics.md has no %s", file, metric)
			}
		}
	}
}

func TestTheDashboardHasSomethingInEachPanel(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			Targets []struct{ Expr string }
			GridPos struct{ X, W, H int }
		}
	}
	if err := json.Unmarshal([]byte(read(t, chartPath+"/files/dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 || p.GridPos.H == 0 || p.Type != "row" && (len(p.Targets) == 0 || p.Targets[0].Expr == "") {
			t.Errorf("panel %q: %+v", p.Title, p)
		}
		ids[p.ID] = true
	}
}

type rules struct {
	Groups []struct {
		Rules []struct {
			Alert       string            `json:"alert"`
			Expr        string            `json:"expr"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"rules"`
	} `json:"groups"`
}

// Whoever is woken finds what to do under the alert's name.
func TestEachAlertIsDocumented(t *testing.T) {
	var file rules
	if err := yaml.Unmarshal([]byte(read(t, chartPath+"/files/alerts.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	var alerts []string
	for _, rule := range file.Groups[0].Rules {
		alerts = append(alerts, rule.Alert)
		if !slices.Contains([]string{"critical", "warning", "info"}, rule.Labels["severity"]) || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s: %+v", rule.Alert, rule)
		}
	}
	var headings []string
	for _, m := range regexp.MustCompile(`(?m)^### (DigitalOceanCCM\w+)$`).FindAllStringSubmatch(read(t, root+"/docs/operations.md"), -1) {
		headings = append(headings, m[1])
	}
	if !slices.Equal(alerts, headings) {
		t.Errorf("docs/operations.md has %q, the alerts are %q", headings, alerts)
	}
}

// The chart's README lists every value.
func TestDocumentationOfValues(t *testing.T) {
	var defaults map[string]any
	if err := yaml.UnmarshalStrict([]byte(read(t, chartPath+"/values.yaml")), &defaults); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(readmeIntroduction)
	document(t, &b, readSchema(t), "", defaults, true)
	golden.Check(t, chartPath+"/README.md", b.String())
}

const readmeIntroduction = `# digitalocean-cloud-controller-manager

<!-- Made from values.yaml and values.schema.json by "make generate". -->

The manager, and on demand the admission server, monitors, alerts and a dashboard.
[Getting started](../../../docs/getting-started.md) says how to install it,
[migration](../../../docs/migration.md) how to come from the public manager. A value
that isn't in this list is refused.

| value | meaning | default |
|---|---|---|
`

// document writes a row for each value. Where defaults are told of, each value
// must have one.
func document(t *testing.T, b *strings.Builder, s *schema, path string, defaults map[string]any, told bool) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property, below := s.Properties[name], strings.TrimPrefix(path+"."+name, ".")
		value, has := defaults[name]
		if told && !has && below != "global" {
			t.Errorf("values.yaml has no %s", below)
		}
		if property.Description == "" {
			t.Errorf("%s has no description", below)
		}
		section, _ := value.(map[string]any)
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", below, strings.ReplaceAll(property.description(), "|", `\|`), standard(t, property, value, has))
		if below != "monitoring.podMonitor.tokenSecret" {
			document(t, b, property, below, section, told && below != "config")
		}
	}
	if path != "" {
		return
	}
	for name := range defaults {
		if s.Properties[name] == nil {
			t.Errorf("the schema has no %s", name)
		}
	}
}

func (s *schema) description() string {
	if len(s.Enum) == 0 {
		return s.Description
	}
	var values []string
	for _, value := range s.Enum {
		values = append(values, fmt.Sprintf("`%v`", value))
	}
	return s.Description + " One of " + strings.Join(slices.Compact(values), ", ") + "."
}

// standard is a default as a cell of the table.
func standard(t *testing.T, s *schema, value any, has bool) string {
	t.Helper()
	if !has || value == "" || len(s.Properties) > 0 {
		return ""
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 90 {
		return "see values.yaml"
	}
	return "`" + string(text) + "`"
}
