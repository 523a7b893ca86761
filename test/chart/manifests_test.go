package chart

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/deploy"
	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/internal/golden"
)

const manifests = root + "/deploy/manifests/"

// rendered are the manifests for people without Helm, by what of the chart each
// is made of.
var rendered = map[string][]string{
	"rbac.yaml":       {"rbac.yaml"},
	"configmap.yaml":  {"configmap.yaml"},
	"deployment.yaml": {"manager.yaml", "poddisruptionbudget.yaml"},
	"daemonset.yaml":  {"manager.yaml"},

	"admission-rbac.yaml":    {"admission-rbac.yaml"},
	"admission-server.yaml":  {"admission.yaml"},
	"admission-webhook.yaml": {"admission-webhook.yaml"},
	"admission-policy.yaml":  {"admission-policy.yaml"},
}

// renderedWith are the values of those that aren't rendered by default.
var renderedWith = map[string]string{
	"daemonset.yaml":         "kind: DaemonSet",
	"admission-rbac.yaml":    "admission: {enabled: true}",
	"admission-server.yaml":  "admission: {enabled: true}",
	"admission-webhook.yaml": "admission: {enabled: true}",
	"admission-policy.yaml":  "admissionPolicy: {enabled: true}",
}

// header stands above each of them.
const header = "# Rendered from deploy/charts by make generate: change the chart.\n"

// helmsOwn are lines that make sense with Helm only: labels of the release, and
// the checksum of a configuration that people without Helm edit in place.
var helmsOwn = regexp.MustCompile(`(?m)^ *(helm\.sh/chart|app\.kubernetes\.io/managed-by|app\.kubernetes\.io/version|checksum/config): .*\n|^# Source: .*\n`)

var betweenDocuments = regexp.MustCompile(`\n+---\n`)

func withoutHelm(manifest string) string {
	plain := betweenDocuments.ReplaceAllString(helmsOwn.ReplaceAllString(manifest, ""), "\n---\n")
	return header + strings.TrimPrefix(strings.TrimSpace(plain), "---\n") + "\n"
}

func manifest(t *testing.T, templates []string, values string) string {
	t.Helper()
	var args []string
	for _, name := range templates {
		args = append(args, "--show-only", "templates/"+name)
	}
	text, err := template(t, values, args...)
	if err != nil {
		t.Fatal(err)
	}
	return withoutHelm(text)
}

func TestGoldenManifests(t *testing.T) {
	for _, file := range slices.Sorted(maps.Keys(rendered)) {
		t.Run(file, func(t *testing.T) {
			golden.Check(t, manifests+file, manifest(t, rendered[file], renderedWith[file]))
		})
	}
}

// The plain files for Prometheus and Grafana are the chart's too.
func TestGoldenDashboards(t *testing.T) {
	for plain, source := range map[string]string{"alerts.yaml": "alerts.yaml", "dashboard.json": "dashboard.json"} {
		text, err := os.ReadFile(chartPath + "/files/" + source)
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, root+"/deploy/dashboards/"+plain, string(text))
	}
}

func TestTheTestsRunWithTheChartsRoles(t *testing.T) {
	if got, want := string(deploy.RBAC), manifest(t, rendered["rbac.yaml"], ""); got != want {
		t.Error("deploy.RBAC is not what the chart renders: run make generate")
	}
}

func TestTheAPIServerAcceptsTheManifests(t *testing.T) {
	c := startCluster(t)
	files, err := filepath.Glob(manifests + "*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c.accepts(t, string(text))
		})
	}
}

func TestKustomizeBuildsTheManifests(t *testing.T) {
	c := startCluster(t)
	built, err := c.run(t, "", "kustomize", manifests)
	if err != nil {
		t.Fatal(err)
	}
	c.accepts(t, built)
	objects := decode(t, built)
	for _, kind := range []string{"Deployment", "ConfigMap"} {
		if !slices.ContainsFunc(objects, func(o *object) bool { return o.GetKind() == kind }) {
			t.Errorf("no %s", kind)
		}
	}
	// A template of a Secret must not take the place of the real one.
	if slices.ContainsFunc(objects, func(o *object) bool { return o.GetKind() == "Secret" }) {
		t.Error("the Secret's template is among the resources")
	}
}

var kustomization = regexp.MustCompile("(?s)```yaml\n([^`]*?kind: Kustomization\n.*?)```")

func TestTheKustomizationOfTheDocumentIsOne(t *testing.T) {
	c := startCluster(t)
	m := kustomization.FindStringSubmatch(read(t, root+"/docs/getting-started.md"))
	if m == nil {
		t.Fatal("the document has none")
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "my-cluster", "kustomization.yaml"), m[1])
	if err := os.CopyFS(filepath.Join(dir, chartName, "deploy", "manifests"), os.DirFS(manifests)); err != nil {
		t.Fatal(err)
	}
	built, err := c.run(t, "", "kustomize", filepath.Join(dir, "my-cluster"))
	if err != nil {
		t.Fatal(err)
	}
	c.accepts(t, built)
	objects := decode(t, built)
	pod := as[appsv1.Deployment](t, objects, "Deployment", chartName).Spec.Template.Spec
	if image := pod.Containers[0].Image; !strings.HasPrefix(image, "registry.example.com/"+chartName+":v") {
		t.Errorf("the image is %s", image)
	}
	settings := as[v1.ConfigMap](t, objects, "ConfigMap", chartName).Data["config.yaml"]
	known, err := config.Read(lookup(pod.Containers[0].Env), strings.NewReader(settings))
	if err != nil || known.ClusterID != "my-cluster" {
		t.Errorf("%q: %v", settings, err)
	}
}
