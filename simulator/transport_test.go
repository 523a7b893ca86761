package simulator_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"digitalocean-cloud-controller-manager/simulator"
)

func TestTransport(t *testing.T) {
	tests := []struct {
		name   string
		fault  *simulator.Fault
		status int
		body   string
		err    error
	}{
		{"an answer", nil, 200, `"account"`, nil},
		{"an error", &simulator.Fault{Status: 503, Body: "busy"}, 503, "busy", nil},
		{"a cut connection", &simulator.Fault{Reset: true}, 0, "", io.ErrUnexpectedEOF},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := simulator.New()
			if test.fault != nil {
				s.AddFault(*test.fault)
			}
			req, err := http.NewRequestWithContext(t.Context(), "GET", "http://api.test/v2/account", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer dop_v1_x")
			resp, err := (&http.Client{Transport: s.Transport()}).Do(req)
			if !errors.Is(err, test.err) {
				t.Fatalf("error %v, want %v", err, test.err)
			}
			if err != nil {
				return
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != test.status || !strings.Contains(string(body), test.body) {
				t.Errorf("%d %q (%v), want %d with %q", resp.StatusCode, body, err, test.status, test.body)
			}
		})
	}
}
