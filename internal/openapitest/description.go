package openapitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// Description is the published API description, ready to check against. It may
// be used concurrently.
type Description struct {
	router routers.Router
}

// Load reads the description of a directory. The error wraps ErrAbsent where it
// has none.
func Load(dir string) (*Description, error) {
	data, err := read(dir, "digitalocean-v2.json")
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, fmt.Errorf("%w: no digitalocean-v2.json in %q", ErrAbsent, dir)
	}
	patch, err := read(dir, "true-to-life.patch.json")
	if err != nil {
		return nil, err
	}
	if patch == nil {
		return nil, fmt.Errorf("load the API description: no true-to-life.patch.json in %q", dir)
	}
	return parse(data, patch)
}

func parse(data, patch []byte) (*Description, error) {
	var document any
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("decode the API description: %w", err)
	}
	var changes []change
	if err := json.Unmarshal(patch, &changes); err != nil {
		return nil, fmt.Errorf("decode the patch of the API description: %w", err)
	}
	if err := errors.Join(apply(document, changes), apply(document, defects)); err != nil {
		return nil, fmt.Errorf("patch the API description: %w", err)
	}
	cured, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encode the API description: %w", err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(cured)
	if err != nil {
		return nil, fmt.Errorf("load the API description: %w", err)
	}
	// Routes match on any host.
	doc.Servers = nil
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, fmt.Errorf("route the API description: %w", err)
	}
	return &Description{router}, nil
}

// Request checks a request whose body was read already. A path or method that
// the description does not know, and that is not among the known defects, is an
// error too.
func (d *Description) Request(r *http.Request, body []byte) error {
	input, err := d.input(r)
	if input == nil {
		return err
	}
	input.Request.Body = io.NopCloser(bytes.NewReader(body))
	input.Request.ContentLength = int64(len(body))
	if len(body) == 0 {
		input.Request.Body = http.NoBody
	}
	return openapi3filter.ValidateRequest(r.Context(), input)
}

// Response checks the answer to a request. Failures of the network's edge, 5xx
// without JSON, are not described and pass. Unknown paths and methods, which are
// not described either, must be answered with an error body.
func (d *Description) Response(r *http.Request, status int, header http.Header, body []byte) error {
	isJSON := strings.HasPrefix(header.Get("Content-Type"), "application/json")
	if status >= 500 && !isJSON || r.Method == http.MethodHead || r.Method == http.MethodOptions {
		return nil
	}
	input, err := d.input(r)
	if input == nil {
		refused := err == nil && status >= 400 || status == http.StatusNotFound || status == http.StatusMethodNotAllowed
		if !refused {
			return err
		}
		return errorBody(body)
	}
	answer := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: status, Header: header, Options: input.Options,
	}
	if status != http.StatusNoContent {
		answer.SetBodyBytes(body)
	}
	return openapi3filter.ValidateResponse(context.WithoutCancel(r.Context()), answer)
}

// input finds the operation; nil without an error means that it is known not to
// be described.
func (d *Description) input(r *http.Request) (*openapi3filter.RequestValidationInput, error) {
	if undescribed(r.Method, r.URL.Path) {
		return nil, nil
	}
	clone := r.Clone(r.Context())
	route, params, err := d.router.FindRoute(clone)
	if err != nil {
		return nil, fmt.Errorf("find the operation: %w", err)
	}
	options := &openapi3filter.Options{
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, SkipSettingDefaults: true,
	}
	options.WithCustomSchemaErrorFunc(func(err *openapi3.SchemaError) string {
		return fmt.Sprintf("at /%s: %s", strings.Join(err.JSONPointer(), "/"), err.Reason)
	})
	return &openapi3filter.RequestValidationInput{Request: clone, PathParams: params, Route: route, Options: options}, nil
}

func errorBody(body []byte) error {
	var e struct{ ID, Message string }
	if err := json.Unmarshal(body, &e); err != nil || e.ID == "" || e.Message == "" {
		return fmt.Errorf("no error body with id and message: %q", body)
	}
	return nil
}
