package conformance

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/internal/openapitest"
	"digitalocean-cloud-controller-manager/simulator"
)

// newClient returns a client of a simulator. Where the description is, all that
// it asks and is answered is checked, but for what exempt tells, which is known
// not to be legal.
func newClient(t *testing.T, sim *simulator.Simulator, exempt ...string) *godo.Client {
	t.Helper()
	transport := sim.Transport()
	if d, err := openapitest.Shared(); err == nil {
		checker := openapitest.NewChecker(d, nil)
		transport = checker.RoundTripper(transport)
		t.Cleanup(func() {
			for _, problem := range checker.Problems() {
				if !containsAny(problem, exempt) {
					t.Error(problem)
				}
			}
		})
	} else if !errors.Is(err, openapitest.ErrAbsent) {
		t.Fatal(err)
	} else {
		t.Log("not checked against the API description:", err)
	}
	client, err := godo.New(&http.Client{Transport: transport}, godo.SetBaseURL("https://api.example.com/"),
		godo.SetRequestHeaders(map[string]string{"Authorization": "Bearer " + tokenAll}))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func containsAny(text string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// done takes what a call returns and fails unless the status is the documented
// one.
func done[T any](t *testing.T, status int) func(T, *godo.Response, error) T {
	return func(v T, resp *godo.Response, err error) T {
		t.Helper()
		if err != nil || resp.StatusCode != status {
			t.Fatalf("got %v, want status %d", err, status)
		}
		return v
	}
}

// gone is done for calls without a result: 204.
func gone(t *testing.T) func(*godo.Response, error) {
	return func(resp *godo.Response, err error) {
		t.Helper()
		if err != nil || resp.StatusCode != http.StatusNoContent {
			t.Fatalf("got %v, want status 204", err)
		}
	}
}

// listed fails unless a list has so many items, also by its total where the
// client passes that on.
func listed[T any](t *testing.T, n int) func([]T, *godo.Response, error) []T {
	return func(all []T, resp *godo.Response, err error) []T {
		t.Helper()
		if err != nil || len(all) != n || resp.Meta != nil && resp.Meta.Total != n {
			t.Fatalf("%d items of %+v: %v; want %d", len(all), resp, err, n)
		}
		return all
	}
}

// wantGone fails unless an object is not found.
func wantGone(t *testing.T, err error) {
	t.Helper()
	var refused *godo.ErrorResponse
	if !errors.As(err, &refused) || refused.Response.StatusCode != http.StatusNotFound {
		t.Fatalf("got %v, want 404", err)
	}
}
