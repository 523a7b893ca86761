// Package examples tests the example Services: that they are complete, and right
// by the manager's own rules. That each does in a cluster what it says is tested
// in test/e2e.
package examples

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/golden"
	"digitalocean-cloud-controller-manager/internal/lint"
)

const readmeHead = `# Example Services

<!-- Made from the files here by "go test ./examples -run Documentation -update". -->

One feature each, as little as it takes: copy what you need, and put several into
one Service. [docs/annotations.md](../docs/annotations.md) has everything that an
annotation takes; ` + "`ccmctl explain`" + ` says the same, and ` + "`ccmctl lint`" + ` finds mistakes in what
you make of it.

Certificates, addresses and ids are made up: put in your own.

| file | what it shows |
|---|---|
`

func names(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d examples (%v)", len(files), err)
	}
	return files
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDocumentation(t *testing.T) {
	readme := readmeHead
	for _, file := range names(t) {
		title, _, _ := strings.Cut(strings.TrimPrefix(read(t, file), "# "), "\n")
		readme += fmt.Sprintf("| [%s](%s) | %s |\n", file, file, title)
	}
	golden.Check(t, "README.md", readme)
}

func TestEveryExampleIsExplainedAndNamedAsItsFile(t *testing.T) {
	for _, file := range names(t) {
		text := read(t, file)
		lines := strings.Split(text, "\n")
		if !strings.HasPrefix(lines[0], "# ") || lines[1] != "#" || !strings.HasPrefix(lines[2], "# ") {
			t.Errorf("%s doesn't begin with a title and an explanation", file)
		}
		svc := &v1.Service{}
		if err := yaml.UnmarshalStrict([]byte(text), svc); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if svc.Name+".yaml" != file {
			t.Errorf("%s has a Service called %s", file, svc.Name)
		}
	}
}

func TestEveryExampleIsClean(t *testing.T) {
	o := lint.Options{Defaults: annotation.Defaults{Type: annotation.TypeRegionalNetwork}, AnyClass: true}
	for _, file := range names(t) {
		report, err := lint.Check(file, []byte(read(t, file)), o)
		if err != nil || report.Services != 1 {
			t.Errorf("%s: %d Services (%v)", file, report.Services, err)
		}
		for _, finding := range report.Findings {
			if finding.Severity != lint.Note {
				t.Error(finding)
			}
		}
	}
}

// What is deprecated, or written by the manager only, has no example, nor has what
// needs a load balancer of somebody else.
var without = []string{annotation.SizeSlug, annotation.Algorithm, annotation.DefaultsVersion, annotation.StrongCiphers, annotation.Plan, annotation.Manage}

func TestEveryAnnotationHasAnExample(t *testing.T) {
	var all string
	for _, file := range names(t) {
		all += read(t, file)
	}
	for _, d := range annotation.Registry {
		if has := strings.Contains(all, "    "+d.Key+": "); has == slices.Contains(without, d.Key) {
			t.Errorf("%s: has an example: %t", d.Key, has)
		}
	}
}
