package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goodService = `apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, ports: [{port: 80}]}
`

const badService = `apiVersion: v1
kind: Service
metadata:
  name: web
  annotations:
    service.beta.kubernetes.io/do-loadbalancer-size-unit: "0"
spec: {type: LoadBalancer, ports: [{port: 80}]}
`

const oddService = `apiVersion: v1
kind: Service
metadata:
  name: web
  annotations:
    service.beta.kubernetes.io/do-loadbalancer-enable-proxy-protocol: "true"
    service.beta.kubernetes.io/do-loadbalancer-hostname: web.example.com
spec: {type: LoadBalancer, ports: [{port: 80}]}
`

const classService = `apiVersion: v1
kind: Service
metadata:
  name: web
  annotations:
    service.beta.kubernetes.io/do-loadbalancer-class: big
spec: {type: LoadBalancer, ports: [{port: 80}]}
`

// ran is how a command ended.
type ran struct {
	out, diagnostics string
	code             int
	err              error
}

// run runs ccmctl with an input, as main does.
func run(t *testing.T, in string, args ...string) ran {
	t.Helper()
	var out, diagnostics bytes.Buffer
	cmd := newCommand()
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(&out)
	cmd.SetErr(&diagnostics)
	cmd.SetArgs(args)
	r := ran{err: cmd.ExecuteContext(t.Context())}
	if r.err != nil {
		r.code = exitCode(r.err)
	}
	r.out, r.diagnostics = out.String(), diagnostics.String()
	return r
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLintEndsWithACodeThatTells(t *testing.T) {
	classes := write(t, "config.yaml", "version: 1\napi: {tokenFile: /nowhere}\nloadBalancer: {classes: {small: {size-unit: 1}}}\n")
	for name, test := range map[string]struct {
		in   string
		args []string
		code int
		out  string
	}{
		"nothing wrong":            {goodService, []string{"-"}, 0, ""},
		"no Service":               {"kind: ConfigMap\napiVersion: v1\n", []string{"-"}, 0, ""},
		"an error":                 {badService, []string{"-"}, 1, `stdin:6: service.beta.kubernetes.io/do-loadbalancer-size-unit: "0" is not valid: must be a whole number from 1 to 200` + "\n"},
		"a warning":                {oddService, []string{"-"}, 0, "stdin:6: warning: service.beta.kubernetes.io/do-loadbalancer-enable-proxy-protocol"},
		"a strict warning":         {oddService, []string{"-", "--strict"}, 1, "stdin:6: warning: "},
		"another default":          {oddService, []string{"-", "--strict", "--default-type", "REGIONAL"}, 0, "stdin:7: note: "},
		"a class of any name":      {classService, []string{"-", "--strict"}, 0, "stdin:6: note: "},
		"a class that isn't there": {classService, []string{"-", "--cloud-config", classes}, 1, `"big" is not valid: must be one of the classes that the manager's configuration has: small`},
		"no YAML":                  {"a: [", []string{"-"}, 2, ""},
		"no YAML beside an error":  {badService + "---\na: [", []string{"-"}, 2, "stdin:6: "},
		"no file":                  {"", []string{"/does/not/exist"}, 2, ""},
		"a folder":                 {"", []string{t.TempDir()}, 2, ""},
		"no arguments":             {"", nil, 2, ""},
		"no such flag":             {"", []string{"-", "--colour"}, 2, ""},
		"no such format":           {"", []string{"-", "-o", "xml"}, 2, ""},
		"no such type":             {"", []string{"-", "--default-type", "GLOBAL"}, 2, ""},
		"no such configuration":    {"", []string{"-", "--cloud-config", "/does/not/exist"}, 2, ""},
		"a bad configuration":      {"", []string{"-", "--cloud-config", write(t, "bad.yaml", "version: 7\n")}, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, test.in, append([]string{"lint"}, test.args...)...)
			if r.code != test.code {
				t.Errorf("it ended with %d (%v), want %d", r.code, r.err, test.code)
			}
			if !strings.Contains(r.out, test.out) || test.out == "" && r.out != "" {
				t.Errorf("it wrote %q, want %q", r.out, test.out)
			}
			if r.code == exitUnusable && r.err.Error() == "" {
				t.Error("it doesn't say why")
			}
			if strings.Contains(r.out, "\x1b") {
				t.Error("it has colours where there is no terminal")
			}
		})
	}
}

func TestLintLooksAtEveryFile(t *testing.T) {
	first, second := write(t, "first.yaml", badService), write(t, "second.yaml", badService)
	r := run(t, "", "lint", first, "/does/not/exist", second)
	if r.code != exitUnusable || !strings.Contains(r.out, first+":6: ") || !strings.Contains(r.out, second+":6: ") {
		t.Errorf("it ended with %d and wrote %s", r.code, r.out)
	}
	if want := "2 errors and 0 warnings in 2 Services of type LoadBalancer\n"; r.diagnostics != want {
		t.Errorf("its count is %q, want %q", r.diagnostics, want)
	}
}

func TestLintWritesForPrograms(t *testing.T) {
	for _, format := range []string{"json", "sarif"} {
		for _, in := range []string{goodService, badService} {
			r := run(t, in, "lint", "-o", format, "-")
			if !json.Valid([]byte(r.out)) || r.diagnostics != "" {
				t.Errorf("%s: %s%s", format, r.out, r.diagnostics)
			}
			if isBad := in == badService; strings.Contains(r.out, "from 1 to 200") != isBad || (r.code == 1) != isBad {
				t.Errorf("%s: it ended with %d and wrote %s", format, r.code, r.out)
			}
		}
	}
}
