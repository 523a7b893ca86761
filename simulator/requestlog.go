package simulator

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

const (
	// maxLoggedBody bounds what one entry keeps of a request's body.
	maxLoggedBody = 64 << 10
	// maxLogged bounds the log; the oldest tenth is dropped when it is full.
	maxLogged = 100_000
	// tokenTail is how much of a token may be shown.
	tokenTail = 4
)

// Request is one entry of the log of API requests.
type Request struct {
	// Sequence counts all requests from 1 and never starts over.
	Sequence int64     `json:"sequence"`
	Time     time.Time `json:"time"`
	Method   string    `json:"method"`
	Path     string    `json:"path"`
	Query    string    `json:"query,omitempty"`
	// Body is the request's JSON; absent when there was none, when it was not
	// JSON, and when it was longer than 64 KiB. Private keys are blanked out.
	Body json.RawMessage `json:"body,omitempty"`
	// BodyBytes is the length of the body, also when it is absent here.
	BodyBytes int `json:"body_bytes"`
	// Status is the answer's; 0 as long as there is none, and for good when the
	// connection was cut.
	Status int `json:"status"`
	// Cost is what the request took of its token's quota: 1, or 0 for one that
	// was refused with 401 or for the rate limit.
	Cost int `json:"cost"`
	// RequestID is what the answer carried in x-request-id.
	RequestID string `json:"request_id"`
	// Token is at most the last four characters of the token.
	Token     string `json:"token,omitempty"`
	UserAgent string `json:"user_agent,omitempty"`
	// Team is empty when the token was refused.
	Team string `json:"team,omitempty"`
}

// requestLog keeps requests in the order in which they arrived.
type requestLog struct {
	entries []*Request
	last    int64
}

func (l *requestLog) add(entry *Request) {
	l.last++
	entry.Sequence = l.last
	if len(l.entries) >= maxLogged {
		l.entries = append([]*Request(nil), l.entries[maxLogged/10:]...)
	}
	l.entries = append(l.entries, entry)
}

// requestFilter selects entries of the log; zero members select all.
type requestFilter struct {
	since  int64
	method string
	path   string
	team   string
	status int
}

func (f requestFilter) matches(r *Request) bool {
	return r.Sequence > f.since &&
		(f.method == "" || strings.EqualFold(f.method, r.Method)) &&
		strings.HasPrefix(r.Path, f.path) &&
		(f.team == "" || f.team == r.Team) &&
		(f.status == 0 || f.status == r.Status)
}

func (l *requestLog) filtered(f requestFilter) []Request {
	found := []Request{}
	for _, entry := range l.entries {
		if f.matches(entry) {
			found = append(found, *entry)
		}
	}
	return found
}

// Requests returns the API requests so far, oldest first, refused ones
// included. Requests to the control surface and the metadata service are not
// among them. The newest 90,000 are kept at least.
func (s *Simulator) Requests() []Request {
	s.lock()
	defer s.mu.Unlock()
	return s.log.filtered(requestFilter{})
}

// ResetRequests empties the log. Sequence numbers go on.
func (s *Simulator) ResetRequests() {
	s.lock()
	defer s.mu.Unlock()
	s.log.entries = nil
}

// loggedBody is what of a body may be kept.
func loggedBody(body []byte) json.RawMessage {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || len(body) > maxLoggedBody || !json.Valid(body) {
		return nil
	}
	return redact(bytes.Clone(body))
}

// redacted stands for what must not be kept.
const redacted = `"[redacted]"`

// redact blanks out the private key of a certificate. Like the decoder of the
// requests it does not look at the case of the member's name.
func redact(body json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return body
	}
	found := false
	for name := range members {
		if strings.EqualFold(name, "private_key") {
			members[name], found = json.RawMessage(redacted), true
		}
	}
	if !found {
		return body
	}
	return bytes.TrimSpace(encode(members))
}

// tail is the end of a token, never more than half of it.
func tail(token string) string {
	return token[len(token)-min(tokenTail, len(token)/2):]
}
