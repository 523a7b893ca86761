package doapi

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestHealthFollowsTheAnswers(t *testing.T) {
	good := answer(200, accountBody)
	bad := answer(500, `{"id":"server_error","message":"Unexpected server-side error"}`)
	tests := map[string]struct {
		steps []func() (*http.Response, error)
		ok    bool
		class Class
	}{
		"success":                {steps: []func() (*http.Response, error){good}, ok: true},
		"first answer fails":     {steps: []func() (*http.Response, error){bad}, class: ClassCloud},
		"one failure":            {steps: []func() (*http.Response, error){good, bad}, ok: true},
		"two failures":           {steps: []func() (*http.Response, error){good, bad, bad}, ok: true},
		"three failures":         {steps: []func() (*http.Response, error){good, bad, bad, bad}, class: ClassCloud},
		"failures, not in a row": {steps: []func() (*http.Response, error){good, bad, bad, good, bad, bad}, ok: true},
		"recovered":              {steps: []func() (*http.Response, error){good, bad, bad, bad, good}, ok: true},
		"no connection":          {steps: []func() (*http.Response, error){broken(errReset)}, class: ClassCloud},
		"token refused":          {steps: []func() (*http.Response, error){good, answer(401, refused)}, class: ClassAccount},
		"not found":              {steps: []func() (*http.Response, error){answer(404, notFound)}, ok: true},
		"somebody else's 404":    {steps: []func() (*http.Response, error){answer(404, "<html>nothing here</html>")}, class: ClassCloud},
		"throttled":              {steps: []func() (*http.Response, error){answer(429, tooMany, "Retry-After: 1")}, ok: true},
		"no permission":          {steps: []func() (*http.Response, error){answer(403, `{"id":"forbidden","message":"You are not authorized to perform this operation"}`)}, ok: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := clientOn(t, answers(tc.steps...))
				if h := client.Health(); !h.Checked.IsZero() || h.OK {
					t.Errorf("before any answer: %+v", h)
				}
				ctx := withPolicy(t.Context(), retryPolicy{attempts: 1})
				for range tc.steps {
					time.Sleep(time.Second)
					_ = get(ctx, client)
				}
				h := client.Health()
				if h.OK != tc.ok || h.Class != tc.class || (h.Message == "") != tc.ok || !h.Checked.Equal(time.Now()) {
					t.Errorf("health %+v, want OK %v, class %q", h, tc.ok, tc.class)
				}
			})
		})
	}
}

func TestHealthChangesAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, log := withLog(t.Context(), 0)
		bad := answer(503, "no")
		client := clientOn(t, answers(bad, bad, bad, bad, bad, answer(200, accountBody), answer(200, accountBody)))
		for range 7 {
			_ = get(withPolicy(ctx, retryPolicy{attempts: 1}), client)
		}
		if log.lines("can't be used") != 1 || log.lines("can be used again") != 1 {
			t.Error(log)
		}
	})
}

func TestCanceledCallSaysNothingOfHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientOn(t, network(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := get(ctx, client); err == nil {
			t.Fatal("no error")
		}
		if h := client.Health(); !h.Checked.IsZero() {
			t.Errorf("health %+v", h)
		}
	})
}
