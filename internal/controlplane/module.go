package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// moduleFor returns the folder of a module that pins the version: the
// checkout's if it does, else one that is generated once and kept.
func moduleFor(ctx context.Context, o Options, command goCommand, rep *reporter) (string, error) {
	dir := o.ModuleDir
	if dir == "" {
		dir = findModule()
	}
	if dir != "" {
		command.dir = dir
		pinned, err := command.output(ctx, nil, "list", "-m", "-f", "{{.Version}}", kubernetesModule)
		if err != nil {
			return "", fmt.Errorf("read the version that %s pins: %w", dir, err)
		}
		if strings.TrimSpace(pinned) == "v"+o.Version {
			return dir, nil
		}
	}
	kept := filepath.Join(o.CacheDir, "modules", o.Version)
	if _, err := os.Stat(filepath.Join(kept, "go.mod")); err == nil {
		return kept, nil
	}
	rep.phase("finding out what Kubernetes "+o.Version+" needs", "", 0)
	if err := generateModule(ctx, command, o.Version, kept); err != nil {
		return "", err
	}
	return kept, nil
}

// findModule looks for a checkout's hack/controlplane, upwards from the working
// directory and from the executable. It is empty if there is none.
func findModule() string {
	var starts []string
	if dir, err := os.Getwd(); err == nil {
		starts = append(starts, dir)
	}
	if exe, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(exe))
	}
	for _, start := range starts {
		if dir := findModuleFrom(start); dir != "" {
			return dir
		}
	}
	return ""
}

func findModuleFrom(dir string) string {
	for {
		candidate := filepath.Join(dir, "hack", "controlplane")
		// Any repository may have a folder of that name: only ours will do.
		data, err := os.ReadFile(filepath.Join(candidate, "go.mod"))
		if err == nil && strings.HasPrefix(string(data), "module "+appName+"/") {
			return candidate
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// UpdateModule rewrites the module in o.ModuleDir (or the one that is found) so
// that it pins o.Version and the newest patch release of the etcd that this
// Kubernetes is made for. It returns the module's folder.
func UpdateModule(ctx context.Context, o Options) (string, error) {
	o, err := o.complete()
	if err != nil {
		return "", err
	}
	dir := o.ModuleDir
	if dir == "" {
		dir = findModule()
	}
	if dir == "" {
		return "", errors.New("there is no hack/controlplane above the working directory: run this in a checkout")
	}
	command, err := findGo("")
	if err != nil {
		return "", err
	}
	rep := newReporter(o.Progress)
	defer rep.close()
	rep.phase("finding out what Kubernetes "+o.Version+" needs", "", 0)
	return dir, generateModule(ctx, command, o.Version, dir)
}

// generateModule writes the module's files into the folder, the last one when
// all are known to be good.
func generateModule(ctx context.Context, command goCommand, kubernetes, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the module of the control plane: %w", err)
	}
	temp, err := os.MkdirTemp(dir, tempPrefix)
	if err != nil {
		return fmt.Errorf("make the module of the control plane: %w", err)
	}
	defer func() { _ = os.RemoveAll(temp) }()
	command.dir = temp
	if err := writeModule(ctx, command, kubernetes); err != nil {
		return fmt.Errorf("make the module of the control plane: %w", err)
	}
	// go.mod last: a folder that has it is complete.
	for _, name := range []string{"tools.go", "go.sum", "go.mod"} {
		if err := os.Rename(filepath.Join(temp, name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("keep the module of the control plane: %w", err)
		}
	}
	return nil
}

// writeModule writes the module's files into the command's folder.
func writeModule(ctx context.Context, command goCommand, kubernetes string) error {
	file := filepath.Join(command.dir, "go.mod")
	if err := os.WriteFile(file, []byte("module "+moduleName+"\n"), 0o644); err != nil {
		return err
	}
	upstream, err := readUpstream(ctx, command, kubernetes)
	if err != nil {
		return err
	}
	etcdQuery, err := upstream.etcdSeries()
	if err != nil {
		return err
	}
	etcdVersion, err := command.output(ctx, nil, "list", "-m", "-f", "{{.Version}}", etcdModule+"@"+etcdQuery)
	if err != nil {
		return err
	}
	text := upstream.module(kubernetes, strings.TrimSpace(etcdVersion))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(command.dir, "tools.go"), []byte(toolsFile()), 0o644); err != nil {
		return err
	}
	_, err = command.output(ctx, nil, "mod", "tidy")
	return err
}

func readUpstream(ctx context.Context, command goCommand, kubernetes string) (upstreamModule, error) {
	var upstream upstreamModule
	path, err := command.output(ctx, nil, "list", "-m", "-f", "{{.GoMod}}", kubernetesModule+"@v"+kubernetes)
	if err != nil {
		return upstream, err
	}
	text, err := command.output(ctx, nil, "mod", "edit", "-json", strings.TrimSpace(path))
	if err != nil {
		return upstream, err
	}
	if err := json.Unmarshal([]byte(text), &upstream); err != nil {
		return upstream, fmt.Errorf("read the go.mod of Kubernetes %s: %w", kubernetes, err)
	}
	return upstream, nil
}

// moduleName is what hack/controlplane calls itself.
const moduleName = appName + "/hack/controlplane"

// upstreamModule is Kubernetes' own go.mod, as go mod edit -json prints it.
type upstreamModule struct {
	Go      string
	GoDebug []struct{ Key, Value string }
	Require []struct{ Path, Version string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// etcdSeries is the minor release of etcd that Kubernetes is made for, as a
// version query that means its newest patch.
func (u upstreamModule) etcdSeries() (string, error) {
	for _, r := range u.Require {
		if r.Path != etcdModule {
			continue
		}
		v, err := version.ParseSemantic(r.Version)
		if err != nil {
			return "", fmt.Errorf("version of %s: %w", etcdModule, err)
		}
		return fmt.Sprintf("v%d.%d", v.Major(), v.Minor()), nil
	}
	return "", fmt.Errorf("this Kubernetes requires no %s", etcdModule)
}

// module is the go.mod that pins the control plane. Kubernetes replaces its
// parts by folders of its own repository; here each becomes the release that
// was published with it: 0.37.2 of the parts belongs to 1.37.2.
func (u upstreamModule) module(kubernetes, etcdVersion string) string {
	_, rest, _ := strings.Cut(kubernetes, ".")
	part := "v0." + rest
	var b strings.Builder
	fmt.Fprintf(&b, "module %s\n\ngo %s\n", moduleName, u.Go)
	for _, d := range u.GoDebug {
		fmt.Fprintf(&b, "\ngodebug %s=%s\n", d.Key, d.Value)
	}
	fmt.Fprintf(&b, "\nrequire (\n\t%s %s\n\t%s v%s\n)\n\nreplace (\n", etcdModule, etcdVersion, kubernetesModule, kubernetes)
	for _, r := range u.Replace {
		if strings.HasPrefix(r.New.Path, "./staging/") {
			fmt.Fprintf(&b, "\t%s => %s %s\n", r.Old.Path, r.Old.Path, part)
		}
	}
	b.WriteString(")\n")
	return b.String()
}

// toolsFile imports the programs, so that go mod tidy keeps what they need.
func toolsFile() string {
	var b strings.Builder
	b.WriteString("//go:build tools\n\n" +
		"// Package controlplane pins the programs of a Kubernetes control plane, so\n" +
		"// that `go mod tidy` keeps what they need.\n" +
		"package controlplane\n\nimport (\n")
	for _, t := range kubernetesTargets() {
		fmt.Fprintf(&b, "\t_ %q\n", t.pkg)
	}
	b.WriteString(")\n")
	return b.String()
}
