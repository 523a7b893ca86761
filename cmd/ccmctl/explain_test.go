package main

import (
	"cmp"
	"strings"
	"testing"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

func TestExplainKnowsEveryAnnotationByAnyName(t *testing.T) {
	list := run(t, "", "explain").out
	for _, d := range annotation.Registry {
		suffix := annotation.Suffix(d.Key)
		if !strings.Contains(list, "\n"+suffix+" ") {
			t.Errorf("the list lacks %s", suffix)
		}
		for _, name := range []string{d.Key, suffix, d.Key[strings.Index(d.Key, "/")+1:]} {
			r := run(t, "", "explain", name)
			if r.err != nil || !strings.HasPrefix(r.out, d.Key+"\n\n") || !strings.Contains(r.out, "\n- Value: ") || !strings.Contains(r.out, "\n- Acts on: ") || !strings.HasSuffix(r.out, "\n- Since: version "+cmp.Or(d.Since, annotation.FirstVersion)+"\n") {
				t.Errorf("%s: %v\n%s", name, r.err, r.out)
			}
			for line := range strings.Lines(r.out) {
				if len(line) > textWidth+1 && strings.Contains(strings.TrimSpace(line), " ") {
					t.Errorf("%s has a line of %d bytes: %s", name, len(line), line)
				}
			}
		}
	}
}

func TestExplainDropsTheMarksAndNothingElse(t *testing.T) {
	if out := run(t, "", "explain", "sticky-sessions-cookie-name").out; !strings.Contains(out, "any of !#$%&'*+-.^_`|~\n") {
		t.Error(out)
	}
	if out := run(t, "", "explain", "network").out; strings.Contains(out, "`") || !strings.Contains(out, "Can't be changed once the load balancer exists.") {
		t.Error(out)
	}
	if out := run(t, "", "explain", "size-slug").out; !strings.Contains(out, "- Deprecated: use size-unit: 1 for lb-small") {
		t.Error(out)
	}
}

func TestExplainKnowsAnnotationsOfSinglePorts(t *testing.T) {
	for _, d := range annotation.Registry {
		for _, port := range []string{"443", "web"} {
			r := run(t, "", "explain", annotation.Suffix(d.Key)+"."+port)
			if !d.PerPort {
				if r.code != 1 || !strings.Contains(r.err.Error(), "can't be set for single ports") {
					t.Errorf("%s: %v\n%s", d.Key, r.err, r.out)
				}
				continue
			}
			if r.err != nil || !strings.HasPrefix(r.out, d.Key+"."+port+"\n\nFor the Service's TCP port "+port+" alone") || !strings.Contains(r.out, "\n- Value: ") {
				t.Errorf("%s: %v\n%s", d.Key, r.err, r.out)
			}
			if whole := run(t, "", "explain", d.Key+"."+port); whole.out != r.out {
				t.Errorf("by its key %s reads:\n%s", d.Key, whole.out)
			}
		}
	}
}

func TestExplainSuggestsWhatMayBeMeant(t *testing.T) {
	for name, want := range map[string]string{
		"siz-unit":  "is size-unit meant?",
		"hostnam":   "these have that in their names: hostname",
		"http-port": "these have that in their names: http-ports",
		"service.kubernetes.io/do-loadbalancer-typ": "is type meant?",
		"certificate":           "these have that in their names: certificate-id, certificate-name",
		"xyzzy":                 "the list of all",
		"certificat-id.443":     "is certificate-id.443 meant?",
		"backend-protcol.web":   "is backend-protocol.web meant?",
		"siz-unit.443":          "is size-unit meant?",
		"size-unit.443":         "size-unit can't be set for single ports",
		"certificate-id.70000":  "is certificate-id meant?",
		"certificate-id.a.port": "is certificate-id.port meant?",
		"":                      "the list of all",
	} {
		r := run(t, "", "explain", name)
		if r.code != 1 || !strings.Contains(r.err.Error(), want) || r.out != "" {
			t.Errorf("%q: %v, want %q; it wrote %q", name, r.err, want, r.out)
		}
	}
}

func TestTheShellCompletes(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"commands":           {[]string{""}, "explain\t"},
		"annotations":        {[]string{"explain", "size"}, "size-unit\tThe number of nodes"},
		"whole keys":         {[]string{"explain", "service.beta.kubernetes.io/do-loadbalancer-size-u"}, "service.beta.kubernetes.io/do-loadbalancer-size-unit\t"},
		"formats":            {[]string{"lint", "-o", ""}, "sarif\n"},
		"types":              {[]string{"lint", "--default-type", ""}, "REGIONAL_NETWORK\n"},
		"files of manifests": {[]string{"lint", ""}, "yaml\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if r := run(t, "", append([]string{"__complete"}, test.args...)...); !strings.Contains(r.out, test.want) {
				t.Errorf("%v\n%s", r.err, r.out)
			}
		})
	}
}

func TestAPluginSpeaksOfWhatWasTyped(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"lint", "--help"}, {"explain", "--help"}, {"sandbox", "--help"}, {"controlplane", "--help"}} {
		var out strings.Builder
		cmd := newCommand()
		asPlugin(cmd)
		cmd.SetOut(&out)
		cmd.SetArgs(args)
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); !strings.Contains(text, "  kubectl do-ccm ") || strings.Contains(strings.ReplaceAll(text, "beside ccmctl", ""), "ccmctl") {
			t.Errorf("%v:\n%s", args, text)
		}
	}
}

func TestTheVersionIsShown(t *testing.T) {
	if r := run(t, "", "--version"); r.err != nil || !strings.HasPrefix(r.out, "ccmctl ") || !strings.Contains(r.out, "(commit ") {
		t.Errorf("%v: %s", r.err, r.out)
	}
}
