package preview

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// ErrWrite is a write that was not made, as nothing may be.
var ErrWrite = errors.New("this command only reads, and a write was stopped: that is a defect of it")

// NoWrites is for [doapi.Options]: it stops every call that may change something.
func NoWrites(context.Context) (leave func(), err error) { return nil, ErrWrite }

// ReadOnly stops every request to Kubernetes that may change something, before it
// is sent.
func ReadOnly(next http.RoundTripper) http.RoundTripper { return readOnly{next} }

type readOnly struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (r readOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		if req.Body != nil {
			_ = req.Body.Close() // nothing was read
		}
		return nil, fmt.Errorf("%s %s: %w", req.Method, req.URL.Path, ErrWrite)
	}
	return r.next.RoundTrip(req)
}
