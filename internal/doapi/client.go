package doapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/digitalocean/godo"
	"k8s.io/utils/clock"
)

const (
	defaultBaseURL = "https://api.digitalocean.com/"
	defaultTimeout = 30 * time.Second
	userAgentName  = "digitalocean-cloud-controller-manager/"
	// idlePerHost keeps the connections of a burst of reconcilers, where the
	// standard library keeps two.
	idlePerHost = 32
	// Pings find a connection that died silently, which HTTP/2 would go on
	// using, and failing with, for a quarter of an hour.
	pingAfter   = 15 * time.Second
	pingTimeout = 10 * time.Second
)

// Options say how the API is reached.
type Options struct {
	// TokenSource gives the token. Required.
	TokenSource TokenSource
	// BaseURL is where the API is: scheme and host, no path. Nil:
	// https://api.digitalocean.com/.
	BaseURL *url.URL
	// Version is the manager's, for the User-Agent.
	Version string
	// QPS caps requests a second, retries included. Zero: no cap.
	QPS float64
	// Timeout bounds each attempt, from the first byte sent to the last
	// received; a shorter deadline of the context holds as well. Zero: 30 s.
	Timeout time.Duration
	// Transport is the network. Nil: the standard library's with its own pool.
	Transport http.RoundTripper
	// Clock measures waits, not the deadlines of contexts. Nil: the real one.
	Clock clock.WithTicker
	// Metrics are recorded into. Nil: none.
	Metrics *Metrics
	// EnterWrite is asked right before each attempt of a call that may change
	// something, whatever that waited for before; what it returns is called when
	// the answer is there. The call fails with its error. Nil: nothing is asked.
	EnterWrite func(context.Context) (leave func(), err error)
	// Rehearse is handed every call that would change something; none of them
	// is sent, and each fails with [ErrRehearsed]. Nil: they are sent.
	Rehearse func(method, path, body string)
}

// Client is a [godo.Client] that keeps to the token's quota. It is safe for
// concurrent use; one serves the whole process.
//
// Bodies are read whole before a call returns, so godo's streaming calls see
// the stream only at its end.
type Client struct {
	*godo.Client

	budget *budget
	health *healthTracker
}

// New makes a client. It makes no call.
func New(o Options) (*Client, error) {
	if o.TokenSource == nil {
		return nil, errors.New("new API client: no token source")
	}
	if o.QPS < 0 || o.Timeout < 0 {
		return nil, fmt.Errorf("new API client: QPS %v and timeout %s must not be negative", o.QPS, o.Timeout)
	}
	base, err := baseURL(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("new API client: %w", err)
	}
	o = withDefaults(o)
	health := &healthTracker{clock: o.Clock}
	var rt http.RoundTripper = &exchange{base: o.Transport, timeout: o.Timeout}
	rt = &logged{next: rt, clock: o.Clock}
	rt = &measured{next: rt, clock: o.Clock, metrics: o.Metrics}
	if o.EnterWrite != nil {
		rt = &gated{next: rt, enter: o.EnterWrite}
	}
	budget := newBudget(rt, o.Clock, o.QPS, o.Metrics)
	signer := &auth{
		next: budget, source: o.TokenSource, userAgent: userAgentName + o.Version,
		scheme: base.Scheme, host: base.Host, clock: o.Clock, health: health,
	}
	var outermost http.RoundTripper = &retrier{next: signer, clock: o.Clock, metrics: o.Metrics}
	if o.Rehearse != nil {
		outermost = &rehearsed{next: outermost, tell: o.Rehearse}
	}
	client := godo.NewClient(&http.Client{
		Transport: outermost,
		// The API redirects nowhere; following would be a way for the token to
		// leave.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
	client.BaseURL = base
	client.UserAgent = signer.userAgent
	return &Client{Client: client, budget: budget, health: health}, nil
}

func withDefaults(o Options) Options {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Version == "" {
		o.Version = "unknown"
	}
	return o
}

func newTransport() http.RoundTripper {
	standard, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t := standard.Clone()
	t.MaxIdleConnsPerHost = idlePerHost
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout}
	return t
}

// baseURL checks and completes the base URL. godo resolves some of its paths
// against the host alone, so a path prefix would hold for the others only.
func baseURL(u *url.URL) (*url.URL, error) {
	if u == nil {
		return url.Parse(defaultBaseURL)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("base URL %s must be an http or https URL with a host", u.Redacted())
	case u.Path != "" && u.Path != "/", u.RawQuery != "", u.Fragment != "", u.User != nil:
		return nil, fmt.Errorf("base URL %s must have no path, query or user", u.Redacted())
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}, nil
}

// Health says what the latest answers tell of the API. It makes no call.
func (c *Client) Health() Health { return c.health.get() }

// Quota says what is known of the token's quota. It makes no call.
func (c *Client) Quota() Quota {
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	return c.budget.quota()
}
