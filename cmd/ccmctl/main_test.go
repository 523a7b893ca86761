package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/internal/version"
)

func execute(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	var out, diagnostics bytes.Buffer
	cmd := newCommand()
	cmd.SetOut(&out)
	cmd.SetErr(&diagnostics)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestControlPlanePrintsTheFolderAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBEBUILDER_ASSETS", dir)
	out, err := execute(t, "controlplane")
	if diff := cmp.Diff(dir+"\n", out); err != nil || diff != "" {
		t.Errorf("%v, output (-want +got):\n%s", err, diff)
	}
}

func TestWhatMakesNoSenseIsRefusedBeforeAnythingStarts(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("KUBEBUILDER_ASSETS", t.TempDir())
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no nodes":            {[]string{"sandbox", "--nodes", "0"}, "--nodes must be from 1 to 500, got 0"},
		"too many nodes":      {[]string{"sandbox", "--nodes", "501"}, "--nodes must be from 1 to 500, got 501"},
		"no time":             {[]string{"sandbox", "--timeout", "0s"}, "--timeout must be positive, got 0s"},
		"negative activation": {[]string{"sandbox", "--load-balancer-activation", "-1s"}, "--load-balancer-activation must not be negative, got -1s"},
		"no manager":          {[]string{"sandbox"}, "give its path with --manager"},
		"manager isn't there": {[]string{"sandbox", "--manager", "./nowhere"}, "--manager: "},
		"no programs":         {[]string{"controlplane"}, "there is no program etcd in it"},
		"arguments":           {[]string{"controlplane", "now"}, `unknown command "now"`},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := execute(t, tc.args...)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
			if out != "" {
				t.Errorf("it wrote %q", out)
			}
		})
	}
}

func TestTheVersionIsTheSameAsACommandAndAsAFlag(t *testing.T) {
	want := program + " " + version.Full() + "\n"
	for _, arg := range []string{"version", "--version"} {
		if out, err := execute(t, arg); err != nil || out != want {
			t.Errorf("ccmctl %s: %v, %q, want %q", arg, err, out, want)
		}
	}
}

func TestEveryCommandHasExamples(t *testing.T) {
	for _, cmd := range newCommand().Commands() {
		if !strings.Contains(cmd.Example, "ccmctl "+cmd.Name()) {
			t.Errorf("ccmctl %s has no example of itself", cmd.Name())
		}
	}
}
