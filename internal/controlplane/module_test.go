package controlplane

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// upstreamExample has one of each kind of line that Kubernetes' go.mod has, as
// go mod edit -json prints it.
const upstreamExample = `{
	"Module": {"Path": "k8s.io/kubernetes"},
	"Go": "1.26.0",
	"GoDebug": [{"Key": "default", "Value": "go1.26"}],
	"Require": [
		{"Path": "github.com/spf13/cobra", "Version": "v1.10.2"},
		{"Path": "go.etcd.io/etcd/server/v3", "Version": "v3.7.0", "Indirect": true},
		{"Path": "k8s.io/api", "Version": "v0.0.0"}
	],
	"Replace": [
		{"Old": {"Path": "k8s.io/api"}, "New": {"Path": "./staging/src/k8s.io/api"}},
		{"Old": {"Path": "k8s.io/kubectl"}, "New": {"Path": "./staging/src/k8s.io/kubectl"}},
		{"Old": {"Path": "example.com/fork"}, "New": {"Path": "example.com/ours", "Version": "v1.0.0"}}
	]
}`

func TestModulePinsReleasesInPlaceOfFolders(t *testing.T) {
	var upstream upstreamModule
	if err := json.Unmarshal([]byte(upstreamExample), &upstream); err != nil {
		t.Fatal(err)
	}
	want := `module digitalocean-cloud-controller-manager/hack/controlplane

go 1.26.0

godebug default=go1.26

require (
	go.etcd.io/etcd/server/v3 v3.7.3
	k8s.io/kubernetes v1.36.4
)

replace (
	k8s.io/api => k8s.io/api v0.36.4
	k8s.io/kubectl => k8s.io/kubectl v0.36.4
)
`
	if diff := cmp.Diff(want, upstream.module("1.36.4", "v3.7.3")); diff != "" {
		t.Errorf("go.mod (-want +got):\n%s", diff)
	}
	series, err := upstream.etcdSeries()
	if err != nil || series != "v3.7" {
		t.Errorf("etcd %q, %v, want v3.7", series, err)
	}
	upstream.Require = nil
	if series, err := upstream.etcdSeries(); err == nil {
		t.Errorf("etcd %q of a module that requires none, want an error", series)
	}
}

func TestCheckoutsModuleIsWhatWouldBeGenerated(t *testing.T) {
	dir := findModule()
	if dir == "" {
		t.Fatal("hack/controlplane was not found from the test's folder")
	}
	got, err := os.ReadFile(filepath.Join(dir, "tools.go"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(toolsFile(), string(got)); diff != "" {
		t.Errorf("tools.go, run ccmctl controlplane --update (-want +got):\n%s", diff)
	}
	command, err := findGo(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := command.output(t.Context(), nil, "mod", "edit", "-json")
	if err != nil {
		t.Fatal(err)
	}
	var module upstreamModule
	if err := json.Unmarshal([]byte(text), &module); err != nil {
		t.Fatal(err)
	}
	for _, r := range module.Require {
		if r.Path == kubernetesModule && r.Version != "v"+DefaultVersion {
			t.Errorf("hack/controlplane pins Kubernetes %s, want v%s", r.Version, DefaultVersion)
		}
	}
}

func TestFindModuleLooksUpwardsAndKnowsOurs(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	writeFiles(t, root, map[string]string{
		"hack/controlplane/go.mod":   "module " + moduleName + "\n",
		"a/hack/controlplane/go.mod": "module example.com/other\n",
		"a/b/c/file":                 "",
	})
	if got, want := findModuleFrom(filepath.Join(deep, "c")), filepath.Join(root, "hack", "controlplane"); got != want {
		t.Errorf("found %q, want %q", got, want)
	}
	if got := findModuleFrom(t.TempDir()); got != "" {
		t.Errorf("found %q where there is none", got)
	}
}
