package doapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

const testSecret = "dop_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func mustToken(t testing.TB, raw string) Token {
	t.Helper()
	token, _, err := NewToken(raw)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// network is a network in memory, so that tests can run on fake time.
type network func(*http.Request) (*http.Response, error)

func (n network) RoundTrip(req *http.Request) (*http.Response, error) { return n(req) }

// reply makes an answer; headers are "Name: value".
func reply(status int, body string, headers ...string) *http.Response {
	h := http.Header{}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		h.Set(name, value)
	}
	return &http.Response{
		StatusCode: status, Header: h, ContentLength: int64(len(body)),
		Body: io.NopCloser(strings.NewReader(body)),
	}
}

const (
	accountBody = `{"account":{"uuid":"u"}}`
	notFound    = `{"id":"not_found","message":"The resource you were accessing could not be found."}`
	tooMany     = `{"id":"too_many_requests","message":"API Rate limit exceeded."}`
	refused     = `{"id":"unauthorized","message":"Unable to authenticate you"}`
)

func ok() *http.Response { return reply(200, accountBody) }

// script answers with one step after the other and repeats the last one. A step
// is an *http.Response factory or an error.
type script struct {
	mu    sync.Mutex
	steps []func() (*http.Response, error)
	sent  []sentRequest
}

type sentRequest struct {
	at     time.Time
	method string
	body   string
	token  string
}

func answers(steps ...func() (*http.Response, error)) *script { return &script{steps: steps} }

func answer(status int, body string, headers ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) { return reply(status, body, headers...), nil }
}

func broken(err error) func() (*http.Response, error) {
	return func() (*http.Response, error) { return nil, err }
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
		req.Body.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, sentRequest{time.Now(), req.Method, string(body), secretOf(req)})
	return s.steps[min(len(s.sent), len(s.steps))-1]()
}

func (s *script) requests() []sentRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]sentRequest(nil), s.sent...)
}

func (s *script) count() int { return len(s.requests()) }

func clientOn(t testing.TB, rt http.RoundTripper, change ...func(*Options)) *Client {
	t.Helper()
	o := Options{TokenSource: StaticToken(mustToken(t, testSecret)), Version: "v1.2.3", Transport: rt}
	for _, c := range change {
		c(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// clientOf is a client of an HTTP server on loopback.
func clientOf(t testing.TB, h http.Handler, change ...func(*Options)) *Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return clientOn(t, nil, append([]func(*Options){func(o *Options) { o.BaseURL = base }}, change...)...)
}

// send makes a request with a body, the way godo does.
func send(ctx context.Context, c *Client, method string) error {
	req, err := c.NewRequest(ctx, method, "v2/load_balancers", map[string]string{"name": "lb"})
	if err != nil {
		return err
	}
	_, err = c.Do(ctx, req, nil)
	return err
}

func get(ctx context.Context, c *Client) error {
	_, _, err := c.Account.Get(ctx)
	return err
}

// errorOf is the error that an answer becomes, through godo and all. It is sent
// once only, by a method that isn't repeated.
func errorOf(t testing.TB, status int, body string, headers ...string) error {
	t.Helper()
	ctx := withPolicy(t.Context(), retryPolicy{attempts: 1})
	err := send(ctx, clientOn(t, answers(answer(status, body, headers...))), http.MethodPost)
	if err == nil {
		t.Fatalf("status %d made no error", status)
	}
	return fmt.Errorf("do something: %w", err)
}

// logBuffer collects log lines.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *logBuffer) lines(containing string) int {
	n := 0
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, containing) {
			n++
		}
	}
	return n
}

func withLog(ctx context.Context, verbosity int) (context.Context, *logBuffer) {
	buf := &logBuffer{}
	log := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(buf), textlogger.Verbosity(verbosity)))
	return klog.NewContext(ctx, log), buf
}

var errReset = errors.New("connection reset by peer")
