package doapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestRetryByIdempotence(t *testing.T) {
	const serverError = `{"id":"server_error","message":"Unexpected server-side error"}`
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	read := &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	limited := answer(429, tooMany, "Retry-After: 1")
	all := []string{"GET", "HEAD", "PUT", "DELETE", "POST", "PATCH"}
	safe := []string{"GET", "HEAD", "PUT", "DELETE"}
	tests := map[string]struct {
		first   func() (*http.Response, error)
		retried []string
	}{
		"500":                 {answer(500, serverError), safe},
		"502 from the edge":   {answer(502, "<html><title>Bad Gateway</title></html>"), safe},
		"503 in plain text":   {answer(503, "Failed to forward the request you made, please try again."), safe},
		"501":                 {answer(501, serverError), nil},
		"rate limit":          {limited, all},
		"rate limit in words": {answer(429, tooMany, "RateLimit-Remaining: 7"), all},
		"limit of account":    {answer(429, `{"id":"too_many_requests","message":"You have reached the limit of load balancers."}`, "RateLimit-Remaining: 7"), nil},
		"connection refused":  {broken(dial), all},
		"unknown host":        {broken(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}), all},
		"connection reset":    {broken(read), safe},
		"connection closed":   {broken(io.EOF), safe},
		"certificate":         {broken(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), nil},
		"busy":                {answer(403, `{"id":"forbidden","message":"Load Balancer can't be updated while it processes previous actions"}`), nil},
		"404":                 {answer(404, notFound), nil},
		"422":                 {answer(422, `{"id":"unprocessable_entity","message":"no"}`), nil},
		"412":                 {answer(412, `{"id":"precondition_failed","message":"no"}`), nil},
		"token refused":       {answer(401, refused), nil},
		"redirect":            {answer(302, "", "Location: https://elsewhere.example/"), nil},
		"success":             {answer(200, accountBody), nil},
		"success, no content": {answer(204, ""), nil},
	}
	for name, tc := range tests {
		for _, method := range all {
			t.Run(name+"/"+method, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					rt := answers(tc.first, answer(200, accountBody))
					_ = send(t.Context(), clientOn(t, rt), method)
					want := 1
					for _, m := range tc.retried {
						if m == method {
							want = 2
						}
					}
					sent := rt.requests()
					if len(sent) != want {
						t.Fatalf("sent %d times, want %d", len(sent), want)
					}
					if method != "GET" && method != "HEAD" && sent[want-1].body != "{\"name\":\"lb\"}\n" {
						t.Errorf("body of the last attempt is %q", sent[want-1].body)
					}
				})
			})
		}
	}
}

func TestRetriesAreBoundedAndBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := answers(answer(500, `{"id":"server_error","message":"Unexpected server-side error"}`))
		err := get(t.Context(), clientOn(t, rt))
		if ErrorID(err) != "server_error" {
			t.Errorf("error %v, want the API's last", err)
		}
		sent := rt.requests()
		if len(sent) != defaultAttempts {
			t.Fatalf("sent %d times, want %d", len(sent), defaultAttempts)
		}
		for i := 1; i < len(sent); i++ {
			gap, longest := sent[i].at.Sub(sent[i-1].at), firstBackoff<<(i-1)
			if gap < longest/2 || gap > longest {
				t.Errorf("wait %d was %s, want %s to %s", i, gap, longest/2, longest)
			}
		}
	})
}

func TestRetryAfterOfServerErrorIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for after, want := range map[string]time.Duration{"20": 20 * time.Second, "4000": maxRetryAfter} {
			rt := answers(answer(503, "", "Retry-After: "+after), answer(200, accountBody))
			start := time.Now()
			if err := get(t.Context(), clientOn(t, rt)); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(start); waited != want {
				t.Errorf("Retry-After %s: waited %s, want %s", after, waited, want)
			}
		}
	})
}

func TestNoRetryThatWouldOutlastTheDeadline(t *testing.T) {
	tests := map[string]struct {
		first func() (*http.Response, error)
		want  Class
	}{
		"server error": {answer(503, "", "Retry-After: 20"), ClassCloud},
		"rate limit":   {answer(429, tooMany, "Retry-After: 20"), ClassThrottled},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := answers(tc.first)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				start := time.Now()
				err := get(ctx, clientOn(t, rt))
				if _, answered := answerOf(err); !answered || Classify(err) != tc.want {
					t.Errorf("error %v, want the API's answer", err)
				}
				if time.Since(start) > firstBackoff || rt.count() != 1 {
					t.Errorf("returned after %s and %d requests", time.Since(start), rt.count())
				}
			})
		})
	}
}

func TestAttemptHasADeadlineOfItsOwn(t *testing.T) {
	hang := network(func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	})
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := send(t.Context(), clientOn(t, hang), http.MethodPost)
		if !errors.Is(err, context.DeadlineExceeded) || Classify(err) != ClassCloud || time.Since(start) != defaultTimeout {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
		start = time.Now()
		err = get(t.Context(), clientOn(t, hang, func(o *Options) { o.Timeout = time.Second }))
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took < 4*time.Second || took > 8*time.Second {
			t.Errorf("four attempts of a second took %s: %v", took, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start = time.Now()
		if err = get(ctx, clientOn(t, hang)); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("the caller's shorter deadline: after %s: %v", time.Since(start), err)
		}
	})
}

func TestCanceledCallIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := answers(answer(500, ""))
		client := clientOn(t, rt)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel) // within the first back-off
		if err := get(ctx, client); Classify(err) != ClassCloud || rt.count() != 1 {
			t.Errorf("%d requests, error %v", rt.count(), err)
		}
		if err := get(ctx, client); !errors.Is(err, context.Canceled) || rt.count() != 1 {
			t.Errorf("a call of a dead context: %d requests, error %v", rt.count(), err)
		}
	})
}

func TestBodyThatCannotBeRewoundIsSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := answers(answer(500, ""))
		client := clientOn(t, rt)
		req, err := client.NewRequest(t.Context(), http.MethodPut, "v2/tags", "x")
		if err != nil {
			t.Fatal(err)
		}
		req.GetBody = nil
		if _, err := client.Do(t.Context(), req, nil); err == nil || rt.count() != 1 {
			t.Errorf("%d requests, error %v", rt.count(), err)
		}
	})
}
