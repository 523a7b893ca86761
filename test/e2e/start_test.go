package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
	"digitalocean-cloud-controller-manager/test/harness"
)

// request makes a request to a server of the test.
func request(ctx context.Context, method, url, token string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, err
}

func (e *environment) get(url string) (int, string, error) {
	resp, err := request(e.ctx, "GET", url, "")
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func writeToken(t *testing.T, token string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	replaceToken(t, file, token)
	return file
}

// replaceToken swaps the file, as a mounted Secret's does.
func replaceToken(t *testing.T, file, token string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

func TestManagerEndsWithOneClearLineWhenItCanNotStart(t *testing.T) {
	e := prepare(t, nil)
	tests := []struct {
		name string
		set  map[string]string
		args []string
		want []string
	}{
		{"no token", map[string]string{"DO_ACCESS_TOKEN": ""}, nil, []string{"DO_ACCESS_TOKEN: must hold a DigitalOcean API token"}},
		{"unknown region", map[string]string{"REGION": "mars1"}, nil, []string{`no region "mars1"`, "nyc3"}},
		{"region that can't be one", map[string]string{"REGION": "New York"}, nil, []string{`REGION: "New York"`}},
		{"several at once", map[string]string{"REGION": "?", "DEFAULT_LB_TYPE": "BIG", "METRICS_ADDR": "nowhere"}, nil,
			[]string{"REGION: ", `DEFAULT_LB_TYPE: "BIG"`, `METRICS_ADDR: "nowhere"`}},
		{"metrics address in use", map[string]string{"METRICS_ADDR": strings.TrimPrefix(e.api.URL(), "http://")}, nil, []string{"METRICS_ADDR", "in use"}},
		{"no region and no metadata service", map[string]string{"REGION": "", "DO_METADATA_URL": "http://127.0.0.1:1"}, nil, []string{"REGION is not set", "metadata"}},
		{"no kubeconfig", nil, []string{"--kubeconfig=/does/not/exist"}, []string{"/does/not/exist"}},
		{"no cloud config", nil, []string{"--cloud-config=/does/not/exist"}, []string{"--cloud-config", "/does/not/exist"}},
		{"another provider", nil, []string{"--cloud-provider=aws"}, []string{"aws"}},
		{"unknown flag", nil, []string{"--no-such-flag"}, []string{"no-such-flag"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(e.ctx, time.Minute)
			defer cancel()
			command := exec.CommandContext(ctx, programs.Manager, append([]string{
				"--kubeconfig=" + e.kubeconfig, "--authentication-kubeconfig=" + e.kubeconfig, "--authorization-kubeconfig=" + e.kubeconfig, "--secure-port=0",
			}, test.args...)...)
			command.Env = e.env()
			for name, value := range test.set {
				command.Env = append(command.Env, name+"="+value)
			}
			output, err := command.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("ended with %v, want exit code 1", err)
			}
			for _, want := range test.want {
				if !strings.Contains(string(output), want) {
					t.Errorf("%q isn't said", want)
				}
			}
			for _, bad := range []string{"goroutine", "panic", token} {
				if strings.Contains(string(output), bad) {
					t.Errorf("the output has %q", bad)
				}
			}
			if t.Failed() {
				t.Logf("output:\n%s", output)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	output, err := exec.Command(programs.Manager, "--version").Output()
	if err != nil || !strings.HasPrefix(string(output), "digitalocean-cloud-controller-manager ") || !strings.Contains(string(output), "commit") {
		t.Errorf("%q, %v", output, err)
	}
}

func TestManagerStartsWithoutTheAPIAndRecovers(t *testing.T) {
	tests := map[string]struct {
		fail, heal func(*environment)
		reason     string
	}{
		"unreachable": {
			func(e *environment) { _ = e.api.Stop() },
			nil, "",
		},
		"in trouble": {
			func(e *environment) { e.sim.AddFault(simulator.Fault{Status: 503, Body: "upstream connect error"}) },
			func(e *environment) { e.sim.ClearFaults() }, "",
		},
		"refuses the token": {
			func(e *environment) { e.sim.RejectTokens(true) },
			func(e *environment) { e.sim.RejectTokens(false) }, "TokenRefused",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			address := harness.FreeAddress(t)
			file := writeToken(t, token+"0")
			e := prepare(t, []simulator.Option{simulator.WithToken(token+"0", team)}, variable("DEBUG_ADDR", address), variable("DO_ACCESS_TOKEN", ""), variable("DO_ACCESS_TOKEN_FILE", file))
			e.addNode(simulator.DropletSpec{Name: "w"}, sandbox.NodeOptions{})
			test.fail(e)
			e.startManager()
			e.eventually(40*time.Second, "not ready", e.answers("http://"+address+"/readyz", 503))
			if test.reason != "" {
				e.event(40*time.Second, "cloud-controller-manager", test.reason, "refuses")
			}
			if node, err := e.node("w"); err != nil || !hasTaint(node, "node.cloudprovider.kubernetes.io/uninitialized") {
				t.Fatalf("initialised without the API (%v)", err)
			}
			if test.heal == nil {
				said := func() error {
					if n := strings.Count(e.log.String(), "Started without DigitalOcean's API"); n != 1 {
						return fmt.Errorf("said %d times that the API is away, want once", n)
					}
					return nil
				}
				e.eventually(30*time.Second, "message", said)
				e.never(15*time.Second, "message", said)
				return
			}
			test.heal(e)
			if test.reason != "" {
				replaceToken(t, file, token) // a changed file is tried at once
			}
			e.eventually(40*time.Second, "ready", e.answers("http://"+address+"/readyz", 200))
			e.eventually(40*time.Second, "healthy", e.answers("http://"+address+"/healthz", 200))
			e.eventually(90*time.Second, "node", e.initialized("w"))
		})
	}
}

func (e *environment) answers(url string, status int) func() error {
	return func() error {
		got, body, err := e.get(url)
		if err == nil && got != status {
			err = fmt.Errorf("%s answers %d: %s", url, got, body)
		}
		return err
	}
}

func TestRegionIsReadFromTheMetadataService(t *testing.T) {
	e := prepare(t, nil, variable("REGION", ""))
	e.variables["DO_METADATA_URL"] = e.api.URL()
	e.addNode(simulator.DropletSpec{Name: "w", Region: "ams3"}, sandbox.NodeOptions{})
	e.startManager()
	e.eventually(40*time.Second, "w", e.initialized("w"))
	e.addService("web", nil)
	if _, lb := e.balanced("web"); lb.Region.Slug != "ams3" {
		t.Errorf("load balancer in %s, want ams3", lb.Region.Slug)
	}
}

func TestMetricsAndHealthAreServed(t *testing.T) {
	metrics, debug := harness.FreeAddress(t), harness.FreeAddress(t)
	e := start(t, nil, variable("METRICS_ADDR", metrics), variable("DEBUG_ADDR", debug))
	e.addNode(simulator.DropletSpec{Name: "w"}, sandbox.NodeOptions{})
	e.eventually(40*time.Second, "w", e.initialized("w"))
	_, body, err := e.get("http://" + metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`digitalocean_ccm_api_requests_total{code="200",endpoint="/v2/regions",method="GET"} 1`,
		"digitalocean_ccm_api_quota_remaining ", "digitalocean_ccm_nodes_deletion_blocked 0", "rest_client_requests_total",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in the metrics", want)
		}
	}
	e.sim.ResetRequests()
	for range 20 {
		e.eventually(time.Second, "healthz", e.answers("http://"+debug+"/healthz", 200))
	}
	if n := len(e.sim.Requests()); n > 2 {
		t.Errorf("20 probes cost %d calls, want at most 2", n)
	}
}

func TestManagerEndsCleanly(t *testing.T) {
	e := start(t, nil)
	e.addNode(simulator.DropletSpec{Name: "w"}, sandbox.NodeOptions{})
	e.eventually(30*time.Second, "w", e.initialized("w"))
	if err := e.manager.Stop(); err != nil {
		t.Error(err)
	}
	if err := e.manager.Wait(); err != nil {
		t.Errorf("ended with %v, want exit code 0", err)
	}
}

func TestTokenIsInNoLogAtAnyVerbosity(t *testing.T) {
	e := prepare(t, nil)
	e.args = []string{"--v=10"}
	e.startManager()
	e.addNode(simulator.DropletSpec{Name: "w"}, sandbox.NodeOptions{})
	e.eventually(30*time.Second, "w", e.initialized("w"))
	e.addService("web", nil)
	e.balanced("web")
	if !strings.Contains(e.log.String(), "/v2/load_balancers") {
		t.Error("the log has no request to DigitalOcean, so it proves nothing")
	}
	// checkLog looks for the token.
}

func TestProviderServesAnotherMain(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "own-main")
	if output, err := exec.Command("go", "build", "-o", binary, "digitalocean-cloud-controller-manager/docs/examples/own-main").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	const nowhere = `{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}],"contexts":[{"name":"c","context":{"cluster":"c"}}]}`
	if err := os.WriteFile(kubeconfig, []byte(nowhere), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(binary, "--kubeconfig="+kubeconfig, "--secure-port=0")
	command.Env = []string{}
	output, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "DO_ACCESS_TOKEN") {
		t.Errorf("without a token: %v\n%s", err, output)
	}
}
