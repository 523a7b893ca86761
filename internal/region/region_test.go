package region

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/simulator"
)

func TestFromMetadata(t *testing.T) {
	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"a region", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ams3")) }, "ams3"},
		{"a region and a newline", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ams3\n")) }, "ams3"},
		{"nothing", func(http.ResponseWriter, *http.Request) {}, ""},
		{"an error", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); _, _ = w.Write([]byte("ams3")) }, ""},
		{"a page of something else", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html><body>welcome</body></html>"))
		}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(test.handler)
			defer server.Close()
			base, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			got, err := FromMetadata(t.Context(), base)
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("%q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	sim := simulator.New()
	token, _, err := doapi.NewToken("dop_v1_test")
	if err != nil {
		t.Fatal(err)
	}
	client, err := doapi.New(doapi.Options{TokenSource: doapi.StaticToken(token), Transport: sim.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(context.Background(), client.Regions, "nyc3"); err != nil {
		t.Errorf("nyc3: %v", err)
	}
	var unknown *UnknownError
	if err := Check(context.Background(), client.Regions, "mars1"); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "mars1") || !strings.Contains(err.Error(), "nyc3") {
		t.Errorf("mars1: %v", err)
	}
	sim.AddFault(simulator.Fault{Status: 403})
	if err := Check(context.Background(), client.Regions, "mars1"); err == nil || errors.As(err, &unknown) {
		t.Errorf("an API that refuses: %v, want an error that leaves it open", err)
	}
}
