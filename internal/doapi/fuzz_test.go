package doapi

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/digitalocean/godo"
)

// Whatever the API answers, nothing panics; an object is missing on the API's
// own word only; no error tells the token or goes on for pages; a list is whole.
func FuzzAnswers(f *testing.F) {
	f.Add(200, []byte(accountBody), "")
	f.Add(404, []byte(notFound), "")
	f.Add(429, []byte(tooMany), "0")
	f.Add(401, []byte(refused), "")
	f.Add(422, []byte(`{"id":"unprocessable_entity","message":"`+strings.Repeat("x", 5000)+`"}`), "-1")
	f.Add(200, []byte(`{"load_balancers":[{"id":"a"},{"id":null}],"links":{"pages":{"next":"%zz","last":"x"}},"meta":{"total":2}}`), "1")
	f.Add(200, []byte(`{"load_balancers":[null,{}],"links":null,"meta":{"total":-1}}`), "99999999999999999999")
	f.Add(502, []byte("<html>"), "x")
	f.Fuzz(func(t *testing.T, status int, body []byte, limits string) {
		status = 200 + int(uint(status)-200)%400
		synctest.Test(t, func(t *testing.T) {
			text := printable(limits)
			c := clientOn(t, answers(answer(status, string(body), "RateLimit-Limit", text, "RateLimit-Remaining", text, "RateLimit-Reset", text, "Retry-After", text)))
			ctx := withPolicy(t.Context(), retryPolicy{attempts: 1})
			_, _, errGet := c.LoadBalancers.Get(ctx, "a")
			all, errList := ListAll(ctx, c.LoadBalancers.List, func(lb godo.LoadBalancer) string { return lb.ID })
			errPost := send(ctx, c, http.MethodPost)
			for _, err := range []error{errGet, errList, errPost} {
				checkError(t, err, status)
			}
			for _, lb := range all {
				if lb.ID == "" {
					t.Errorf("a list with something that has no id: %s", body)
				}
			}
			c.Health()
			c.Quota()
		})
	})
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
}

func checkError(t *testing.T, err error, status int) {
	t.Helper()
	if err == nil {
		return
	}
	if IsNotFound(err) && status != http.StatusNotFound {
		t.Errorf("status %d says that it doesn't exist: %v", status, err)
	}
	if Classify(err) == ClassNone {
		t.Errorf("an error of no class: %v", err)
	}
	if strings.Contains(err.Error(), testSecret) || strings.Contains(Message(err), testSecret) {
		t.Errorf("tells the token: %v", err)
	}
	if message := Message(err); message == "" || len(message) > 2000 {
		t.Errorf("message of %d bytes", len(message))
	}
	if errors.Unwrap(err) == err {
		t.Error("wraps itself")
	}
}
