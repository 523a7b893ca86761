package doapi

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/digitalocean/godo"
)

const unauthorizedMessage = "DigitalOcean refuses the API token (401)"

// Message gives the text of err for people and events: at most 500 characters
// on one line, the same for the same trouble (no request ids, ports, times),
// without token, URL and method.
func Message(err error) string {
	if err == nil {
		return ""
	}
	if answer, ok := answerOf(err); ok {
		return answerMessage(answer)
	}
	switch {
	case errors.Is(err, ErrThrottled):
		return "waiting for the rate limit of DigitalOcean's API"
	case errors.Is(err, ErrUnauthorized):
		return unauthorizedMessage
	case errors.Is(err, ErrIncompleteList):
		return "DigitalOcean's API gave an incomplete list"
	case notSent(err):
		return plain(err)
	case isUnreadable(err):
		return "DigitalOcean's API gave an answer that can't be read"
	case isTransport(err):
		return transportMessage(err)
	}
	return plain(err)
}

// plain takes the request out of an error's text.
func plain(err error) string { return tidy(requestLine.ReplaceAllString(err.Error(), "")) }

func answerMessage(answer *godo.ErrorResponse) string {
	f := failureOf(answer.Response)
	code := answer.Response.StatusCode
	text := tidy(answer.Message)
	switch {
	case code == http.StatusUnauthorized:
		return unauthorizedMessage
	case text == "":
		return tidy(fmt.Sprintf("DigitalOcean's API answered %d %s", code, strings.ToLower(http.StatusText(code))))
	case f != nil && !f.structured:
		return tidy(fmt.Sprintf("DigitalOcean's API answered %d: %s", code, text))
	}
	return text
}

// transportMessage leaves out addresses and ports, which differ from one
// failure to the next.
func transportMessage(err error) string {
	var (
		lookup      *net.DNSError
		certificate *tls.CertificateVerificationError
		errno       syscall.Errno
	)
	switch {
	case isTimeout(err):
		return "DigitalOcean's API did not answer in time"
	case errors.As(err, &lookup):
		return tidy("the name of DigitalOcean's API can't be resolved: " + lookup.Err)
	case errors.As(err, &certificate):
		return "the certificate of DigitalOcean's API can't be verified"
	case errors.As(err, &errno):
		return "no connection to DigitalOcean's API: " + errno.Error()
	}
	return "no connection to DigitalOcean's API"
}
