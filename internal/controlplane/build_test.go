package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// tinyModule is a module of two programs that share a package.
func tinyModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"go.mod":       "module tiny\n\ngo 1.26\n",
		"name/name.go": "package name\n\nvar Of = \"unknown\"\n",
		"one/main.go":  "package main\n\nimport \"tiny/name\"\n\nfunc main() { println(\"one\", name.Of) }\n",
		"two/main.go":  "package main\n\nimport \"tiny/name\"\n\nfunc main() { println(\"two\", name.Of) }\n",
		"bad/main.go":  "package main\n\nfunc main() { undefined() }\n",
	})
	return dir
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func tinyBuilder(t *testing.T, progress io.Writer) builder {
	t.Helper()
	command, err := findGo(tinyModule(t))
	if err != nil {
		t.Fatal(err)
	}
	rep := newReporter(progress)
	t.Cleanup(rep.close)
	return builder{
		command: command,
		flags:   []string{"-trimpath", "-ldflags", "-X tiny/name.Of=stamped"},
		outDir:  t.TempDir(),
		report:  rep,
	}
}

func TestBuildMakesEachProgramThatIsMissing(t *testing.T) {
	b := tinyBuilder(t, io.Discard)
	kept := filepath.Join(b.outDir, "two")
	if err := os.WriteFile(kept, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := b.build(t.Context(), []target{{"one", "tiny/one"}, {"two", "tiny/two"}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(b.outDir, "one")).CombinedOutput()
	if diff := cmp.Diff("one stamped\n", string(out)); err != nil || diff != "" {
		t.Errorf("the built program says (-want +got), %v:\n%s", err, diff)
	}
	if data, _ := os.ReadFile(kept); string(data) != "#!/bin/sh\n" {
		t.Error("a program that was there already was built again")
	}
	if diff := cmp.Diff([]string{"one", "two"}, names(t, b.outDir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestBuildLeavesNothingBehindWhenAProgramDoesNotCompile(t *testing.T) {
	b := tinyBuilder(t, io.Discard)
	err := b.build(t.Context(), []target{{"one", "tiny/one"}, {"bad", "tiny/bad"}})
	if err == nil || !strings.Contains(err.Error(), "undefined: undefined") {
		t.Errorf("error %v, want the compiler's", err)
	}
	if diff := cmp.Diff([]string{"one"}, names(t, b.outDir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestBuildEndsWithItsContext(t *testing.T) {
	b := tinyBuilder(t, io.Discard)
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted)
	if err := b.compile(ctx, target{"one", "tiny/one"}, nil); !errors.Is(err, interrupted) {
		t.Errorf("error %v, want the context's", err)
	}
	if got := names(t, b.outDir); len(got) != 0 {
		t.Errorf("files %v were left behind", got)
	}
}

// hangingGo is a go command that writes half a program and then hangs, as does
// a child, which ignores SIGINT and holds the pipe open as long as it runs.
const hangingGo = `#!/bin/sh
while [ "$1" != -o ]; do shift; done
echo half > "$2"
(trap '' INT; echo begun >&2; exec sleep 1000 2>&1) > pipe &
wait
`

func TestInterruptedBuildStopsTheGoCommandAndItsChildren(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "go")
	if err := os.WriteFile(path, []byte(hangingGo), 0o755); err != nil {
		t.Fatal(err)
	}
	childEnded := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(pipe) // until nobody can write to it any more
		childEnded <- err
	}()
	command := goCommand{path: path, dir: dir}
	outDir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := command.output(ctx, func(string) bool { cancel(); return true },
		"build", "-o", filepath.Join(outDir, tempPrefix+"one"), "tiny/one")
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want the context's", err)
	}
	if err := <-childEnded; err != nil {
		t.Fatal(err)
	}
	if err := sweep(outDir); err != nil {
		t.Fatal(err)
	}
	if got := names(t, outDir); len(got) != 0 {
		t.Errorf("files %v were left behind", got)
	}
}

func TestBuildCountsWhatItCompiles(t *testing.T) {
	b := tinyBuilder(t, io.Discard)
	// Text that no build cache has seen yet.
	unique := fmt.Sprintf("package name\n\nvar Of = %q\n", b.command.dir+time.Now().String())
	writeFiles(t, b.command.dir, map[string]string{"name/name.go": unique})
	targets := []target{{"one", "tiny/one"}, {"two", "tiny/two"}}
	pending, err := b.plan(t.Context(), targets)
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range []string{"tiny/name", "tiny/one", "tiny/two"} {
		if !pending[pkg] {
			t.Errorf("%s is not among the packages to compile", pkg)
		}
	}
	if err := b.build(t.Context(), targets); err != nil {
		t.Fatal(err)
	}
	b.report.mu.Lock()
	done, total := b.report.now.done, b.report.now.total
	b.report.mu.Unlock()
	if done != len(pending) || total != len(pending) {
		t.Errorf("counted %d of %d packages, want %d of as many", done, total, len(pending))
	}
	if again, err := b.plan(t.Context(), targets); err != nil || len(again) != 0 {
		t.Errorf("still to compile afterwards: %v, %v", again, err)
	}
}

func TestStalePackages(t *testing.T) {
	list := "internal/goarch build ID mismatch\n" +
		"tiny/name stale dependency: internal/goarch\n" +
		"tiny/one not installed but available in build cache\n\n"
	want := map[string]bool{"internal/goarch": true, "tiny/name": true}
	if diff := cmp.Diff(want, stalePackages(list)); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
}

func TestBuildFlagsStampTheVersion(t *testing.T) {
	got, err := buildFlags("1.36.3")
	if err != nil {
		t.Fatal(err)
	}
	const v = "-X k8s.io/component-base/version."
	want := []string{"-trimpath", "-ldflags", "-s -w " + v + "gitVersion=v1.36.3 " + v + "gitMajor=1 " + v + "gitMinor=36"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	return got
}
