package doapi

import (
	"io"
	"net/http"
	"strings"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	requestLevel = 4
	bodyLevel    = 8
	// maxLoggedBody bounds a logged body in bytes.
	maxLoggedBody = 4 << 10
)

// logged writes a line for every attempt, never a header, and bodies, without
// anything that looks like a token, only at a level that nobody runs with.
type logged struct {
	next  http.RoundTripper
	clock clock.PassiveClock
}

func (t *logged) RoundTrip(req *http.Request) (*http.Response, error) {
	log := klog.FromContext(req.Context())
	if !log.V(requestLevel).Enabled() {
		return t.next.RoundTrip(req)
	}
	start := t.clock.Now()
	resp, err := t.next.RoundTrip(req)
	values := []any{
		"method", req.Method, "path", Scrub(req.URL.Path, secretOf(req)),
		"duration", t.clock.Since(start), "attempt", attemptOf(req.Context()),
	}
	if err != nil {
		log.V(requestLevel).Info("DigitalOcean API request", append(values, "failure", Scrub(err.Error(), secretOf(req)))...)
		return resp, err
	}
	values = append(values, "status", resp.StatusCode, "requestID", Scrub(resp.Header.Get("X-Request-Id"), secretOf(req)))
	log.V(requestLevel).Info("DigitalOcean API request", values...)
	if log.V(bodyLevel).Enabled() && !holdsSecrets(req.URL.Path) {
		log.V(bodyLevel).Info("DigitalOcean API bodies", "method", req.Method, "path", Scrub(req.URL.Path, secretOf(req)),
			"request", requestText(req), "answer", answerText(req, resp))
	}
	return resp, nil
}

// holdsSecrets tells that bodies at a path may hold private keys or passwords.
func holdsSecrets(path string) bool {
	return endpoint(path) == otherEndpoint || strings.HasPrefix(path, "/v2/certificates")
}

func requestText(req *http.Request) string {
	if req.GetBody == nil {
		return ""
	}
	body, err := req.GetBody()
	if err != nil {
		return ""
	}
	defer body.Close()
	raw, _ := io.ReadAll(io.LimitReader(body, maxLoggedBody)) // as much as there is
	return Scrub(string(raw), secretOf(req))
}

func answerText(req *http.Request, resp *http.Response) string {
	body, ok := resp.Body.(*answerBody)
	if !ok {
		return ""
	}
	// Scrubbed before the cut: a token cut in two would no longer be known.
	text := Scrub(string(body.raw), secretOf(req))
	return text[:min(len(text), maxLoggedBody)]
}
