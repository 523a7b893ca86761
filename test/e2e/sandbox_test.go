package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"digitalocean-cloud-controller-manager/simulator"
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
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("version: 1\nloadBalancer: {defaults: {size-unit: 2}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command, temporary := sandboxCommand(ctx, t, "--env=NODE_IGNORE=pool in (a, b)", "--cloud-config="+config)
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
	// With the manager's settings.
	for _, want := range []string{" NODE_IGNORE='pool in (a, b)'\n", "ccmctl plan --cloud-config=" + config + "\n"} {
		if !strings.Contains(output.String(), want) {
			t.Errorf("%q isn't shown in:\n%s", want, output.String())
		}
	}
	api := regexp.MustCompile(`DigitalOcean is at (\S+)\.\n`).FindStringSubmatch(output.String())
	if api == nil || sizeUnitAt(ctx, t, api[1]) != 2 {
		t.Errorf("the load balancer isn't of the file's size; the API is at %q", api)
	}
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("after SIGINT: %v\n%s", err, output.String())
	}
	checkEmpty(t, temporary)
}

// sizeUnitAt is the size of the only load balancer that an API has.
func sizeUnitAt(ctx context.Context, t *testing.T, api string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, api+"/v2/load_balancers", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer sandbox")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var list struct {
		LoadBalancers []simulator.LoadBalancer `json:"load_balancers"`
	}
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	if len(list.LoadBalancers) != 1 {
		t.Fatalf("%d load balancers", len(list.LoadBalancers))
	}
	return list.LoadBalancers[0].SizeUnit
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
