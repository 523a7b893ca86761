package chart

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// operatorVersion is that of the Prometheus operator whose types judge the
// monitors and rules.
const operatorVersion = "v0.85.0"

// values reads the cases of the matrix, by their names.
func matrix(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	values := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		values[strings.TrimSuffix(filepath.Base(file), ".yaml")] = string(text)
	}
	return values
}

func TestTheAPIServerAcceptsTheChart(t *testing.T) {
	c := startCluster(t)
	addMonitoringTypes(t, c)
	for name, values := range matrix(t) {
		t.Run(name, func(t *testing.T) {
			manifest, err := template(t, values)
			if err != nil {
				t.Fatal(err)
			}
			c.accepts(t, manifest)
		})
	}
}

func TestTheAPIServerIsStrict(t *testing.T) {
	manifest, err := template(t, "")
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(manifest, "minReadySeconds:", "minReadySecond:", 1)
	if broken == manifest {
		t.Fatal("nothing to break")
	}
	c := startCluster(t)
	if _, err := c.run(t, broken, "create", "--dry-run=server", "--validate=strict", "-f", "-"); err == nil || !strings.Contains(err.Error(), "minReadySecond") {
		t.Errorf("a misspelt field: %v", err)
	}
}

func TestTheChartIsCleanOfLint(t *testing.T) {
	for name, values := range matrix(t) {
		t.Run(name, func(t *testing.T) {
			out := mustHelm(t, "lint", "--strict", chartPath, "--namespace", namespace, "--values", valuesFile(t, values))
			if strings.Contains(out, "[WARNING]") || strings.Contains(out, "[ERROR]") {
				t.Error(out)
			}
		})
	}
}

var monitoringTypes sync.Once

// addMonitoringTypes gives the API server the types of the Prometheus operator.
func addMonitoringTypes(t *testing.T, c cluster) {
	t.Helper()
	monitoringTypes.Do(func() {
		out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/prometheus-operator/prometheus-operator@"+operatorVersion).Output()
		if err != nil {
			t.Fatalf("fetch the Prometheus operator's types: %v: %s", err, out)
		}
		var module struct{ Dir string }
		if err := json.Unmarshal(out, &module); err != nil {
			t.Fatal(err)
		}
		args := []string{"create"}
		for _, kind := range []string{"podmonitors", "servicemonitors", "prometheusrules"} {
			args = append(args, "-f", filepath.Join(module.Dir, "example/prometheus-operator-crd/monitoring.coreos.com_"+kind+".yaml"))
		}
		if _, err := c.run(t, "", args...); err != nil {
			t.Fatal(err)
		}
		if _, err := c.run(t, "", "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"); err != nil {
			t.Fatal(err)
		}
	})
}
