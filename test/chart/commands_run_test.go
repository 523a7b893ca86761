package chart

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"digitalocean-cloud-controller-manager/internal/controlplane"
	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
	"digitalocean-cloud-controller-manager/test/harness"
)

// TestCommandsOfTheDocumentsWork gives every command of the documents that isn't
// listed with a reason, in their order, to a shell: with the programs, and with a
// cluster and an account that are there for nothing else.
func TestCommandsOfTheDocumentsWork(t *testing.T) {
	all := documented(t)
	p := newPerson(t)
	ran, found := 0, map[string]bool{}
	for _, c := range all {
		found[c.text] = true
		if notRun[c.text] != "" {
			continue
		}
		t.Run(c.file+": "+c.text, func(t *testing.T) { p.give(t, c) })
		ran++
	}
	if ran < 40 {
		t.Errorf("%d of %d commands ran", ran, len(all))
	}
	for text := range notRun {
		if !found[text] {
			t.Errorf("no document has %q any more", text)
		}
	}
	for text := range cares {
		if !found[text] || notRun[text] != "" {
			t.Errorf("%q is not run", text)
		}
	}
}

// person is somebody who follows the documents.
type person struct {
	// at is the checkout, as far as commands need it.
	at  string
	env []string
	// simulator is where one is told to listen.
	simulator string
	token     string
	// background are the programs that were left running.
	background []*exec.Cmd
}

func newPerson(t *testing.T) *person {
	t.Helper()
	p := &person{at: t.TempDir(), simulator: harness.FreeAddress(t), token: filepath.Join(t.TempDir(), "token")}
	t.Cleanup(p.endAll)
	writeFile(t, p.token, token)
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if name := entry.Name(); name != "bin" && name != "dist" && name != ".git" {
			link(t, filepath.Join(root, name), filepath.Join(p.at, name))
		}
	}
	bin := filepath.Join(p.at, "bin")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin+string(filepath.Separator), "./cmd/ccmctl", "./cmd/digitalocean-simulator")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	helm, err := helmBinary()
	if err != nil {
		t.Fatal(err)
	}
	link(t, helm, filepath.Join(bin, "helm"))
	p.meetCluster(t)
	return p
}

// meetCluster starts a cluster and an account.
func (p *person) meetCluster(t *testing.T) {
	t.Helper()
	assets, err := controlplane.Ensure(t.Context(), controlplane.Options{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	plane, err := sandbox.StartControlPlane(t.Context(), assets, sandbox.ControlPlaneOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	api, err := sandbox.StartAPI(t.Context(), simulator.New(simulator.WithToken(token, "team")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Stop() })
	link(t, assets.Kubectl, filepath.Join(p.at, "bin", "kubectl"))
	home := t.TempDir()
	local := filepath.Join(home, ".local", "bin")
	if err := os.MkdirAll(local, 0o700); err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(home, "kubeconfig")
	writeFile(t, kubeconfig, string(plane.Kubeconfig()))
	p.env = []string{
		"HOME=" + home, "KUBECONFIG=" + kubeconfig, "NO_COLOR=1",
		"PATH=" + strings.Join([]string{filepath.Join(p.at, "bin"), local, os.Getenv("PATH")}, string(filepath.ListSeparator)),
		"DO_ACCESS_TOKEN=" + token, "DO_OVERRIDE_URL=" + api.URL(), "REGION=nyc3", "DO_CLUSTER_ID=my-cluster",
	}
	if out, _, err := p.shell(t, p.at, prepared); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// give runs a command with what it needs, and compares what it says with the
// document.
func (p *person) give(t *testing.T, c command) {
	t.Helper()
	if server, ok := strings.CutSuffix(c.text, " &"); ok {
		p.leaveRunning(t, p.adapted(server))
		return
	}
	if _, err := exec.LookPath("curl"); err != nil && strings.HasPrefix(c.text, "curl ") {
		t.Skip(err)
	}
	care := cares[c.text]
	at := p.at
	if len(care.files) > 0 {
		at = t.TempDir()
		for name, text := range care.files {
			writeFile(t, filepath.Join(at, name), text)
		}
		for _, name := range []string{"deploy", "test"} {
			link(t, filepath.Join(p.at, name), filepath.Join(at, name))
		}
	}
	if out, _, err := p.shell(t, at, care.before); err != nil {
		t.Fatalf("%s: %v: %s", care.before, err, out)
	}
	out, code, err := p.shell(t, at, p.adapted(c.text))
	if (err != nil && code < 0) || code != care.code {
		t.Errorf("it ends with %v, want code %d:\n%s", err, care.code, out)
	}
	if c.output != "" && !care.otherOutput && out != c.output {
		t.Errorf("it says\n%s\nand the document\n%s", out, c.output)
	}
	if out, _, err := p.shell(t, at, care.after); err != nil {
		t.Fatalf("%s: %v: %s", care.after, err, out)
	}
}

// leaveRunning starts a server and waits until it is there.
func (p *person) leaveRunning(t *testing.T, text string) {
	t.Helper()
	command := exec.Command("bash", "-c", "exec "+text)
	command.Dir, command.Env = p.at, append(os.Environ(), p.env...)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	p.background = append(p.background, command)
	within(t, 10*time.Second, &lockedBuffer{}, text, func() error {
		connection, err := net.Dial("tcp", p.simulator)
		if err == nil {
			_ = connection.Close()
		}
		return err
	})
}

func (p *person) endAll() {
	for _, command := range p.background {
		_ = command.Process.Kill()
		_ = command.Wait()
	}
}

// adapted puts something in the place of what people must, and only looks at what
// make would do, which takes minutes and is what else is tested.
func (p *person) adapted(text string) string {
	text = strings.NewReplacer("<your image>", "registry.example.com/ccm", "/path/to/token", p.token, "127.0.0.1:8080", p.simulator, "service NAME", "service named").Replace(text)
	if i := strings.Index(" "+text, " make "); i >= 0 {
		text = text[:i] + "make --dry-run --silent " + text[i+len("make "):]
	}
	return text
}

// shell runs a script. The code is -1 where it didn't end by itself.
func (p *person) shell(t *testing.T, at, script string) (out string, code int, err error) {
	t.Helper()
	if script == "" {
		return "", 0, nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	command.Dir, command.Env = at, append(os.Environ(), p.env...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	var both bytes.Buffer
	command.Stdout, command.Stderr = &both, &both
	err = command.Run()
	if exit := (&exec.ExitError{}); err != nil && !errors.As(err, &exit) {
		return both.String(), -1, err
	}
	return both.String(), command.ProcessState.ExitCode(), err
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// link makes a link where nothing is yet.
func link(t *testing.T, to, path string) {
	t.Helper()
	to, err := filepath.Abs(to)
	if err == nil {
		err = os.Symlink(to, path)
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
}
