package simulator

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// maxBody bounds what is read of a request's body.
const maxBody = 4 << 20

// call is one admitted request, as its handler sees it.
type call struct {
	s      *Simulator
	team   *team
	owner  owner
	method string
	path   string
	params map[string]string
	query  url.Values
	body   []byte
	now    time.Time
	// base is scheme and host as the client wrote them.
	base string
	// fault is the one that strikes the request, if any.
	fault *Fault
	// past tells that the team is as it was a while ago, for reading only.
	past bool
}

// reply is an answer before it is written. A nil body is an empty one.
type reply struct {
	status      int
	body        []byte
	contentType string
	header      http.Header
}

func jsonReply(status int, v any) (reply, error) {
	return reply{status: status, body: encode(v)}, nil
}

func noContent() (reply, error) { return reply{status: http.StatusNoContent}, nil }

// decode reads the request's body into v; unknown fields are ignored.
func (c *call) decode(v any) error {
	if err := json.Unmarshal(c.body, v); err != nil {
		return badRequest()
	}
	return nil
}

// list answers with the page of items that the request asks for, under the
// given root, each item shown by show.
func list[T, V any](c *call, root string, items []T, show func(T) V) (reply, error) {
	p := paginate(len(items), c.query, c.base+c.path)
	shown := make([]V, 0, p.to-p.from)
	for _, item := range items[p.from:p.to] {
		shown = append(shown, show(item))
	}
	return jsonReply(http.StatusOK, map[string]any{root: shown, "links": p.links, "meta": p.meta})
}

func newAPIRouter() *router {
	t := &router{}
	addAccountRoutes(t)
	addCatalogRoutes(t)
	addDropletRoutes(t)
	addActionRoutes(t)
	addLoadBalancerRoutes(t)
	addTagRoutes(t)
	addVPCRoutes(t)
	addCertificateRoutes(t)
	addFirewallRoutes(t)
	addProjectRoutes(t)
	addReservedIPRoutes(t)
	addKeyRoutes(t)
	addImageRoutes(t)
	addVolumeRoutes(t)
	return t
}

// exchange is one request of the API on its way through the simulator.
type exchange struct {
	entry   *Request
	call    *call
	verdict rateVerdict
	fault   *Fault
	latency time.Duration
	// refusal is set when the request goes no further.
	refusal error
}

// serveAPI admits, acts and answers; the lock is held for the first two only.
func (s *Simulator) serveAPI(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil && r.Context().Err() != nil {
		return
	}
	ex := s.admit(r, body)
	if err != nil && ex.refusal == nil {
		ex.refusal = badRequest()
	}
	answer, ok := s.perform(r, ex)
	if ok {
		ok = pause(r.Context(), ex.latency)
	}
	if !ok {
		cut(w)
		return
	}
	s.finish(ex.entry, answer.status)
	s.write(w, r, ex, answer)
}

// admit logs the request, finds out who asks, counts it and rolls the dice.
func (s *Simulator) admit(r *http.Request, body []byte) *exchange {
	now := s.look()
	defer s.mu.Unlock()
	token := bearer(r)
	ex := &exchange{latency: s.settings.Latency, entry: &Request{
		Time: now, Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery,
		Body: loggedBody(body), BodyBytes: len(body),
		RequestID: s.requestIDs.next(), Token: tail(token), UserAgent: r.UserAgent(),
	}}
	s.log.add(ex.entry)
	ex.call = &call{
		s: s, method: r.Method, path: r.URL.Path, query: r.URL.Query(), body: body, base: baseURL(r),
	}
	if r.Method == http.MethodOptions {
		ex.verdict = (&rateWindow{}).verdict(now, s.settings.rateLimit())
		return ex
	}
	holder, err := s.authenticate(token)
	if err != nil {
		// Strangers have no quota of their own, so that guessing tokens costs
		// no memory.
		ex.verdict = (&rateWindow{}).verdict(now, s.settings.rateLimit())
		ex.refusal = err
		return ex
	}
	ex.entry.Team = holder.team
	ex.call.owner, ex.call.team = holder, s.team(holder.team)
	ex.verdict = s.window(token).admit(now, s.settings.rateLimit().of(r.Method, r.URL.Path))
	if ex.verdict.exceeded {
		ex.refusal = tooManyRequests()
		return ex
	}
	ex.entry.Cost = 1
	ex.fault = s.faults.pick(r.Method, r.URL.Path, ex.call.query)
	ex.call.fault = ex.fault
	return ex
}

func (s *Simulator) authenticate(token string) (owner, error) {
	if token == "" || s.settings.RejectTokens {
		return owner{}, unauthorized()
	}
	if len(s.tokens) == 0 {
		return owner{team: defaultTeam}, nil
	}
	holder, ok := s.tokens[token]
	if !ok {
		return owner{}, unauthorized()
	}
	return holder, nil
}

func (s *Simulator) window(token string) *rateWindow {
	w, ok := s.limits[token]
	if !ok {
		w = &rateWindow{}
		s.limits[token] = w
	}
	return w
}

func (c Settings) rateLimit() rateLimit {
	return rateLimit{perHour: c.RateLimitPerHour, perMinute: c.RateLimitPerMinute}
}

// perform lets the fault and the operation act; false means that the
// connection is to be cut.
func (s *Simulator) perform(r *http.Request, ex *exchange) (reply, bool) {
	if ex.refusal != nil {
		return errorReply(ex.refusal, ex.entry.RequestID), true
	}
	f := ex.fault
	if f == nil {
		return s.act(ex), true
	}
	var answer reply
	if f.AfterActing {
		answer = s.act(ex)
	}
	if !pause(r.Context(), f.Delay) || f.Reset {
		return reply{}, false
	}
	switch {
	case f.Quota != "":
		ex.verdict = ex.verdict.exhausted(f.Quota)
		answer = errorReply(tooManyRequests(), ex.entry.RequestID)
	case f.Status != 0:
		answer = f.reply(ex.entry.RequestID)
	case !f.AfterActing:
		answer = s.act(ex)
	}
	return f.spoil(answer), true
}

// act runs the operation.
func (s *Simulator) act(ex *exchange) reply {
	now := s.look()
	defer s.mu.Unlock()
	if ex.call.method != http.MethodGet && ex.call.method != http.MethodHead {
		s.mark(now)
	}
	ex.call.now = now
	if ex.call.team != nil {
		// A snapshot may have been restored meanwhile.
		ex.call.team = s.team(ex.entry.Team)
	}
	answer, err := s.dispatch(ex.call)
	if err != nil {
		failed := errorReply(err, ex.entry.RequestID)
		failed.header = answer.header
		return failed
	}
	return answer
}

func (s *Simulator) dispatch(c *call) (reply, error) {
	handle, params, allowed := s.api.find(c.method, c.path)
	switch {
	case handle != nil:
		if err := c.authorize(); err != nil {
			return reply{}, err
		}
		c.params = params
		return handle(c)
	case len(allowed) == 0:
		return reply{}, requestedNotFound()
	}
	slices.Sort(allowed)
	methods := strings.Join(allowed, ", ")
	if c.method == http.MethodOptions {
		return preflight(methods), nil
	}
	return reply{header: http.Header{"Allow": {methods}}}, methodNotAllowed()
}

func (s *Simulator) finish(entry *Request, status int) {
	s.look()
	defer s.mu.Unlock()
	entry.Status = status
}

func (s *Simulator) write(w http.ResponseWriter, r *http.Request, ex *exchange, answer reply) {
	h := w.Header()
	ex.verdict.write(h)
	h.Set("X-Request-Id", ex.entry.RequestID)
	h.Set("Cache-Control", "no-cache")
	answer.contentType = orElse(answer.contentType, "application/json; charset=utf-8")
	if ex.fault != nil && ex.fault.Trickle > 0 {
		trickle(r.Context(), w, answer, ex.fault.Trickle)
		return
	}
	writeReply(w, answer)
}

func orElse(v, fallback string) string {
	if v == "" {
		return fallback
	}
	return v
}

// bearer returns the request's token, or "".
func bearer(r *http.Request) string {
	scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

func baseURL(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
