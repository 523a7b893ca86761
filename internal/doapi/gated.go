package doapi

import (
	"context"
	"net/http"
)

// gated asks before each call that may change something.
type gated struct {
	next  http.RoundTripper
	enter func(context.Context) (leave func(), err error)
}

func (t *gated) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		return t.next.RoundTrip(req)
	}
	leave, err := t.enter(req.Context())
	if err != nil {
		closeBody(req)
		return nil, err
	}
	defer leave() // bodies are read whole before an answer is handed on
	return t.next.RoundTrip(req)
}
