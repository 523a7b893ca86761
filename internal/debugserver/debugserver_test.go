package debugserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestHandler(t *testing.T) {
	tests := []struct {
		name   string
		err    error
		status int
		body   string
	}{
		{"well", nil, 200, "ok\n"},
		{"not well", errors.New("the API is away"), 503, "the API is away\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			recorder := httptest.NewRecorder()
			Handler(func(context.Context) error { return test.err }).ServeHTTP(recorder, httptest.NewRequest("GET", "/healthz", nil))
			if body := recorder.Body.String(); recorder.Code != test.status || body != test.body {
				t.Errorf("%d %q, want %d %q", recorder.Code, body, test.status, test.body)
			}
		})
	}
}

func TestRememberAsksOnceInItsTime(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	asked := 0
	check := Remember(func(ctx context.Context) error { asked++; return ctx.Err() }, 30*time.Second, clock)
	hungUp, cancel := context.WithCancel(context.Background())
	cancel()
	for range 10 {
		if err := check(hungUp); err != nil {
			t.Errorf("an asker who hung up spoils the answer: %v", err)
		}
	}
	clock.Step(29 * time.Second)
	_ = check(context.Background())
	if asked != 1 {
		t.Errorf("asked %d times within 30 s, want once", asked)
	}
	clock.Step(time.Second)
	_ = check(context.Background())
	if asked != 2 {
		t.Errorf("asked %d times after 30 s, want twice", asked)
	}
}

func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	address, err := Serve(ctx, "test", "127.0.0.1:0", Handler(func(context.Context) error { return nil }))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get("http://" + address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "ok\n" {
		t.Errorf("%q, %v", body, err)
	}
	if _, err := Serve(ctx, "test", address.String(), http.NotFoundHandler()); err == nil {
		t.Error("an address in use is no error")
	}
}
