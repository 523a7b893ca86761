package simulator

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// Transport returns a round tripper that hands requests to the simulator
// without a network. It works in a bubble of testing/synctest, where time is
// fake.
func (s *Simulator) Transport() http.RoundTripper { return transport{s} }

type transport struct{ handler http.Handler }

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(r *http.Request) (response *http.Response, err error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	defer func() {
		// So a handler cuts the connection.
		if p := recover(); p == http.ErrAbortHandler {
			response, err = nil, fmt.Errorf("read response: %w", io.ErrUnexpectedEOF)
		} else if p != nil {
			panic(p)
		}
	}()
	served := r.Clone(r.Context())
	if served.Body == nil {
		served.Body = http.NoBody // a server's requests always have one
	}
	answer := &answer{header: http.Header{}}
	t.handler.ServeHTTP(answer, served)
	return answer.response(r), nil
}

// answer is a response as it is written.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

func (a *answer) response(r *http.Request) *http.Response {
	a.WriteHeader(http.StatusOK)
	return &http.Response{
		Status: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), StatusCode: a.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: r,
	}
}
