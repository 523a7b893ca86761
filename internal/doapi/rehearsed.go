package doapi

import (
	"errors"
	"io"
	"net/http"
)

// ErrRehearsed is the error of a call that would change something, where nothing
// is to be changed.
var ErrRehearsed = errors.New("not sent, as this manager only observes")

// rehearsed hands calls that would change something over in place of sending
// them.
type rehearsed struct {
	next http.RoundTripper
	tell func(method, path, body string)
}

func (t *rehearsed) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet || req.Method == http.MethodHead {
		return t.next.RoundTrip(req)
	}
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body) // from memory; less of it is less to tell
	}
	closeBody(req)
	t.tell(req.Method, req.URL.Path, string(body))
	return nil, ErrRehearsed
}
