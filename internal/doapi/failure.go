package doapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/digitalocean/godo"
)

// failure is what the API said in an answer that is no success. godo has no
// place for the API's error id, and drops all of a body that isn't in its one
// form, so it is read before godo sees it.
type failure struct {
	id        string // "" when the body had none
	message   string // for people; "" when the body had none
	requestID string
	// structured tells that the body was one of the API's forms, as opposed to
	// a page or a plain line from something in between.
	structured bool
}

// genuine tells that the API itself spoke: its own services always give both.
func (f *failure) genuine() bool {
	return f != nil && f.structured && f.id != "" && f.message != ""
}

// parseFailure reads any of the API's three forms of error body.
func parseFailure(body []byte, header http.Header) *failure {
	f := &failure{requestID: header.Get("X-Request-Id")}
	var form struct {
		ID         string          `json:"id"`
		Message    string          `json:"message"`
		RequestID  string          `json:"request_id"`
		Error      json.RawMessage `json:"error"`
		RootCauses []string        `json:"root_causes"`
	}
	if err := json.Unmarshal(body, &form); err != nil {
		f.message = tidy(withoutMarkup(string(body)))
		return f
	}
	f.id, f.message = form.ID, tidy(form.Message)
	if form.RequestID != "" {
		f.requestID = form.RequestID
	}
	if f.message == "" {
		f.message = tidy(nestedMessage(form.Error, form.RootCauses))
	}
	f.structured = f.message != "" || f.id != ""
	return f
}

// nestedMessage reads the second form, {"error": "…", "root_causes": […]}, and
// the third, {"error": {"code": …, "message": "…"}}.
func nestedMessage(raw json.RawMessage, causes []string) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strings.Join(append([]string{text}, causes...), ": ")
	}
	var nested struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &nested) == nil {
		return nested.Message
	}
	return ""
}

// canonical is the body that godo gets to read: always the API's first form.
func (f *failure) canonical() []byte {
	b, err := json.Marshal(map[string]string{"id": f.id, "message": f.message, "request_id": f.requestID})
	if err != nil {
		return nil // strings always encode
	}
	return b
}

// answerBody is a response body that was read whole. It stays reachable from
// godo's error, as the Body of its Response, after godo has read and closed it.
type answerBody struct {
	*bytes.Reader
	raw     []byte
	failure *failure // nil on success
}

var _ io.ReadCloser = (*answerBody)(nil)

// Close implements [io.Closer]; the connection was let go before.
func (*answerBody) Close() error { return nil }

// failureOf gives what the API said in resp, nil when resp is a success or
// didn't pass this package's transport.
func failureOf(resp *http.Response) *failure {
	if resp == nil {
		return nil
	}
	if body, ok := resp.Body.(*answerBody); ok {
		return body.failure
	}
	return nil
}

// answerOf gives the API's answer that err stands for, if it does for one.
func answerOf(err error) (*godo.ErrorResponse, bool) {
	var answer *godo.ErrorResponse
	if !errors.As(err, &answer) || answer.Response == nil {
		return nil, false
	}
	return answer, true
}
