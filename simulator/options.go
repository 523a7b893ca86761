package simulator

import (
	"time"

	"k8s.io/utils/clock"
)

// Option changes how New sets up a simulator.
type Option func(*config)

type config struct {
	clock    clock.PassiveClock
	seed     int64
	settings Settings
	tokens   []teamToken
	faults   []Fault
}

type teamToken struct {
	token, team string
	scopes      []string
}

// WithToken makes the token one of the team's; an empty team is "default". It
// may be repeated. As soon as one token is given, all others are answered 401.
// The first token's team is where AddDroplet and AddCertificate put what names
// no team.
//
// Scopes, like "load_balancer:read" or "droplet:*", are all that the token may
// do; without, it may do everything. "*:read" is a token for reading only. It
// panics when a scope is not of that form.
func WithToken(token, team string, scopes ...string) Option {
	if err := validateScopes(scopes); err != nil {
		panic(err)
	}
	if team == "" {
		team = defaultTeam
	}
	return func(c *config) { c.tokens = append(c.tokens, teamToken{token, team, scopes}) }
}

// WithLoadBalancerActivation sets how long a load balancer is new before it is
// active and has its address. Default 0: it is active when it is next read.
func WithLoadBalancerActivation(d time.Duration) Option {
	return func(c *config) { c.settings.LoadBalancerActivation = d }
}

// WithDropletActivation sets how long a droplet made through the API is new
// before it is active and has its addresses. Default 0. Droplets added with
// AddDroplet are active at once.
func WithDropletActivation(d time.Duration) Option {
	return func(c *config) { c.settings.DropletActivation = d }
}

// WithPublicAddressDelay sets how long a droplet made through the API is active
// before its public addresses are shown. Default 0.
func WithPublicAddressDelay(d time.Duration) Option {
	return func(c *config) { c.settings.PublicAddressDelay = d }
}

// WithActionDuration sets how long a droplet action is in progress. Default 0:
// it has completed when it is next read.
func WithActionDuration(d time.Duration) Option {
	return func(c *config) { c.settings.ActionDuration = d }
}

// WithBusyWindow sets how long after each write a load balancer refuses the
// next one with 403. Default 0.
func WithBusyWindow(d time.Duration) Option {
	return func(c *config) { c.settings.BusyWindow = d }
}

// WithResizeInterval sets how long after changing its size_unit a load balancer
// refuses to change it again. Default one minute, as in life; 0 is no limit.
func WithResizeInterval(d time.Duration) Option {
	return func(c *config) { c.settings.ResizeInterval = d }
}

// WithCertificateVerification sets how long a Let's Encrypt certificate made
// through the API is pending before it is verified. Default 0.
func WithCertificateVerification(d time.Duration) Option {
	return func(c *config) { c.settings.CertificateVerification = d }
}

// WithCertificateRelease sets how long a certificate cannot be deleted after
// the last load balancer has let it go. Default 0; in life seconds to minutes.
func WithCertificateRelease(d time.Duration) Option {
	return func(c *config) { c.settings.CertificateRelease = d }
}

// WithActivationReads makes whatever is on its way (a load balancer, droplet,
// certificate, firewall or action) arrive only when it has been read so often
// through the API, by its id or in a list, beside the time that it takes.
// Default 0: by time alone. With it a test needs no clock to see every stage.
func WithActivationReads(n int) Option {
	return func(c *config) { c.settings.ActivationReads = max(n, 0) }
}

// WithLimits sets how many objects of a kind a team may have.
func WithLimits(l Limits) Option {
	return func(c *config) { c.settings.Limits = l }
}

// WithListLag makes the lists of droplets, load balancers and firewalls show
// what was so long ago, by the simulator's clock; answers about one object show
// the present. Paths, like /v2/droplets, choose the lists; without, all lag. A
// list lags behind AddDroplet and its like too. It panics when a path is none of
// these lists.
func WithListLag(d time.Duration, paths ...string) Option {
	if len(paths) == 0 {
		paths = []string{everyList}
	}
	lags := map[string]Duration{}
	for _, path := range paths {
		lags[path] = Duration(d)
	}
	if err := validateListLag(lags); err != nil {
		panic(err)
	}
	return func(c *config) { c.settings.patchListLag(lags) }
}

// WithFirewallActivation sets how long a firewall is waiting after each write
// until it is applied to its droplets. Default 0.
func WithFirewallActivation(d time.Duration) Option {
	return func(c *config) { c.settings.FirewallActivation = d }
}

// WithRateLimit sets the requests that each token has in a sliding hour and in
// a sliding minute. Default 5000 and 250; 0 is without limit. Unless there is none
// in a minute, the list of SSH keys has 10 in a minute besides.
func WithRateLimit(perHour, perMinute int) Option {
	return func(c *config) {
		c.settings.RateLimitPerHour, c.settings.RateLimitPerMinute = perHour, perMinute
	}
}

// WithHiddenLoadBalancerTags leaves the tags of load balancers out of answers.
// Public reports disagree whether the API shows them.
func WithHiddenLoadBalancerTags() Option {
	return func(c *config) { c.settings.HideLoadBalancerTags = true }
}

// WithZeroPortsRefused refuses firewall rules that are sent with the ports "0",
// which is how every port is read back. Reports of the API disagree; by default
// they are accepted.
func WithZeroPortsRefused() Option {
	return func(c *config) { c.settings.RefuseZeroPorts = true }
}

// WithClock sets the time that everything but delays goes by. Default: the
// system's clock.
func WithClock(clock clock.PassiveClock) Option {
	return func(c *config) { c.clock = clock }
}

// WithSeed sets the seed of ids and of the probability of faults. Default 1.
func WithSeed(seed int64) Option {
	return func(c *config) { c.seed = seed }
}

// WithLatency delays every answer of the API after the request took effect, in
// real time. Default 0.
func WithLatency(d time.Duration) Option {
	return func(c *config) { c.settings.Latency = d }
}

// WithFault adds a fault from the start. It may be repeated; see AddFault.
func WithFault(f Fault) Option {
	if err := f.validate(); err != nil {
		panic(err)
	}
	return func(c *config) { c.faults = append(c.faults, f) }
}

// WithMetadataDroplet makes the metadata service answer for this droplet. By
// default it answers for the one that the header X-Simulator-Droplet of a
// request names, else for the oldest.
func WithMetadataDroplet(id int) Option {
	return func(c *config) { c.settings.MetadataDroplet = id }
}
