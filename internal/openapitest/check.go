package openapitest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// Checker looks at what goes by and keeps what does not agree with the
// description. It may be used concurrently.
type Checker struct {
	description *Description
	// spoiled tells that answers are made wrong on purpose just now; they are
	// not looked at.
	spoiled func() bool

	mu       sync.Mutex
	checked  int
	problems []string
}

// NewChecker returns a checker. spoiled, which may be nil, tells whether answers
// are made wrong on purpose just now.
func NewChecker(d *Description, spoiled func() bool) *Checker {
	if spoiled == nil {
		spoiled = func() bool { return false }
	}
	return &Checker{description: d, spoiled: spoiled}
}

// Handler checks what a server of the API is asked and answers.
func (c *Checker) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/v2/") {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "read the request", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		c.request(r, body)
		if c.spoiled() {
			// Cut connections and slow bodies need the connection itself.
			next.ServeHTTP(w, r)
			return
		}
		recorder := httptest.NewRecorder()
		next.ServeHTTP(recorder, r)
		c.response(r, recorder.Code, recorder.Header(), recorder.Body.Bytes())
		for name, values := range recorder.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(recorder.Code)
		// A client that has gone away is no concern here.
		_, _ = w.Write(recorder.Body.Bytes())
	})
}

// RoundTripper checks what a client asks and is answered.
func (c *Checker) RoundTripper(next http.RoundTripper) http.RoundTripper {
	return roundTripper{c, next}
}

type roundTripper struct {
	checker *Checker
	next    http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, err := drain(&r.Body)
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	t.checker.request(r, sent)
	response, err := t.next.RoundTrip(r)
	if err != nil || t.checker.spoiled() {
		return response, err
	}
	got, err := drain(&response.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	t.checker.response(r, response.StatusCode, response.Header, got)
	return response, nil
}

// drain reads a body and puts it back.
func drain(body *io.ReadCloser) ([]byte, error) {
	if *body == nil {
		return nil, nil
	}
	data, err := io.ReadAll(*body)
	_ = (*body).Close()
	*body = io.NopCloser(bytes.NewReader(data))
	return data, err
}

func (c *Checker) request(r *http.Request, body []byte) {
	if err := c.description.Request(r, body); err != nil {
		c.add(fmt.Sprintf("request %s %s: %v\nsent: %s", r.Method, r.URL.Path, err, body))
	}
}

func (c *Checker) response(r *http.Request, status int, header http.Header, body []byte) {
	err := c.description.Response(r, status, header, body)
	c.mu.Lock()
	c.checked++
	c.mu.Unlock()
	if err != nil {
		c.add(fmt.Sprintf("answer %d to %s %s: %v\nanswered: %s", status, r.Method, r.URL.Path, err, body))
	}
}

func (c *Checker) add(problem string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = append(c.problems, problem)
}

// Checked returns how many answers were looked at.
func (c *Checker) Checked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.checked
}

// Problems returns what did not agree, each once.
func (c *Checker) Problems() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(c.problems)))
}
