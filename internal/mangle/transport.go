package mangle

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"sync"
)

// Transport passes requests on and mangles the answers, once it has been given a
// change. It is safe for concurrent use.
type Transport struct {
	Next http.RoundTripper

	mu     sync.Mutex
	change *Change
	seen   [][]byte
	hits   int
}

// Begin makes the change in every answer from now on; nil ends it.
func (t *Transport) Begin(change *Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.change, t.hits = change, 0
}

// Hits is how many answers were changed since Begin.
func (t *Transport) Hits() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.hits
}

// Changes are all changes of the fields in the answers so far.
func (t *Transport) Changes() []Change {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Changes(t.seen...)
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.Next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	body = t.answer(body)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, nil
}

func (t *Transport) answer(body []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.change == nil {
		t.seen = append(t.seen, slices.Clone(body))
		return body
	}
	changed := t.change.Apply(body)
	if !bytes.Equal(changed, body) {
		t.hits++
	}
	return changed
}
