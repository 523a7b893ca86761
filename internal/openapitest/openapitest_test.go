package openapitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPatchesChangeOneMember(t *testing.T) {
	const before = `{"a":{"b":[{"c/d":1}],"x":2}}`
	for name, tc := range map[string]struct {
		change change
		after  string
		reason string
	}{
		"add":            {change{Op: "add", Path: "/a/y", Value: 3.0}, `{"a":{"b":[{"c/d":1}],"x":2,"y":3}}`, ""},
		"replace":        {change{Op: "replace", Path: "/a/b/0/c~1d", Value: "z"}, `{"a":{"b":[{"c/d":"z"}],"x":2}}`, ""},
		"remove":         {change{Op: "remove", Path: "/a/x"}, `{"a":{"b":[{"c/d":1}]}}`, ""},
		"replace none":   {change{Op: "replace", Path: "/a/y"}, "", `no member "y"`},
		"remove none":    {change{Op: "remove", Path: "/a/y"}, "", `no member "y"`},
		"unknown parent": {change{Op: "add", Path: "/z/y"}, "", `nothing at "z"`},
		"past the array": {change{Op: "add", Path: "/a/b/1/y"}, "", `nothing at "1"`},
		"into an array":  {change{Op: "add", Path: "/a/b/0"}, "", "no object"},
		"other":          {change{Op: "move", Path: "/a/x"}, "", "unknown operation"},
		"no pointer":     {change{Op: "add", Path: "a"}, "", "not a pointer"},
	} {
		t.Run(name, func(t *testing.T) {
			var document any
			if err := json.Unmarshal([]byte(before), &document); err != nil {
				t.Fatal(err)
			}
			err := apply(document, []change{tc.change})
			if tc.reason != "" {
				if err == nil || !strings.Contains(err.Error(), tc.reason) {
					t.Fatalf("got %v, want %q", err, tc.reason)
				}
				return
			}
			after, _ := json.Marshal(document)
			if diff := cmp.Diff(tc.after, string(after)); err != nil || diff != "" {
				t.Errorf("%v, (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestADirectoryWithoutADescriptionIsAbsent(t *testing.T) {
	if _, err := Load(t.TempDir()); !errors.Is(err, ErrAbsent) {
		t.Errorf("got %v", err)
	}
}

// answering serves one fixed answer.
func answering(status int, contentType, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	})
}

func TestTheCheckerSeesWhatDoesNotAgree(t *testing.T) {
	d := Find(t)
	const (
		vpc   = `{"vpc":{"id":"5a4981aa-9653-4bd1-bef5-d6bff52042e4","urn":"do:vpc:5a4981aa","name":"a","description":"","region":"nyc3","ip_range":"10.10.0.0/20","created_at":"2020-03-13T19:20:47.442049222Z","default":true}}`
		valid = `{"name":"a","region":"nyc3","forwarding_rules":[{"entry_protocol":"tcp","entry_port":80,"target_protocol":"tcp","target_port":80}]}`
		gone  = `{"id":"not_found","message":"gone"}`
	)
	for name, tc := range map[string]struct {
		method, path, sent string
		status             int
		contentType, body  string
		problems           []string
	}{
		"right":             {"GET", "/v2/vpcs/5a4981aa-9653-4bd1-bef5-d6bff52042e4", "", 200, "application/json", vpc, nil},
		"wrong type":        {"GET", "/v2/vpcs/x", "", 200, "application/json", strings.Replace(vpc, `"a"`, "1", 1), []string{"answer 200"}},
		"error":             {"GET", "/v2/vpcs/x", "", 404, "application/json", gone, nil},
		"error without id":  {"GET", "/v2/vpcs/x", "", 404, "application/json", `{"message":"gone"}`, []string{"answer 404"}},
		"edge":              {"GET", "/v2/vpcs/x", "", 503, "text/plain", "try again", nil},
		"request":           {"POST", "/v2/load_balancers", valid, 422, "application/json", gone, nil},
		"wrong request":     {"POST", "/v2/load_balancers", strings.Replace(valid, "80", `"80"`, 1), 422, "application/json", gone, []string{"request POST"}},
		"wrong query":       {"GET", "/v2/vpcs?per_page=x", "", 200, "application/json", `{"vpcs":[],"links":{},"meta":{"total":0}}`, []string{"request GET"}},
		"list without meta": {"GET", "/v2/vpcs", "", 200, "application/json", `{"vpcs":[]}`, []string{"answer 200"}},
		"unknown path":      {"GET", "/v2/nothing", "", 404, "application/json", gone, []string{"request GET"}},
		"subnets":           {"GET", "/v2/vpcs/x/subnets", "", 404, "application/json", gone, nil},
		"outside":           {"GET", "/metadata/v1/id", "", 200, "text/plain", "1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			byServer, byClient := NewChecker(d, nil), NewChecker(d, nil)
			server := httptest.NewServer(byServer.Handler(answering(tc.status, tc.contentType, tc.body)))
			defer server.Close()
			req, err := http.NewRequestWithContext(t.Context(), tc.method, server.URL+tc.path, strings.NewReader(tc.sent))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			client := &http.Client{Transport: byClient.RoundTripper(http.DefaultTransport)}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != tc.status {
				t.Errorf("status %d, want %d", resp.StatusCode, tc.status)
			}
			checkers := []*Checker{byServer}
			if strings.HasPrefix(tc.path, "/v2/") {
				checkers = append(checkers, byClient)
			}
			for _, c := range checkers {
				got := c.Problems()
				if len(got) != len(tc.problems) {
					t.Fatalf("problems %q, want %q", got, tc.problems)
				}
				for i := range got {
					if !strings.HasPrefix(got[i], tc.problems[i]) {
						t.Errorf("problem %q, want %q", got[i], tc.problems[i])
					}
				}
			}
		})
	}
}

func TestAnswersSpoiledOnPurposeAreNotLookedAt(t *testing.T) {
	spoiled := true
	c := NewChecker(Find(t), func() bool { return spoiled })
	handler := c.Handler(answering(200, "application/json", `{"vpcs":`))
	ask := func() {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v2/vpcs", nil))
	}
	ask()
	if c.Checked() != 0 || len(c.Problems()) != 0 {
		t.Errorf("looked at %d: %q", c.Checked(), c.Problems())
	}
	spoiled = false
	ask()
	if c.Checked() != 1 || len(c.Problems()) != 1 {
		t.Errorf("looked at %d: %q", c.Checked(), c.Problems())
	}
}
