package doapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// maxAnswer bounds a success's body. 200 droplets are about 1 MB.
	maxAnswer = 64 << 20
	// maxFailure bounds what is kept of an error's body: the API's are a line.
	maxFailure = 64 << 10
)

var errTooLong = fmt.Errorf("answer is longer than %d bytes", maxAnswer)

// exchange is one attempt, from the first byte sent to the last received. It
// reads bodies whole, so that the attempt's deadline covers them and a body
// that breaks off is an error of this attempt, which may be repeated, not of
// godo's decoder, after which nothing can be.
type exchange struct {
	base    http.RoundTripper
	timeout time.Duration
}

func (t *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), t.timeout)
	defer cancel()
	resp, err := t.base.RoundTrip(req.WithContext(ctx))
	if err == nil {
		err = readWhole(resp, secretOf(req))
	}
	if err == nil {
		return resp, nil
	}
	if req.Context().Err() == nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s: %w", t.timeout, context.DeadlineExceeded)
	}
	return nil, &transportError{err}
}

// transportError marks every failure to get an answer, whatever its type, so
// that none is taken for a fault of ours.
type transportError struct{ err error }

func (e *transportError) Error() string { return e.err.Error() }
func (e *transportError) Unwrap() error { return e.err }

// Timeout is what [net/url.Error] asks for.
func (e *transportError) Timeout() bool { return isTimeout(e.err) }

// secretOf gives the token that req carries.
func secretOf(req *http.Request) string {
	return strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
}

func readWhole(resp *http.Response, secret string) error {
	defer resp.Body.Close()
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
		if err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		if len(raw) > maxAnswer {
			return errTooLong
		}
		resp.Body = &answerBody{Reader: bytes.NewReader(raw), raw: raw}
		return nil
	}
	// An error whose body breaks off is still that error.
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, maxFailure))
	raw = []byte(Scrub(string(raw), secret))
	f := parseFailure(raw, resp.Header)
	f.requestID = Scrub(f.requestID, secret)
	body := f.canonical()
	resp.ContentLength = int64(len(body))
	resp.Body = &answerBody{Reader: bytes.NewReader(body), raw: raw, failure: f}
	return nil
}

// closeBody is what a round tripper owes a request that it doesn't pass on.
func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}
