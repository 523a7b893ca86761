package simulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// Fault makes matching requests go wrong. A request must have passed
// authentication and the rate limits to meet a fault, and meets one only: the
// first that matches, in the order in which they were added.
//
// Delay, Trickle, ListLag and Errored go with any other effect. Of Reset, Quota
// and Status the first one wins; the other effects change the body of whatever
// is answered. A token that is wrong for a while is Status 401.
type Fault struct {
	// ID is given by AddFault.
	ID int `json:"id"`

	// Method is the HTTP method; empty matches every one.
	Method string `json:"method,omitempty"`
	// Path matches a request's path. With any of *, ? or [ it is a pattern of
	// path.Match for the whole path, where * stays within a segment. Without,
	// it matches that path and everything below it. Empty matches every path.
	Path string `json:"path,omitempty"`
	// Query, like "page=2", lists parameters that the request has to have.
	Query string `json:"query,omitempty"`
	// Count is how many requests fail before the fault is spent; 0 is without
	// end, until it is removed.
	Count int `json:"count,omitempty"`
	// Probability, 0 to 1, is how likely a matching request meets the fault; 0
	// means always. The dice follow WithSeed.
	Probability float64 `json:"probability,omitempty"`

	// AfterActing lets the request take effect before the fault strikes: the
	// answer is lost, the deed is done.
	AfterActing bool `json:"after_acting,omitempty"`
	// Delay holds the answer up, in real time.
	Delay time.Duration `json:"-"`
	// Status is answered instead of the request's own result, with Body or, if
	// that is empty, with the API's error body of ErrorID and Message, which
	// default to what the status usually has.
	Status  int    `json:"status,omitempty"`
	Body    string `json:"body,omitempty"`
	ErrorID string `json:"error_id,omitempty"`
	Message string `json:"message,omitempty"`
	// Reset cuts the connection. The first byte of an answer is sent before, so
	// that a client's transport does not take it for an idle connection and
	// silently send the request again.
	Reset bool `json:"reset,omitempty"`
	// Truncate answers the first half of the body only.
	Truncate bool `json:"truncate,omitempty"`
	// Malformed makes the body invalid JSON of nearly its length.
	Malformed bool `json:"malformed,omitempty"`
	// OmitItems leaves that many items out at the start of a list's page; -1
	// leaves out all. The total in meta stays.
	OmitItems int `json:"omit_items,omitempty"`
	// OmitLinks answers a list's page without links to others, so that it looks
	// like the only one.
	OmitLinks bool `json:"omit_links,omitempty"`
	// Total replaces the total in the meta of a list.
	Total *int `json:"total,omitempty"`
	// ListLag shows a list of droplets, load balancers or firewalls as it was so
	// long ago, by the simulator's clock. The past is known from the time when
	// the fault was added.
	ListLag time.Duration `json:"-"`
	// Trickle sends the body in small pieces over this real time. In memory,
	// see Transport, it holds the answer up instead.
	Trickle time.Duration `json:"-"`
	// Quota answers 429 as if it was used up: "hour" with nothing remaining,
	// "minute" with Retry-After too.
	Quota string `json:"quota,omitempty"`
	// Errored makes the load balancer that the request creates end in status
	// errored instead of active.
	Errored bool `json:"errored,omitempty"`
	// Header is added to the answer, for example Retry-After.
	Header map[string]string `json:"header,omitempty"`

	// Hits is how many requests have met the fault.
	Hits int `json:"hits"`
}

const (
	quotaHour   = "hour"
	quotaMinute = "minute"
)

// faultMethods are those with which clients ask the API.
var faultMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// faultPlain is a Fault without its methods, for encoding.
type faultPlain Fault

type faultJSON struct {
	faultPlain
	Delay   Duration `json:"delay,omitzero"`
	ListLag Duration `json:"list_lag,omitzero"`
	Trickle Duration `json:"trickle,omitzero"`
}

// MarshalJSON writes times like "250ms".
func (f Fault) MarshalJSON() ([]byte, error) {
	return json.Marshal(faultJSON{faultPlain(f), Duration(f.Delay), Duration(f.ListLag), Duration(f.Trickle)})
}

// UnmarshalJSON reads what MarshalJSON writes and refuses unknown members, in
// which a misspelt effect would be lost.
func (f *Fault) UnmarshalJSON(data []byte) error {
	var v faultJSON
	if err := strict(data, &v); err != nil {
		return err
	}
	*f = Fault(v.faultPlain)
	f.Delay, f.ListLag, f.Trickle = time.Duration(v.Delay), time.Duration(v.ListLag), time.Duration(v.Trickle)
	return nil
}

// validate refuses what would silently never strike, or do nothing where it does.
func (f *Fault) validate() error {
	if f.Path != "" && !strings.HasPrefix(f.Path, "/") {
		return fmt.Errorf("fault path %q doesn't begin with /, so no request has it", f.Path)
	}
	if f.Method != "" && !slices.Contains(faultMethods, strings.ToUpper(f.Method)) {
		return fmt.Errorf("fault method %q is none of %s", f.Method, strings.Join(faultMethods, ", "))
	}
	for name, value := range f.Header {
		if name == "" || strings.ContainsAny(name, " \t\r\n:") || strings.ContainsAny(value, "\r\n\x00") {
			return fmt.Errorf("fault header %q: %q can't be sent", name, value)
		}
	}
	if _, err := path.Match(f.Path, ""); err != nil {
		return fmt.Errorf("fault path %q: %w", f.Path, err)
	}
	if _, err := url.ParseQuery(f.Query); err != nil {
		return fmt.Errorf("fault query %q: %w", f.Query, err)
	}
	if f.Probability < 0 || f.Probability > 1 {
		return fmt.Errorf("fault probability %g is not within 0 and 1", f.Probability)
	}
	if f.Status != 0 && (f.Status < 200 || f.Status > 599) {
		return fmt.Errorf("fault status %d is not within 200 and 599", f.Status)
	}
	if f.Count < 0 || f.Delay < 0 || f.ListLag < 0 || f.Trickle < 0 {
		return fmt.Errorf("fault count %d, delay %s, list lag %s and trickle %s must not be negative", f.Count, f.Delay, f.ListLag, f.Trickle)
	}
	if f.Quota != "" && f.Quota != quotaHour && f.Quota != quotaMinute {
		return fmt.Errorf("fault quota %q is neither %q nor %q", f.Quota, quotaHour, quotaMinute)
	}
	if f.Status == 0 && (f.Body != "" || f.ErrorID != "" || f.Message != "") {
		return errors.New("fault body, error_id and message need a status to be answered with")
	}
	if !f.acts() {
		return errors.New("the fault has no effect on the requests that it chooses: give it a status, delay, reset, truncate, malformed, " +
			"omit_items, omit_links, total, trickle, quota or header; list_lag for " + strings.Join(lists, ", ") + "; or errored for POST " + loadBalancersPath)
	}
	return nil
}

// acts tells whether anything goes wrong for a request that meets the fault.
func (f *Fault) acts() bool {
	return f.Status != 0 || f.Delay > 0 || f.Reset || f.Truncate || f.Malformed || f.OmitItems != 0 || f.OmitLinks ||
		f.Total != nil || f.Trickle > 0 || f.Quota != "" || len(f.Header) > 0 ||
		f.ListLag > 0 && f.matchesMethod(http.MethodGet) && slices.ContainsFunc(lists, f.matchesPath) ||
		f.Errored && f.matchesMethod(http.MethodPost) && f.matchesPath(loadBalancersPath)
}

func (f *Fault) matches(method, requestPath string, query url.Values) bool {
	return f.matchesMethod(method) && f.matchesPath(requestPath) && f.matchesQuery(query)
}

func (f *Fault) matchesMethod(method string) bool {
	return f.Method == "" || strings.EqualFold(f.Method, method)
}

func (f *Fault) matchesPath(requestPath string) bool {
	if strings.ContainsAny(f.Path, "*?[") {
		ok, err := path.Match(f.Path, requestPath)
		return ok && err == nil
	}
	prefix := strings.TrimSuffix(f.Path, "/")
	return requestPath == prefix || strings.HasPrefix(requestPath, prefix+"/")
}

func (f *Fault) matchesQuery(query url.Values) bool {
	wanted, err := url.ParseQuery(f.Query)
	if err != nil {
		return false
	}
	for name, values := range wanted {
		for _, v := range values {
			if !slices.Contains(query[name], v) {
				return false
			}
		}
	}
	return true
}

// reply is the answer that the fault gives in place of the request's own.
func (f *Fault) reply(requestID string) reply {
	if f.Body != "" {
		answer := reply{status: f.Status, body: []byte(f.Body)}
		if !json.Valid(answer.body) {
			answer.contentType = http.DetectContentType(answer.body)
		}
		return answer
	}
	id, message := usualError(f.Status)
	return reply{status: f.Status, body: encode(errorBody{
		ID: orElse(f.ErrorID, id), Message: orElse(f.Message, message), RequestID: requestID,
	})}
}

func usualError(status int) (id, message string) {
	switch status {
	case http.StatusUnauthorized:
		return "unauthorized", "Unable to authenticate you"
	case http.StatusForbidden:
		return "forbidden", "You do not have permission to perform this action."
	case http.StatusNotFound:
		return "not_found", textRequestedNotFound
	case http.StatusConflict:
		return "conflict", "The request could not be completed due to a conflict."
	case http.StatusUnprocessableEntity:
		return "unprocessable_entity", "request payload validation failed"
	case http.StatusTooManyRequests:
		return "too_many_requests", "API Rate limit exceeded."
	case http.StatusInternalServerError:
		return "server_error", "Unexpected server-side error"
	}
	return strings.ReplaceAll(strings.ToLower(http.StatusText(status)), " ", "_"), http.StatusText(status)
}

// spoil applies the effects on an answer's body and headers.
func (f *Fault) spoil(answer reply) reply {
	if f.OmitItems != 0 || f.OmitLinks || f.Total != nil {
		answer.body = f.spoilList(answer.body)
	}
	if f.Truncate {
		answer.body = answer.body[:len(answer.body)/2]
	}
	if f.Malformed && len(answer.body) > 0 {
		answer.body = slices.Insert(slices.Clone(answer.body), 1, ']')
	}
	if len(f.Header) > 0 {
		answer.header = answer.header.Clone()
		if answer.header == nil {
			answer.header = http.Header{}
		}
		for name, value := range f.Header {
			answer.header.Set(name, value)
		}
	}
	return answer
}

// spoilList changes the body of a list; other bodies stay as they are.
func (f *Fault) spoilList(body []byte) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil || members["meta"] == nil {
		return body
	}
	for name, raw := range members {
		var items []json.RawMessage
		if name == "meta" || name == "links" || json.Unmarshal(raw, &items) != nil {
			continue
		}
		omit := f.OmitItems
		if omit < 0 || omit > len(items) {
			omit = len(items)
		}
		members[name] = encode(items[omit:])
	}
	if f.OmitLinks {
		members["links"] = json.RawMessage("{}")
	}
	if f.Total != nil {
		members["meta"] = encode(meta{Total: *f.Total})
	}
	return encode(members)
}
