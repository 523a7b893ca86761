package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

const (
	kubernetesModule = "k8s.io/kubernetes"
	etcdModule       = "go.etcd.io/etcd/server/v3"
)

// target is a program and the package that it is built from.
type target struct {
	name, pkg string
}

func kubernetesTargets() []target {
	return []target{
		{etcd, etcdModule},
		{kubeAPIServer, kubernetesModule + "/cmd/kube-apiserver"},
		{kubectl, kubernetesModule + "/cmd/kubectl"},
	}
}

// builder builds programs from one module into one folder.
type builder struct {
	command goCommand
	flags   []string
	outDir  string
	report  *reporter
}

// build makes the programs that the folder lacks.
func build(ctx context.Context, o Options, outDir string, rep *reporter) error {
	command, err := findGo("")
	if err != nil {
		return err
	}
	command.dir, err = moduleFor(ctx, o, command, rep)
	if err != nil {
		return err
	}
	flags, err := buildFlags(o.Version)
	if err != nil {
		return err
	}
	b := builder{command: command, flags: flags, outDir: outDir, report: rep}
	return b.build(ctx, kubernetesTargets())
}

// buildFlags stamp the version as Kubernetes' own build does: without it,
// kubectl and clients that compare versions can't read the server's.
func buildFlags(kubernetes string) ([]string, error) {
	v, err := version.ParseSemantic(kubernetes)
	if err != nil {
		return nil, fmt.Errorf("version of Kubernetes: %w", err)
	}
	const stamp = "-X k8s.io/component-base/version."
	ldflags := []string{
		"-s -w",
		stamp + "gitVersion=v" + v.String(),
		fmt.Sprintf("%sgitMajor=%d", stamp, v.Major()),
		fmt.Sprintf("%sgitMinor=%d", stamp, v.Minor()),
	}
	return []string{"-trimpath", "-ldflags", strings.Join(ldflags, " ")}, nil
}

func (b builder) build(ctx context.Context, targets []target) error {
	var due []target
	for _, t := range targets {
		if !executable(filepath.Join(b.outDir, t.name)) {
			due = append(due, t)
		}
	}
	pending, err := b.plan(ctx, due)
	if err != nil {
		return err
	}
	b.report.phase("", "packages", len(pending))
	for i, t := range due {
		b.report.rename(fmt.Sprintf("building %s (program %d of %d)", t.name, i+1, len(due)))
		if err := b.compile(ctx, t, pending); err != nil {
			return err
		}
	}
	return nil
}

// plan returns the packages that are not in Go's build cache yet, fetching the
// modules that they are in.
func (b builder) plan(ctx context.Context, targets []target) (map[string]bool, error) {
	b.report.phase("fetching modules", "so far", 0)
	args := append([]string{"list"}, b.flags...)
	args = append(args, "-deps", "-f", "{{if .Stale}}{{.ImportPath}} {{.StaleReason}}{{end}}")
	for _, t := range targets {
		args = append(args, t.pkg)
	}
	out, err := b.command.output(ctx, b.countDownload, args...)
	if err != nil {
		return nil, err
	}
	return stalePackages(out), nil
}

// stalePackages reads the output of plan's go list: an import path and why the
// package is to be compiled.
func stalePackages(list string) map[string]bool {
	pending := map[string]bool{}
	for line := range strings.Lines(list) {
		path, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
		// A compiled main package that only has to be linked.
		if path != "" && !strings.HasPrefix(reason, "not installed but available") {
			pending[path] = true
		}
	}
	return pending
}

func (b builder) countDownload(line string) bool {
	if !strings.HasPrefix(line, "go: downloading ") {
		return false
	}
	b.report.add(1)
	return true
}

// compile builds one program under a name that nobody looks for, and gives it
// its own when it is complete.
func (b builder) compile(ctx context.Context, t target, pending map[string]bool) error {
	temp := filepath.Join(b.outDir, tempPrefix+t.name)
	defer func() { _ = os.Remove(temp) }() // gone already if all went well
	seen := func(line string) bool {
		if !pending[line] {
			return false
		}
		b.report.add(1)
		return true
	}
	// -v names each package on standard error when it is compiled.
	args := append([]string{"build", "-v"}, b.flags...)
	if _, err := b.command.output(ctx, seen, append(args, "-o", temp, t.pkg)...); err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	if err := os.Rename(temp, filepath.Join(b.outDir, t.name)); err != nil {
		return fmt.Errorf("keep %s: %w", t.name, err)
	}
	return nil
}
