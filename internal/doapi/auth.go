package doapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// refusedInterval is how long a refused token is left alone. The API may take
// it again (an account unlocked), so it is tried now and then.
const refusedInterval = time.Minute

var (
	// ErrUnauthorized: the API refused this token a moment ago, so the call was
	// not sent. It goes on once the token source gives another token, or a
	// probe, one a minute, finds the token good again.
	ErrUnauthorized = errors.New("token is refused by the DigitalOcean API (401)")
	// ErrNoToken: the token source gave none.
	ErrNoToken = errors.New("no token for the DigitalOcean API")

	errForeignHost = errors.New("token is for the API's host only")
)

// auth puts token and user agent on every request and keeps requests back
// while the token is known to be refused.
type auth struct {
	next      http.RoundTripper
	source    TokenSource
	userAgent string
	scheme    string // of the API: the token goes to no other place
	host      string
	clock     clock.PassiveClock
	health    *healthTracker

	mu      sync.Mutex
	refused Token     // zero: none
	retryAt time.Time // of the next probe with the refused token
}

func (t *auth) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	token, err := t.admit(ctx, req)
	if err != nil {
		closeBody(req)
		t.health.local(ctx, err)
		return nil, err
	}
	signed := req.Clone(ctx)
	signed.Header.Set("Authorization", "Bearer "+token.value())
	signed.Header.Set("User-Agent", t.userAgent)
	resp, err := t.next.RoundTrip(signed)
	if resp != nil {
		resp.Request = req // not the signed one: errors carry it about
	}
	t.learn(token, resp, err)
	t.health.answered(ctx, resp, err)
	return resp, err
}

func (t *auth) admit(ctx context.Context, req *http.Request) (Token, error) {
	if req.URL.Scheme != t.scheme || req.URL.Host != t.host {
		return Token{}, fmt.Errorf("request to %s: %w (%s)", req.URL.Host, errForeignHost, t.host)
	}
	token, err := t.source.Token(ctx)
	if err == nil && token.IsZero() {
		err = errors.New("token is empty")
	}
	if err != nil {
		return Token{}, fmt.Errorf("%w: %w", ErrNoToken, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refused.IsZero() || !t.refused.Equal(token) {
		return token, nil
	}
	now := t.clock.Now()
	if now.Before(t.retryAt) {
		return Token{}, ErrUnauthorized
	}
	t.retryAt = now.Add(refusedInterval)
	return token, nil
}

// learn remembers what an answer says about the token that was sent, which
// need not be the present one.
func (t *auth) learn(token Token, resp *http.Response, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case errors.Is(err, ErrThrottled) && t.refused.Equal(token):
		t.retryAt = time.Time{} // the probe was not sent
	case err != nil:
	case resp.StatusCode == http.StatusUnauthorized:
		t.refused, t.retryAt = token, t.clock.Now().Add(refusedInterval)
	case provesToken(resp) && t.refused.Equal(token):
		t.refused = Token{}
	}
}

// provesToken tells that the API took the token: what was throttled or went
// wrong on the way may not have been looked at that closely.
func provesToken(resp *http.Response) bool {
	return resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests &&
		(failureOf(resp) == nil || failureOf(resp).genuine())
}
