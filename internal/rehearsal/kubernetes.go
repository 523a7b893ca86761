package rehearsal

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Kubernetes keeps writes from the Kubernetes API: it answers them as the API
// would, with the object as it is, so that whoever writes goes on and doesn't try
// again.
func (b *Book) Kubernetes(next http.RoundTripper) http.RoundTripper { return &observer{next, b} }

type observer struct {
	next http.RoundTripper
	book *Book
}

// RoundTrip implements [http.RoundTripper].
func (o *observer) RoundTrip(req *http.Request) (*http.Response, error) {
	if isRead(req) {
		return o.next.RoundTrip(req)
	}
	body, err := bodyOf(req)
	if err != nil {
		return nil, err
	}
	t := targetOf(req.URL.Path)
	o.note(req, t, body)
	switch {
	case t.resource == "events" && req.Method != http.MethodPost:
		return answer(req, http.StatusOK, jsonType, []byte(`{"kind":"Event","apiVersion":"v1","metadata":{}}`)), nil
	case req.Method == http.MethodPost:
		return answer(req, http.StatusCreated, req.Header.Get("Content-Type"), body), nil
	case req.Method == http.MethodDelete:
		return answer(req, http.StatusOK, jsonType, []byte(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}`)), nil
	}
	return o.next.RoundTrip(instead(req))
}

const jsonType = "application/json"

// isRead tells whether a request changes nothing. Reviews are questions, although
// they are posted.
func isRead(req *http.Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	return req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "reviews")
}

// instead asks for the object that would be written.
func instead(req *http.Request) *http.Request {
	read := req.Clone(req.Context())
	read.Method, read.Body, read.GetBody, read.ContentLength = http.MethodGet, nil, nil, 0
	read.Header.Del("Content-Type")
	read.Header.Del("Content-Length")
	u := *req.URL
	u.Path = strings.TrimSuffix(u.Path, "/status")
	u.RawPath = ""
	u.RawQuery = url.Values{}.Encode()
	read.URL = &u
	return read
}

func bodyOf(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close() //nolint:errcheck // of what was read
	return io.ReadAll(req.Body)
}

func answer(req *http.Request, code int, contentType string, body []byte) *http.Response {
	return &http.Response{
		Status: http.StatusText(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {contentType}}, ContentLength: int64(len(body)),
		Body: io.NopCloser(bytes.NewReader(body)), Request: req,
	}
}

// target is what a request is about.
type target struct {
	resource string
	// name is the object's, with its namespace and the subresource.
	name string
}

// targetOf reads a path such as /api/v1/namespaces/default/services/web/status.
func targetOf(path string) target {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return target{name: path}
	}
	namespace := ""
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1]+"/", parts[2:]
	}
	return target{parts[0], namespace + strings.Join(parts[1:], "/")}
}

var kindsOfResources = map[string]string{"nodes": KindNode, "services": KindService}

// note notes a write. What is not JSON is a whole object, of which much changes
// that is no matter of ours: it is told without its text.
func (o *observer) note(req *http.Request, t target, body []byte) {
	if t.resource == "events" {
		o.book.Counted(KindEvent)
		return
	}
	kind := kindsOfResources[t.resource]
	name := t.name
	if kind == "" {
		kind, name = KindOther, t.resource+" "+t.name
	}
	what := "the whole object"
	if req.Method == http.MethodPatch {
		what = string(body)
	}
	o.book.Note(kind, req.Method+" "+name, what)
}
