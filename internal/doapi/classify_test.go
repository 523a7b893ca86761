package doapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/digitalocean/godo"
)

func TestAnswersAreSorted(t *testing.T) {
	body := func(id, message string) string {
		return fmt.Sprintf(`{"id":%q,"message":%q,"request_id":"4d9d8375-3c56-4925-a3e7-eb137fed17e9"}`+"\n", id, message)
	}
	const page = "<html><head><title>502 Bad Gateway</title><style>p{}</style></head><body><h1>cloudflare</h1></body></html>"
	tests := map[string]struct {
		status  int
		body    string
		headers []string
		class   Class
		id      string
		message string
	}{
		"not found":               {404, body("not_found", "The resource you requested could not be found."), nil, ClassNotFound, "not_found", "The resource you requested could not be found."},
		"404 without id":          {404, `{"message":"no such thing"}`, nil, ClassCloud, "", "no such thing"},
		"404 without message":     {404, `{"id":"not_found"}`, nil, ClassCloud, "not_found", "DigitalOcean's API answered 404 not found"},
		"404 page":                {404, "<html><body>Not <b>here</b> &amp; not there</body></html>", nil, ClassCloud, "", "DigitalOcean's API answered 404: Not here & not there"},
		"404 of nothing":          {404, "", nil, ClassCloud, "", "DigitalOcean's API answered 404 not found"},
		"404 JSON of others":      {404, `["not_found"]`, nil, ClassCloud, "", `DigitalOcean's API answered 404: ["not_found"]`},
		"404 null":                {404, "null", nil, ClassCloud, "", "DigitalOcean's API answered 404 not found"},
		"404 in the third form":   {404, `{"error":{"code":404,"message":"session not found"}}`, nil, ClassCloud, "", "session not found"},
		"validation":              {422, body("unprocessable_entity", "size_unit must be at most 200"), nil, ClassUser, "unprocessable_entity", "size_unit must be at most 200"},
		"placeholders":            {422, body("unprocessable_entity", "name must be <name>.<domain> & short (request 4d9d8375-3c56-4925-a3e7-eb137fed17e9)"), nil, ClassUser, "unprocessable_entity", "name must be <name>.<domain> & short"},
		"second form":             {400, `{"error":"invalid tag","messages":null,"root_causes":["rpc error: code = InvalidArgument desc = bad name"]}`, nil, ClassUser, "", "invalid tag: rpc error: code = InvalidArgument desc = bad name"},
		"bad request":             {400, body("bad_request", "error parsing request body"), nil, ClassUser, "bad_request", "error parsing request body"},
		"400 of a gateway":        {400, page, nil, ClassCloud, "", "DigitalOcean's API answered 400: 502 Bad Gateway"},
		"token refused":           {401, body("Unauthorized", "Unable to authenticate you."), nil, ClassAccount, "unauthorized", unauthorizedMessage},
		"unpaid":                  {402, body("payment_required", "pay first"), nil, ClassAccount, "payment_required", "pay first"},
		"no permission":           {403, body("forbidden", "You are not authorized to perform this operation"), nil, ClassAccount, "forbidden", "You are not authorized to perform this operation"},
		"busy":                    {403, body("forbidden", "Load Balancer can't be updated while it processes previous actions"), nil, ClassConflict, "forbidden", "Load Balancer can't be updated while it processes previous actions"},
		"conflict":                {409, body("conflict", "duplicate name"), nil, ClassConflict, "conflict", "duplicate name"},
		"precondition":            {412, body("precondition_failed", "changed"), nil, ClassConflict, "precondition_failed", "changed"},
		"rate limit of a minute":  {429, tooMany, []string{"Retry-After: 3", "RateLimit-Remaining: 0"}, ClassThrottled, "too_many_requests", "API Rate limit exceeded."},
		"rate limit of an hour":   {429, tooMany, []string{"RateLimit-Remaining: 0"}, ClassThrottled, "too_many_requests", "API Rate limit exceeded."},
		"limit of load balancers": {429, body("too_many_requests", "load balancer limit reached"), []string{"RateLimit-Remaining: 4000"}, ClassAccount, "too_many_requests", "load balancer limit reached"},
		"429 of the edge":         {429, "slow down", nil, ClassThrottled, "", "DigitalOcean's API answered 429: slow down"},
		"server error":            {500, body("server_error", "Unexpected server-side error"), nil, ClassCloud, "server_error", "Unexpected server-side error"},
		"502 page":                {502, page, nil, ClassCloud, "", "DigitalOcean's API answered 502: 502 Bad Gateway"},
		"503 line":                {503, "Failed to forward the request you made, please try again.", nil, ClassCloud, "", "DigitalOcean's API answered 503: Failed to forward the request you made, please try again."},
		"504 of nothing":          {504, "", nil, ClassCloud, "", "DigitalOcean's API answered 504 gateway timeout"},
		"redirect":                {302, "", []string{"Location: https://elsewhere.example/"}, ClassCloud, "", "DigitalOcean's API answered 302 found"},
		"method not allowed":      {405, body("method_not_allowed", "no"), nil, ClassBug, "method_not_allowed", "no"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := errorOf(t, tc.status, tc.body, append(tc.headers, "X-Request-Id: 4d9d8375-3c56-4925-a3e7-eb137fed17e9")...)
			if got := Classify(err); got != tc.class {
				t.Errorf("class %q, want %q", got, tc.class)
			}
			if got := ErrorID(err); got != tc.id {
				t.Errorf("id %q, want %q", got, tc.id)
			}
			if got := Message(err); got != tc.message {
				t.Errorf("message %q, want %q", got, tc.message)
			}
			if got := IsNotFound(err); got != (tc.class == ClassNotFound) {
				t.Errorf("not found: %v", got)
			}
			if got := RequestID(err); got != "4d9d8375-3c56-4925-a3e7-eb137fed17e9" {
				t.Errorf("request id %q", got)
			}
			if answer, _ := answerOf(err); answer == nil || answer.Response.StatusCode != tc.status {
				t.Error("godo's error is hidden")
			}
		})
	}
}

func TestOtherErrorsAreSorted(t *testing.T) {
	wrap := func(err error) error { return fmt.Errorf("get droplet: %w", err) }
	viaClient := func(rt network) error { return send(t.Context(), clientOn(t, rt), http.MethodPost) }
	transport := func(err error) error {
		return viaClient(func(*http.Request) (*http.Response, error) { return nil, err })
	}
	tests := map[string]struct {
		err     error
		class   Class
		message string
	}{
		"none":            {nil, ClassNone, ""},
		"throttled":       {wrap(&ThrottledError{Priority: Normal, Until: t0}), ClassThrottled, "waiting for the rate limit of DigitalOcean's API"},
		"timed out":       {wrap(context.DeadlineExceeded), ClassCloud, "DigitalOcean's API did not answer in time"},
		"canceled":        {transport(context.Canceled), ClassCloud, "no connection to DigitalOcean's API"},
		"refused":         {transport(&net.OpError{Op: "read", Err: syscall.ECONNRESET}), ClassCloud, "no connection to DigitalOcean's API: connection reset by peer"},
		"unknown host":    {transport(&net.DNSError{Err: "no such host", Name: "api.digitalocean.com", Server: "10.0.0.10:53"}), ClassCloud, "the name of DigitalOcean's API can't be resolved: no such host"},
		"broken off":      {transport(io.ErrUnexpectedEOF), ClassCloud, "DigitalOcean's API gave an answer that can't be read"},
		"something else":  {transport(errReset), ClassCloud, "no connection to DigitalOcean's API"},
		"short list":      {wrap(errShifted), ClassCloud, "DigitalOcean's API gave an incomplete list"},
		"godo's argument": {wrap(godo.NewArgError("id", "cannot be empty")), ClassBug, "get droplet: id is invalid because cannot be empty"},
		"not ours":        {errors.New(`Get "https://api.digitalocean.com/v2/x": odd`), ClassBug, "odd"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Classify(tc.err); got != tc.class {
				t.Errorf("class %q, want %q", got, tc.class)
			}
			if got := Message(tc.err); got != tc.message {
				t.Errorf("message %q, want %q", got, tc.message)
			}
			if IsNotFound(tc.err) || ErrorID(tc.err) != "" || RequestID(tc.err) != "" {
				t.Error("it passes for the API's answer")
			}
		})
	}
}

func TestUnreadableAnswersAreTheCloudsFault(t *testing.T) {
	for name, body := range map[string]string{
		"page":       "<html>log in first</html>",
		"cut off":    `{"account":{"uui`,
		"nothing":    "",
		"wrong type": `{"account":"none"}`,
	} {
		t.Run(name, func(t *testing.T) {
			err := get(t.Context(), clientOn(t, answers(answer(200, body))))
			if Classify(err) != ClassCloud || Message(err) != "DigitalOcean's API gave an answer that can't be read" {
				t.Errorf("class %q: %v", Classify(err), err)
			}
		})
	}
}

func TestErrorsOfAnotherClientProveNothing(t *testing.T) {
	err := &godo.ErrorResponse{Response: reply(404, notFound), Message: "The resource you were accessing could not be found."}
	if IsNotFound(err) || Classify(err) != ClassCloud {
		t.Error("a 404 whose body nobody has seen passes for the API's")
	}
	err.Response.StatusCode = http.StatusUnprocessableEntity
	if got := Classify(err); got != ClassUser {
		t.Errorf("422: class %q, want user", got)
	}
}

func FuzzFailureBodies(f *testing.F) {
	for _, seed := range []string{notFound, "<html><title>x</title>", `{"error":{"message":"m"}}`, `{"error":"e","root_causes":["a"]}`, "\xff\x00<", "null", "[]", strings.Repeat("é", 600)} {
		f.Add(404, seed)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		parsed := parseFailure([]byte(body), http.Header{})
		if n := utf8.RuneCountInString(parsed.message); n > maxText {
			t.Errorf("message of %d characters", n)
		}
		if strings.ContainsAny(parsed.message, "\n\r\x00\x1b") {
			t.Errorf("message %q is not one line", parsed.message)
		}
		if again := parseFailure(parsed.canonical(), http.Header{}); again.message != parsed.message && parsed.message == tidy(parsed.message) {
			t.Errorf("message %q becomes %q", parsed.message, again.message)
		}
	})
}
