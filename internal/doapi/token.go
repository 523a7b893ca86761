package doapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

const redacted = "[redacted]"

// Token is an API token. It is a secret: every way of printing or encoding it
// gives a placeholder. The zero value is no token.
type Token struct {
	// A function, because printers that walk unexported fields by reflection
	// (and so never call Token's methods) can't look into one.
	reveal func() string
}

// NewToken checks the shape of a token: printable ASCII characters without
// white space. White space and quotes around it, which files, shells and
// editors leave behind, are taken off and reported as notes. Neither notes nor
// error show the token.
func NewToken(raw string) (Token, []string, error) {
	var notes []string
	v := strings.TrimSpace(raw)
	switch {
	case v == raw:
	case strings.TrimRight(raw, "\r\n") == v:
		notes = append(notes, "a trailing newline was taken off the token")
	default:
		notes = append(notes, "white space around the token was taken off")
	}
	if unquoted := unquote(v); unquoted != v {
		v = unquoted
		notes = append(notes, "quotes around the token were taken off")
	}
	if err := checkToken(v); err != nil {
		return Token{}, notes, err
	}
	return Token{reveal: func() string { return v }}, notes, nil
}

func unquote(s string) string {
	if len(s) >= 2 && s[0] == s[len(s)-1] && (s[0] == '\'' || s[0] == '"') {
		return s[1 : len(s)-1]
	}
	return s
}

func checkToken(v string) error {
	switch {
	case v == "":
		return errors.New("token is empty")
	case strings.ContainsAny(v, " \t\r\n\v\f"):
		return errors.New("token contains white space")
	case strings.ContainsFunc(v, func(c rune) bool { return c < '!' || c > '~' }):
		return errors.New("token contains characters that are not printable ASCII")
	}
	return nil
}

// value is the secret itself, for the Authorization header only.
func (t Token) value() string {
	if t.reveal == nil {
		return ""
	}
	return t.reveal()
}

// IsZero tells whether there is no token.
func (t Token) IsZero() bool { return t.reveal == nil }

// Equal tells whether both are the same token.
func (t Token) Equal(other Token) bool { return t.value() == other.value() }

// String implements [fmt.Stringer] with a placeholder.
func (Token) String() string { return redacted }

// GoString implements [fmt.GoStringer] with a placeholder.
func (Token) GoString() string { return redacted }

// Format implements [fmt.Formatter] with a placeholder for every verb.
func (Token) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, redacted) }

// MarshalText implements [encoding.TextMarshaler] with a placeholder.
func (Token) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON implements [encoding/json.Marshaler] with a placeholder.
func (Token) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// LogValue implements [slog.LogValuer] with a placeholder.
func (Token) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalLog implements logr's Marshaler with a placeholder.
func (Token) MarshalLog() any { return redacted }

// TokenSource gives the token to use now. It is asked before every request, so
// an implementation should answer from memory nearly always. It is safe for
// concurrent use.
type TokenSource interface {
	Token(ctx context.Context) (Token, error)
}

// StaticToken is a source that always gives t.
func StaticToken(t Token) TokenSource { return staticToken{t} }

type staticToken struct{ token Token }

func (s staticToken) Token(context.Context) (Token, error) {
	if s.token.IsZero() {
		return Token{}, errors.New("no token was given")
	}
	return s.token, nil
}

var _ TokenSource = staticToken{}
