package simulator

import (
	"net/http"
)

// preflight answers what browsers ask before they send a request.
func preflight(methods string) reply {
	return reply{status: http.StatusNoContent, header: http.Header{
		"Access-Control-Allow-Origin":      {"*"},
		"Access-Control-Allow-Methods":     {methods},
		"Access-Control-Allow-Headers":     {"Authorization, Content-Type"},
		"Access-Control-Expose-Headers":    {"RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Total, Link"},
		"Access-Control-Max-Age":           {"86400"},
		"Access-Control-Allow-Credentials": {"true"},
	}}
}

func writeReply(w http.ResponseWriter, answer reply) {
	writeHead(w, answer)
	// A client that has gone away is no concern of the server's.
	_, _ = w.Write(answer.body)
}

// writeHead writes everything but the body.
func writeHead(w http.ResponseWriter, answer reply) {
	h := w.Header()
	if len(answer.body) > 0 || answer.contentType != "" {
		h.Set("Content-Type", orElse(answer.contentType, "application/json; charset=utf-8"))
	}
	for name, values := range answer.header {
		h[name] = values
	}
	w.WriteHeader(answer.status)
}
