package doapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/digitalocean/godo"
)

// Class says who must act on an error. It alone decides retry, event, log
// level, metric label and alert.
type Class string

// Classes of errors.
const (
	// ClassNone: there is no error.
	ClassNone Class = ""
	// ClassNotFound: the API itself says that the object doesn't exist.
	ClassNotFound Class = "not_found"
	// ClassUser: only an edit of what was asked for mends it.
	ClassUser Class = "user"
	// ClassAccount: the token, its rights, or a limit of the account.
	ClassAccount Class = "account"
	// ClassThrottled: the quota of requests; time mends it.
	ClassThrottled Class = "throttled"
	// ClassConflict: the object is busy or was changed meanwhile; seconds mend it.
	ClassConflict Class = "conflict"
	// ClassCloud: the API or the way to it is in trouble; also what its caller
	// gave up on, since nobody knows then what became of it.
	ClassCloud Class = "cloud"
	// ClassBug: nothing of the above, so it is ours.
	ClassBug Class = "bug"
)

// Classify says who must act on err, however it is wrapped.
func Classify(err error) Class {
	if err == nil {
		return ClassNone
	}
	if answer, ok := answerOf(err); ok {
		return classifyAnswer(answer.Response)
	}
	var argument *godo.ArgError
	switch {
	case errors.Is(err, ErrThrottled):
		return ClassThrottled
	case errors.Is(err, ErrUnauthorized), errors.Is(err, ErrNoToken):
		return ClassAccount
	case errors.As(err, &argument), errors.Is(err, errForeignHost):
		return ClassBug
	case errors.Is(err, ErrIncompleteList), isUnreadable(err), isTransport(err):
		return ClassCloud
	}
	return ClassBug
}

// classifyAnswer sorts an answer that is no success.
func classifyAnswer(resp *http.Response) Class {
	f := failureOf(resp)
	// Without our transport the body is unknown: then the status alone counts,
	// except for 404, on which deletions rest.
	structured := f == nil || f.structured
	switch code := resp.StatusCode; {
	case code == http.StatusNotFound:
		// Anything in between can answer 404; only the API's word counts.
		return pick(f.genuine() && strings.EqualFold(f.id, "not_found"), ClassNotFound, ClassCloud)
	case code == http.StatusBadRequest, code == http.StatusUnprocessableEntity:
		return pick(structured, ClassUser, ClassCloud)
	case code == http.StatusForbidden:
		return pick(isBusy(f), ClassConflict, ClassAccount)
	case code == http.StatusUnauthorized, code == http.StatusPaymentRequired:
		return ClassAccount
	case code == http.StatusTooManyRequests:
		// With the API's own words but without the signs of the rate limit it
		// is a limit of the account, such as its number of load balancers.
		return pick(isRateLimit(resp) || !structured, ClassThrottled, ClassAccount)
	case code == http.StatusConflict, code == http.StatusPreconditionFailed, code == http.StatusLocked:
		return ClassConflict
	case code >= 500, code < 400, code == http.StatusRequestTimeout:
		return ClassCloud
	}
	return ClassBug
}

func pick(condition bool, yes, no Class) Class {
	if condition {
		return yes
	}
	return no
}

// isBusy knows the 403 with which the API refuses a write to an object that it
// is still working on.
func isBusy(f *failure) bool {
	return f != nil && strings.Contains(strings.ToLower(f.message), "processes previous action")
}

// isUnreadable tells that an answer came, but not one of the API's.
func isUnreadable(err error) bool {
	var (
		syntax   *json.SyntaxError
		mistyped *json.UnmarshalTypeError
	)
	return errors.As(err, &syntax) || errors.As(err, &mistyped) || errors.Is(err, errTooLong) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

func isTransport(err error) bool {
	var (
		ours    *transportError
		network net.Error // url.Error and net.OpError are such
	)
	return errors.As(err, &ours) || errors.As(err, &network) || isTimeout(err) || errors.Is(err, context.Canceled)
}

func isTimeout(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}

// IsNotFound tells that the API itself says that the object doesn't exist: a
// 404 with the API's error id and message. A 404 from a proxy is none.
func IsNotFound(err error) bool { return Classify(err) == ClassNotFound }

// ErrorID gives the API's id of err, such as "unprocessable_entity", in lower
// case, or "" when err has none.
func ErrorID(err error) string {
	if answer, ok := answerOf(err); ok {
		if f := failureOf(answer.Response); f != nil {
			return strings.ToLower(f.id)
		}
	}
	return ""
}

// RequestID gives the id under which DigitalOcean's support finds the request,
// or "". It belongs into logs, not into events.
func RequestID(err error) string {
	if answer, ok := answerOf(err); ok {
		return answer.RequestID
	}
	return ""
}
