package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/golden"
	"digitalocean-cloud-controller-manager/internal/limits"
)

// alone is how manifests are judged without the manager's configuration.
var alone = Options{Defaults: annotation.Defaults{Type: annotation.TypeRegionalNetwork}, AnyClass: true}

// broken are the files of the corpus.
func broken(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.yaml", "*.json"} {
		found, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 9 {
		t.Fatalf("%d files are in the corpus", len(files))
	}
	return files
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestGoldenFindings(t *testing.T) {
	for _, file := range broken(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			report, err := Check(filepath.Base(file), read(t, file), alone)
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			if err := report.WriteText(&text, false); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, file+".txt", text.String()+"# "+report.Summary()+"\n")
		})
	}
}

// Every finding of the corpus is where its file has what it is about.
func TestFindingsAreWhereTheMistakeIs(t *testing.T) {
	for _, file := range broken(t) {
		data := read(t, file)
		report, err := Check(file, data, alone)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(data), "\n")
		for _, f := range report.Findings {
			if !strings.Contains(f.Field, "/") {
				continue // a field's path is not in the file as it is
			}
			if line := lines[f.Line-1]; strings.Contains(string(data), f.Field) && !strings.HasPrefix(strings.TrimPrefix(line[f.Column-1:], `"`), f.Field) {
				t.Errorf("%s: column %d of the line is not at it: %s", f, f.Column, line)
			}
		}
	}
}

func TestGoldenFormats(t *testing.T) {
	report, err := Check("deploy/my service.yaml", read(t, "testdata/tls.yaml"), alone)
	if err != nil {
		t.Fatal(err)
	}
	var asJSON, asSARIF, text strings.Builder
	for _, err := range []error{report.WriteJSON(&asJSON), report.WriteSARIF(&asSARIF, "v0.0.0"), report.WriteText(&text, true)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	golden.Check(t, "testdata/formats/tls.json", asJSON.String())
	golden.Check(t, "testdata/formats/tls.sarif", asSARIF.String())
	golden.Check(t, "testdata/formats/tls.colour", text.String())
}

func TestAnEmptyReportIsStillOne(t *testing.T) {
	var asJSON, asSARIF strings.Builder
	if err := (Report{}).WriteJSON(&asJSON); err != nil || !strings.Contains(asJSON.String(), `"findings": []`) {
		t.Errorf("%v: %s", err, asJSON.String())
	}
	if err := (Report{}).WriteSARIF(&asSARIF, "v"); err != nil || !strings.Contains(asSARIF.String(), `"results": []`) {
		t.Errorf("%v: %s", err, asSARIF.String())
	}
}

func TestABrokenDocumentIsToldAndHidesNoOther(t *testing.T) {
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: LoadBalancer}\n"
	for name, test := range map[string]struct {
		text, want string
		services   int
	}{
		"a tab":                 {"a: b\n---\n" + "x:\n\ty: 1\n---\n" + service, "f.yaml:4: is not YAML: ", 1},
		"a template":            {"{{ if .Values.x }}\na: b\n{{ end }}\n---\n" + service, "render it first", 1},
		"an alias to nothing":   {service + "---\na: *b\n", "is not YAML: ", 1},
		"an anchor of itself":   {"a: &a {<<: *a}\n", "is not YAML: ", 0},
		"an unclosed quotation": {"a: 'b\n", "f.yaml:", 0},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := Check("f.yaml", []byte(test.text), alone)
			if err == nil || !strings.Contains(err.Error(), test.want) || report.Services != test.services {
				t.Errorf("error %v, %d Services; want %q and %d", err, report.Services, test.want, test.services)
			}
		})
	}
}

func TestTheClustersDefaultsCount(t *testing.T) {
	const text = `
apiVersion: v1
kind: Service
metadata:
  name: web
  annotations:
    service.beta.kubernetes.io/do-loadbalancer-class: CLASS
spec: {type: LoadBalancer, ports: [{port: 443}]}
`
	o := Options{Defaults: annotation.Defaults{
		Type: annotation.TypeRegional,
		Classes: map[string]map[string]string{
			"secure": {annotation.TLSPorts: "443"},
			"plain":  {annotation.SizeUnit: "2"},
		},
	}}
	for class, want := range map[string][]string{
		"secure": {annotation.TLSPorts},
		"plain":  nil,
		"other":  {annotation.Class},
	} {
		report, err := Check("f.yaml", []byte(strings.ReplaceAll(text, "CLASS", class)), o)
		if err != nil {
			t.Fatal(err)
		}
		var fields []string
		for _, f := range report.Findings {
			fields = append(fields, f.Field)
			if f.Line < 6 || f.Line > 7 {
				t.Errorf("not at the annotations: %s", f)
			}
		}
		if diff := cmp.Diff(want, fields); diff != "" {
			t.Errorf("class %s: %s", class, diff)
		}
	}
}

func TestACompleteServiceIsClean(t *testing.T) {
	const text = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: LoadBalancer, externalTrafficPolicy: Local, ports: [{port: 80}]}\n"
	for _, kind := range []string{annotation.TypeRegional, annotation.TypeRegionalNetwork} {
		report, err := Check("f.yaml", []byte(text), Options{Defaults: annotation.Defaults{Type: kind}})
		if err != nil || len(report.Findings) > 0 || report.Services != 1 {
			t.Errorf("%s: %v, %+v", kind, err, report)
		}
	}
}

func TestNoServiceOfAFileIsOverlooked(t *testing.T) {
	const service = `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","annotations":{"service.beta.kubernetes.io/do-loadbalancer-size-unit":"x"}},"spec":{"type":"LoadBalancer","ports":[{"port":80}]}}`
	const second = `"metadata"` // begins the second line of a wrapped Service
	wrapped := strings.Replace(service, second, "\n"+second, 1)
	column := strings.Index(service, `"service.beta`) + 1
	wrappedColumn := column - strings.Index(service, second)
	for name, test := range map[string]struct {
		text   string
		places [][2]int
		fails  string
	}{
		"JSON objects in lines":       {service + "\n" + service + "\n", [][2]int{{1, column}, {2, column}}, ""},
		"JSON objects in one line":    {service + service, [][2]int{{1, column}, {1, column + len(service)}}, ""},
		"JSON objects over lines":     {"\n" + wrapped + "\n\n" + wrapped, [][2]int{{3, wrappedColumn}, {6, wrappedColumn}}, ""},
		"JSON with a byte order mark": {"\ufeff" + service + "\r\n" + service, [][2]int{{1, column}, {2, column}}, ""},
		"JSON before YAML":            {service + "\n---\n# more\n" + service, [][2]int{{1, column}, {4, column}}, ""},
		"YAML that begins like JSON":  {"{apiVersion: v1}\n---\n" + service, [][2]int{{3, column}}, ""},
		"the end of a document":       {"a: b\n...\n" + service, nil, "f.yaml:2: is not YAML: "},
		"an end with nothing behind":  {"# first\n" + service + "\n...\n# no more\n", [][2]int{{2, column}}, ""},
		"a separator with content":    {"a: b\n--- " + service, nil, "f.yaml:2: another document begins"},
		"nothing but a comment":       {"# nothing\n---\n# nothing\n", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := Check("f.yaml", []byte(test.text), alone)
			if (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("error %v, want %q", err, test.fails)
			}
			var places [][2]int
			for _, f := range report.Findings {
				places = append(places, [2]int{f.Line, f.Column})
			}
			if diff := cmp.Diff(test.places, places); diff != "" {
				t.Errorf("places (-want +got): %s", diff)
			}
		})
	}
}

func TestFilesOfWindowsHaveURIs(t *testing.T) {
	for name, want := range map[string]string{"C:/a b/x.yaml": "file:///C:/a%20b/x.yaml", "//server/share/x.yaml": "file:////server/share/x.yaml"} {
		if got := reference(name, true); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestFilesHaveURIs(t *testing.T) {
	for file, want := range map[string]string{"a/b c.yaml": "a/b%20c.yaml", "/tmp/x.yaml": "file:///tmp/x.yaml", "stdin": "stdin"} {
		if got := uriOf(file); got != want {
			t.Errorf("%s is %s, want %s", file, got, want)
		}
	}
}

func TestTheOperatorsLimitsCount(t *testing.T) {
	none := 0
	o := Options{
		Defaults: annotation.Defaults{Type: annotation.TypeRegionalNetwork}, AnyClass: true,
		Limits: limits.Limits{
			{Name: "small", MaxSizeUnit: 2, Forbid: []string{annotation.Hostname, annotation.LoadBalancerID}},
			{Name: "selected", Namespaces: labels.Everything(), Max: &none},
		},
	}
	report, err := Check("f.yaml", []byte(`apiVersion: v1
kind: Service
metadata:
  name: web
  annotations:
    `+annotation.SizeUnit+`: "3"
    `+annotation.Hostname+`: web.example.com
    `+annotation.LoadBalancerID+`: 11111111-1111-4111-8111-111111111111
spec:
  type: LoadBalancer
  ports: [{port: 80, protocol: TCP}]
`), o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range report.Findings {
		if strings.Contains(f.Message, `(limit "`) {
			got = append(got, fmt.Sprintf("%d %s %s", f.Line, f.Severity, f.Field))
		}
	}
	want := []string{"6 error " + annotation.SizeUnit, "7 error " + annotation.Hostname, "8 warning " + annotation.LoadBalancerID}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
