package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
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
	for _, args := range [][]string{
		{"--latency", "-1s"}, {"--droplets", "-1"}, {"--token", "=team"}, {"--listen", "127.0.0.1:999999"}, {"extra"},
	} {
		cmd := newCommand()
		cmd.SetArgs(args)
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		if err := cmd.ExecuteContext(t.Context()); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}

func TestHelpShowsExamples(t *testing.T) {
	var out bytes.Buffer
	cmd := newCommand()
	cmd.SetArgs([]string{"--help"})
	cmd.SetOut(&out)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Examples:", "--load-balancer-activation", "/_simulator/requests"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help lacks %q", want)
		}
	}
}
