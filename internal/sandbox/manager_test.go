package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// script writes a program in place of the manager.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "manager")
	must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755))
	return path
}

// announced is closed when the program has written something.
type announced struct {
	text  bytes.Buffer
	wrote chan struct{}
}

func (a *announced) Write(p []byte) (int, error) {
	if a.text.Len() == 0 {
		defer close(a.wrote)
	}
	return a.text.Write(p)
}

func TestManagerSeesItsOwnSettingsOnly(t *testing.T) {
	t.Setenv("DO_ACCESS_TOKEN", "of a real account")
	t.Setenv("KUBECONFIG", "of a real cluster")
	var log bytes.Buffer
	m, err := StartManager(t.Context(), ManagerOptions{
		Binary:     script(t, `env | grep -E '^(DO_|REGION|KUBECONFIG)' | sort; for a in "$@"; do echo "$a"; done`),
		Kubeconfig: "/tmp/kubeconfig",
		Env:        ManagerEnvironment("http://127.0.0.1:1", "sandbox", "nyc3", "c1"),
		Args:       []string{"--v=4"},
		Log:        &log,
	})
	must(t, err)
	must(t, m.Wait())
	want := []string{
		"DO_ACCESS_TOKEN=sandbox",
		"DO_CLUSTER_ID=c1",
		"DO_OVERRIDE_URL=http://127.0.0.1:1",
		"REGION=nyc3",
		"--kubeconfig=/tmp/kubeconfig",
		"--authentication-kubeconfig=/tmp/kubeconfig",
		"--authorization-kubeconfig=/tmp/kubeconfig",
		"--bind-address=127.0.0.1",
		"--secure-port=" + m.URL()[strings.LastIndex(m.URL(), ":")+1:],
		"--leader-elect=true",
		"--v=4",
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(log.String()), "\n")); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestManagerIsStopped(t *testing.T) {
	for name, tc := range map[string]struct {
		stop func(*Manager, context.CancelFunc) error
		log  string
	}{
		"by Stop":    {func(m *Manager, _ context.CancelFunc) error { return m.Stop() }, "up\ndown\n"},
		"by Kill":    {func(m *Manager, _ context.CancelFunc) error { return m.Kill() }, "up\n"},
		"by context": {func(_ *Manager, cancel context.CancelFunc) error { cancel(); return nil }, "up\ndown\n"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			log := &announced{wrote: make(chan struct{})}
			m, err := StartManager(ctx, ManagerOptions{
				Binary: script(t, `trap 'echo down; exit 0' TERM; echo up; while :; do :; done`),
				Log:    log,
			})
			must(t, err)
			<-log.wrote
			must(t, tc.stop(m, cancel))
			<-m.Done()
			if diff := cmp.Diff(tc.log, log.text.String()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			must(t, m.Stop()) // of one that has ended
		})
	}
}

func TestManagerThatEndsIsWaitedFor(t *testing.T) {
	m, err := StartManager(t.Context(), ManagerOptions{Binary: script(t, "exit 3")})
	must(t, err)
	var exit *exec.ExitError
	if err := m.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("ended with %v, want exit code 3", err)
	}
}

func TestManagerThatIsNoProgram(t *testing.T) {
	if _, err := StartManager(t.Context(), ManagerOptions{Binary: t.TempDir()}); err == nil {
		t.Error("a folder was started")
	}
}

func TestFindManager(t *testing.T) {
	given := script(t, "")
	if got, err := FindManager(given); err != nil || got != given {
		t.Errorf("given: %q, %v", got, err)
	}
	if got, err := FindManager(given + "x"); err == nil {
		t.Errorf("one that isn't there: %q", got)
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if got, err := FindManager(""); err == nil || !strings.Contains(err.Error(), "--manager") {
		t.Errorf("none anywhere: %q, %v", got, err)
	}
	onPath := filepath.Join(dir, ManagerName)
	must(t, os.WriteFile(onPath, nil, 0o755))
	if got, err := FindManager(""); err != nil || got != onPath {
		t.Errorf("on PATH: %q, %v", got, err)
	}
}

func TestLogTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if got := logTail(path); got != "" {
		t.Errorf("of no file: %q", got)
	}
	var text strings.Builder
	for range 10_000 {
		text.WriteString("an old line\n")
	}
	for _, c := range "abcdefghijklmno" {
		text.WriteString("line " + string(c) + "\n")
	}
	must(t, os.WriteFile(path, []byte(text.String()), 0o600))
	got := strings.Split(logTail(path), "\n    ")
	if len(got) != tailLines+1 || got[1] != "line a" || got[tailLines] != "line o" {
		t.Errorf("the tail is %q", got)
	}
}

func TestSettingsCanBePastedIntoAShell(t *testing.T) {
	got := settingsForShell([]string{"REGION=nyc3", "NODE_IGNORE=pool in (a, b)", "X=it's", "EMPTY="})
	if want := `REGION=nyc3 NODE_IGNORE='pool in (a, b)' X='it'\''s' EMPTY=''`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestTheSandboxKeepsItsOwnSettings(t *testing.T) {
	for variable, allowed := range map[string]bool{
		"DRIFT_PERIOD=10s": true, "EMPTY=": true, "DO_ACCESS_TOKEN=x": false, "DO_ACCESS_TOKEN_FILE=/x": false,
		"DO_OVERRIDE_URL=https://api.example.com": false, "REGION=ams3": false, "DRIFT_PERIOD": false, "=x": false,
	} {
		if err := checkEnv([]string{variable}); (err == nil) != allowed {
			t.Errorf("%s: %v", variable, err)
		}
	}
}

func TestHelpNamesWhatThereIs(t *testing.T) {
	text := helpData{
		Kubeconfig: "/t/kubeconfig", KubectlDir: "/c/bin", Service: "example", API: "http://127.0.0.1:9",
		Control: "http://127.0.0.1:9/_simulator/", Token: "sandbox", Log: "/t/manager.log",
		Stop: 1, Delete: 3, StopNode: "node-1", DeleteNode: "node-3",
		Settings: "REGION=nyc3 DO_CLUSTER_ID=c", Program: "/b/ccmctl",
	}.text()
	for _, want := range []string{
		"\n  export KUBECONFIG=/t/kubeconfig\n  export PATH=\"$PATH:/c/bin\"\n",
		"\n  export REGION=nyc3 DO_CLUSTER_ID=c\n  /b/ccmctl plan\n  /b/ccmctl doctor\n",
		"\n  curl -X POST http://127.0.0.1:9/_simulator/droplets/1/stop\n",
		"\n  curl -X DELETE http://127.0.0.1:9/_simulator/droplets/3\n",
		"\n  curl http://127.0.0.1:9/_simulator/requests\n",
		"\nThe manager's log: /t/manager.log\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the help lacks %q:\n%s", want, text)
		}
	}
	if text := (helpData{}).text(); strings.Contains(text, "PATH=") {
		t.Errorf("PATH is changed although kubectl is on it:\n%s", text)
	}
}
