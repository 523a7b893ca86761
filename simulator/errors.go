package simulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// ErrNotFound is wrapped by the errors of methods that name an object which
// does not exist.
var ErrNotFound = errors.New("not found")

// apiError is a refusal with the API's error body.
type apiError struct {
	status  int
	id      string
	message string
	// tagForm selects the second body form, which only the creation of tags has.
	tagForm bool
}

func (e *apiError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.status, e.id, e.message)
}

const (
	// Two wordings are in use: most services say "accessing", load balancers
	// and the gateway "requested".
	textNotFound          = "The resource you were accessing could not be found."
	textRequestedNotFound = "The resource you requested could not be found."
	textBusy              = "Load Balancer can't be updated while it processes previous actions"
)

func notFound() error {
	return &apiError{status: http.StatusNotFound, id: "not_found", message: textNotFound}
}

func requestedNotFound() error {
	return &apiError{status: http.StatusNotFound, id: "not_found", message: textRequestedNotFound}
}

func badRequest() error {
	return &apiError{status: http.StatusBadRequest, id: "bad_request", message: "error parsing request body"}
}

func parameterMissing(name string) error {
	return &apiError{
		status: http.StatusBadRequest, id: "parameter_missing",
		message: "param is missing or the value is empty: " + name,
	}
}

func forbidden(message string) error {
	return &apiError{status: http.StatusForbidden, id: "forbidden", message: message}
}

func conflict(message string) error {
	return &apiError{status: http.StatusConflict, id: "conflict", message: message}
}

func unprocessable(format string, args ...any) error {
	return &apiError{
		status: http.StatusUnprocessableEntity, id: "unprocessable_entity",
		message: fmt.Sprintf(format, args...),
	}
}

func unauthorized() error {
	return &apiError{status: http.StatusUnauthorized, id: "unauthorized", message: "Unable to authenticate you"}
}

func tooManyRequests() error {
	return &apiError{status: http.StatusTooManyRequests, id: "too_many_requests", message: "API Rate limit exceeded."}
}

func methodNotAllowed() error {
	return &apiError{
		status: http.StatusMethodNotAllowed, id: "method_not_allowed",
		message: "The method is not allowed for the requested resource.",
	}
}

// errorBody is the usual body of a 4xx or 5xx answer.
type errorBody struct {
	ID        string `json:"id"`
	Message   string `json:"message"`
	RequestID string `json:"request_id,omitempty"`
}

type tagErrorBody struct {
	Error      string   `json:"error"`
	Messages   []string `json:"messages"`
	RootCauses []string `json:"root_causes"`
}

// errorReply turns a handler's error into an answer; anything that is not an
// apiError is a defect of the simulator and shows as the API's own 500.
func errorReply(err error, requestID string) reply {
	var refusal *apiError
	if !errors.As(err, &refusal) {
		refusal = &apiError{
			status: http.StatusInternalServerError, id: "server_error",
			message: "Unexpected server-side error",
		}
	}
	if refusal.tagForm {
		return reply{status: refusal.status, body: encode(tagErrorBody{
			Error:      refusal.message,
			RootCauses: []string{"rpc error: code = InvalidArgument desc = " + refusal.message},
		})}
	}
	return reply{status: refusal.status, body: encode(errorBody{
		ID: refusal.id, Message: refusal.message, RequestID: requestID,
	})}
}

// encode writes v as the services do: JSON, a newline at the end, no escaping
// of <, > and &. The values passed are the package's own types, which always
// encode.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return b.Bytes()
}
