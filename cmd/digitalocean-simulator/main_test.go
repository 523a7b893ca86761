package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// readyURL runs the command until the test ends and returns where it serves.
func readyURL(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	cmd := newCommand()
	cmd.SetArgs(append([]string{"--listen", "127.0.0.1:0"}, args...))
	cmd.SetOut(in)
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the command ended with %v", err)
		}
	})
	line := make([]byte, 4096)
	n, err := out.Read(line)
	if err != nil {
		t.Fatalf("no ready line: %v", err)
	}
	match := regexp.MustCompile(`ready at (http://127\.0\.0\.1:[1-9][0-9]*) .*/_simulator/state`).FindSubmatch(line[:n])
	if match == nil {
		t.Fatalf("ready line %q names no address", line[:n])
	}
	return string(match[1])
}

func get(t *testing.T, url, token string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, body
}

func TestServesExampleDropletsToTheTokensItKnows(t *testing.T) {
	url := readyURL(t, "--droplets", "3", "--token", "aaaa1111=blue", "--token", "bbbb2222", "--rate-limit-hour", "7")
	for _, tc := range []struct {
		token         string
		status, total int
	}{
		{"aaaa1111", http.StatusOK, 3},
		{"bbbb2222", http.StatusOK, 0},
		{"cccc3333", http.StatusUnauthorized, 0},
	} {
		resp, body := get(t, url+"/v2/droplets", tc.token)
		var answer struct{ Meta struct{ Total int } }
		if err := json.Unmarshal(body, &answer); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != tc.status || answer.Meta.Total != tc.total {
			t.Errorf("token %s: status %d, total %d; want %d, %d", tc.token, resp.StatusCode, answer.Meta.Total, tc.status, tc.total)
		}
		if got := resp.Header.Get("RateLimit-Limit"); got != "7" {
			t.Errorf("rate limit %s, want 7", got)
		}
	}
}

func TestRefusesFlagsThatMakeNoSense(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none")
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	if err := os.WriteFile(broken, []byte("teams: [{nmae: x}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args   []string
		reason string
	}{
		{[]string{"--latency", "-1s"}, "--latency"},
		{[]string{"--action-duration", "-1s"}, "--action-duration"},
		{[]string{"--droplets", "-1"}, "--droplets"},
		{[]string{"--activation-reads", "-1"}, "--activation-reads"},
		{[]string{"--rate-limit-hour", "-1"}, "--rate-limit-hour"},
		{[]string{"--token", "=team"}, "--token number 1"},
		{[]string{"--token", "secret1=team=droplet"}, `scope "droplet"`},
		{[]string{"--list-lag", "soon"}, "--list-lag soon"},
		{[]string{"--list-lag", "/v2/tags=1s"}, "/v2/load_balancers"},
		{[]string{"--list-lag", "-1s"}, "--list-lag -1s"},
		{[]string{"--limit", "clusters=3"}, "clusters=3"},
		{[]string{"--limit", "droplets=many"}, "droplets=many"},
		{[]string{"--scenario", missing}, "--scenario"},
		{[]string{"--scenario", broken}, "nmae"},
		{[]string{"--load", missing}, "--load"},
		{[]string{"--load", broken}, "--load"},
		{[]string{"--listen", "127.0.0.1:999999"}, "listen on"},
		{[]string{"extra"}, "extra"},
	} {
		var out bytes.Buffer
		cmd := newCommand()
		cmd.SetArgs(tc.args)
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		err := cmd.ExecuteContext(t.Context())
		if err == nil || !strings.Contains(err.Error(), tc.reason) {
			t.Errorf("%v: got %v, want %q", tc.args, err, tc.reason)
		}
		if strings.Contains(out.String(), "secret1") {
			t.Errorf("the token is shown: %s", out.String())
		}
	}
}

const scenario = `
teams:
- name: blue
  droplets: [{name: node, count: 2, tags: [workers]}]
  load_balancers:
  - {name: web, region: nyc3, tag: workers, forwarding_rules: [{entry_protocol: tcp, entry_port: 80, target_protocol: tcp, target_port: 80}]}
`

func TestGoesOnFromASnapshotOfAScenario(t *testing.T) {
	dir := t.TempDir()
	scenarioFile, state := filepath.Join(dir, "scenario.yaml"), filepath.Join(dir, "state.json")
	if err := os.WriteFile(scenarioFile, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	var before, after []byte
	t.Run("first", func(t *testing.T) {
		url := readyURL(t, "--token", "aaaa1111=blue", "--scenario", scenarioFile, "--save", state)
		_, before = get(t, url+"/v2/load_balancers", "aaaa1111")
	})
	t.Run("second", func(t *testing.T) {
		url := readyURL(t, "--token", "aaaa1111=blue", "--load", state)
		_, after = get(t, url+"/v2/load_balancers", "aaaa1111")
	})
	if !bytes.Contains(before, []byte(`"name":"web"`)) || !bytes.Equal(before, after) {
		t.Errorf("before %s\nafter %s", before, after)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestASnapshotThatCannotBeSavedIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cmd := newCommand()
	cmd.SetArgs([]string{"--listen", "127.0.0.1:0", "--save", filepath.Join(t.TempDir(), "no", "such", "folder")})
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	if err := cmd.ExecuteContext(ctx); err == nil {
		t.Error("nobody was told")
	}
}

func TestFlagsReachTheSimulator(t *testing.T) {
	url := readyURL(t, "--droplets", "2", "--token", "aaaa1111=blue=*:read", "--token", "bbbb2222=blue", "--activation-reads", "3", "--limit", "droplets=2",
		"--list-lag", "/v2/droplets=1h", "--busy-window", "7s", "--resize-interval", "2m", "--reject-tokens=false")
	resp, body := get(t, url+"/_simulator/settings", "")
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	for _, want := range []string{
		`"activation_reads":3`, `"droplets":2`, `"/v2/droplets":"1h0m0s"`, `"busy_window":"7s"`, `"resize_interval":"2m0s"`, `"load_balancer_activation":"1m0s"`,
	} {
		if !bytes.Contains(body, []byte(want)) {
			t.Errorf("settings lack %s: %s", want, body)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v2/tags", strings.NewReader(`{"name":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer aaaa1111")
	refused, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer refused.Body.Close()
	if refused.StatusCode != http.StatusForbidden {
		t.Errorf("a token for reading wrote: %s", refused.Status)
	}
}

func TestHelpShowsExamplesAndEveryResource(t *testing.T) {
	for _, flag := range []string{"--help", "--version"} {
		var out bytes.Buffer
		cmd := newCommand()
		cmd.SetArgs([]string{flag})
		cmd.SetOut(&out)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		wanted := []string{"digitalocean-simulator version", "commit"}
		if flag == "--help" {
			wanted = append(resources(), "Examples:", "--load-balancer-activation", "/_simulator/requests", "load balancers", "firewalls")
		}
		for _, want := range wanted {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s lacks %q", flag, want)
			}
		}
	}
}
