package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"digitalocean-cloud-controller-manager/test/harness"
)

// sandboxCommand is ccmctl sandbox with its own place for temporary files.
func sandboxCommand(ctx context.Context, t *testing.T, args ...string) (command *exec.Cmd, temporary string) {
	t.Helper()
	temporary = t.TempDir()
	command = exec.CommandContext(ctx, programs.CCMCtl, append([]string{"sandbox", "--load-balancer-activation=1s"}, args...)...)
	command.Env = append(os.Environ(), "TMPDIR="+temporary, "KUBEBUILDER_ASSETS="+programs.Assets.Dir)
	return command, temporary
}

func TestSandboxShowsWhatHappensAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var both sync.WaitGroup
	for range 2 { // side by side
		both.Go(func() {
			command, temporary := sandboxCommand(ctx, t, "--exit")
			output, err := command.CombinedOutput()
			if err != nil {
				t.Errorf("sandbox: %v\n%s", err, output)
			}
			for _, want := range []string{"initialised as digitalocean://", "load balancer ", "reachable at "} {
				if !strings.Contains(string(output), want) {
					t.Errorf("%q isn't shown in:\n%s", want, output)
				}
			}
			checkEmpty(t, temporary)
		})
	}
	both.Wait()
}

func TestSandboxStaysUntilItIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	command, temporary := sandboxCommand(ctx, t)
	var output harness.Log
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(output.String(), "export KUBECONFIG=") {
		if ctx.Err() != nil {
			t.Fatalf("no KUBECONFIG line:\n%s", output.String())
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("after SIGINT: %v\n%s", err, output.String())
	}
	checkEmpty(t, temporary)
}

// checkEmpty looks for files that were left, and for processes that work with
// them.
func checkEmpty(t *testing.T, directory string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Error(err)
	}
	for _, entry := range entries {
		t.Errorf("left behind: %s", entry.Name())
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Error(err)
	}
	for _, process := range processes {
		if line, err := os.ReadFile(process); err == nil && strings.Contains(string(line), directory) {
			t.Errorf("left behind: process %s %q", process, line)
		}
	}
}

func TestSandboxFailsWithAReason(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	command, temporary := sandboxCommand(ctx, t, "--exit", "--manager=/bin/false")
	output, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "manager") {
		t.Errorf("with a manager that ends at once: %v\n%s", err, output)
	}
	checkEmpty(t, temporary)
}
