package doapi

import (
	"context"
	"net/http"
)

// guarded asks before each call that may change something.
type guarded struct {
	next http.RoundTripper
	ask  func(context.Context) error
}

func (t *guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		if err := t.ask(req.Context()); err != nil {
			closeBody(req)
			return nil, err
		}
	}
	return t.next.RoundTrip(req)
}
