package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"digitalocean-cloud-controller-manager/simulator"
)

// options are the command's flags.
type options struct {
	listen       string
	tokens       []string
	scenarios    []string
	load, save   string
	droplets     int
	seed         int64
	perHour      int
	perMinute    int
	reads        int
	listLag      []string
	limits       []string
	lifeCycles   map[string]*time.Duration
	rejectTokens bool
}

// lifeCycle is a flag for how long something takes.
type lifeCycle struct {
	name   string
	usual  time.Duration
	usage  string
	option func(time.Duration) simulator.Option
}

var lifeCycles = []lifeCycle{
	{"load-balancer-activation", 60 * time.Second, "how long a load balancer is new before it is active", simulator.WithLoadBalancerActivation},
	{"droplet-activation", 20 * time.Second, "how long a droplet made through the API is new before it is active", simulator.WithDropletActivation},
	{"public-address-delay", 0, "how long a droplet made through the API is active before its public addresses are shown", simulator.WithPublicAddressDelay},
	{"action-duration", 5 * time.Second, "how long a droplet, volume or reserved IP action is in progress", simulator.WithActionDuration},
	{"firewall-activation", 2 * time.Second, "how long a firewall is waiting after each write", simulator.WithFirewallActivation},
	{"certificate-verification", 30 * time.Second, "how long a Let's Encrypt certificate is pending", simulator.WithCertificateVerification},
	{"certificate-release", 0, "how long a certificate counts as used after the last load balancer let it go", simulator.WithCertificateRelease},
	{"busy-window", 0, "how long a load balancer refuses writes after each write", simulator.WithBusyWindow},
	{"resize-interval", time.Minute, "how long after a resize a load balancer refuses the next one", simulator.WithResizeInterval},
	{"latency", 0, "delay of every answer of the API", simulator.WithLatency},
}

func (o *options) add(f *pflag.FlagSet) {
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "address to serve on; port 0 takes a free one")
	f.StringArrayVar(&o.tokens, "token", nil, "accept this token, as TOKEN, TOKEN=TEAM or TOKEN=TEAM=SCOPE,SCOPE (like droplet:read or *:read); repeatable; none: accept all")
	f.StringArrayVar(&o.scenarios, "scenario", nil, "YAML file with what there is to begin with; repeatable")
	f.StringVar(&o.load, "load", "", "snapshot to begin with; its settings win over the flags")
	f.StringVar(&o.save, "save", "", "file for a snapshot at the end")
	f.IntVar(&o.droplets, "droplets", 0, "number of example droplets to begin with")
	f.Int64Var(&o.seed, "seed", 1, "seed of ids and of the dice of faults")
	f.IntVar(&o.perHour, "rate-limit-hour", 5000, "requests of a token in a sliding hour; 0 is without limit")
	f.IntVar(&o.perMinute, "rate-limit-minute", 250, "requests of a token in a sliding minute; 0 is without limit")
	f.IntVar(&o.reads, "activation-reads", 0, "how often what is on its way has to be read until it has arrived, beside the time that it takes")
	f.StringArrayVar(&o.listLag, "list-lag", nil, "show lists as they were so long ago: DURATION for all, or PATH=DURATION (like /v2/droplets=5s); repeatable")
	f.StringArrayVar(&o.limits, "limit", nil, "most objects of a team, as KIND=NUMBER: "+strings.Join(slices.Sorted(maps.Keys(limitKinds)), ", ")+"; repeatable")
	f.BoolVar(&o.rejectTokens, "reject-tokens", false, "answer every token with 401")
	o.lifeCycles = map[string]*time.Duration{}
	for _, c := range lifeCycles {
		o.lifeCycles[c.name] = f.Duration(c.name, c.usual, c.usage)
	}
}

// simulator makes what the flags describe; each problem names its flag.
func (o *options) simulator() (*simulator.Simulator, error) {
	opts := []simulator.Option{simulator.WithSeed(o.seed), simulator.WithRateLimit(o.perHour, o.perMinute), simulator.WithActivationReads(o.reads)}
	for _, c := range lifeCycles {
		d := *o.lifeCycles[c.name]
		if d < 0 {
			return nil, fmt.Errorf("--%s must not be negative, got %s", c.name, d)
		}
		opts = append(opts, c.option(d))
	}
	for name, n := range map[string]int{
		"droplets": o.droplets, "rate-limit-hour": o.perHour, "rate-limit-minute": o.perMinute, "activation-reads": o.reads,
	} {
		if n < 0 {
			return nil, fmt.Errorf("--%s must not be negative, got %d", name, n)
		}
	}
	for i, t := range o.tokens {
		option, err := parseToken(t)
		if err != nil {
			// Its text is a secret.
			return nil, fmt.Errorf("--token number %d: %w", i+1, err)
		}
		opts = append(opts, option)
	}
	for _, lag := range o.listLag {
		option, err := parseListLag(lag)
		if err != nil {
			return nil, fmt.Errorf("--list-lag %s: %w", lag, err)
		}
		opts = append(opts, option)
	}
	sim := simulator.New(opts...)
	limits, err := parseLimits(o.limits)
	if err != nil {
		return nil, fmt.Errorf("--limit: %w", err)
	}
	sim.ChangeSettings(simulator.SettingsPatch{Limits: limits, RejectTokens: &o.rejectTokens})
	return sim, nil
}

func parseToken(text string) (simulator.Option, error) {
	token, rest, _ := strings.Cut(text, "=")
	team, scopeList, limited := strings.Cut(rest, "=")
	if token == "" {
		return nil, errors.New("it is empty")
	}
	var scopes []string
	if limited {
		scopes = strings.Split(scopeList, ",")
	}
	for _, scope := range scopes {
		if strings.Count(scope, ":") != 1 || strings.ContainsAny(scope, `[\`) {
			return nil, fmt.Errorf("scope %q is not like resource:verb", scope)
		}
	}
	return simulator.WithToken(token, team, scopes...), nil
}

func parseListLag(text string) (simulator.Option, error) {
	path, duration, single := strings.Cut(text, "=")
	if !single {
		path, duration = "", text
	}
	lag, err := time.ParseDuration(duration)
	switch {
	case err != nil:
		return nil, err
	case lag < 0:
		return nil, errors.New("it must not be negative")
	case !single:
		return simulator.WithListLag(lag), nil
	case !slices.Contains(simulator.LaggingLists(), path):
		return nil, fmt.Errorf("only these lists can lag: %s", strings.Join(simulator.LaggingLists(), ", "))
	}
	return simulator.WithListLag(lag, path), nil
}

var limitKinds = map[string]func(*simulator.LimitsPatch) **int{
	"droplets":       func(l *simulator.LimitsPatch) **int { return &l.Droplets },
	"load-balancers": func(l *simulator.LimitsPatch) **int { return &l.LoadBalancers },
	"firewalls":      func(l *simulator.LimitsPatch) **int { return &l.Firewalls },
	"reserved-ips":   func(l *simulator.LimitsPatch) **int { return &l.ReservedIPs },
	"volumes":        func(l *simulator.LimitsPatch) **int { return &l.Volumes },
}

func parseLimits(texts []string) (*simulator.LimitsPatch, error) {
	limits := &simulator.LimitsPatch{}
	for _, text := range texts {
		kind, number, _ := strings.Cut(text, "=")
		member, known := limitKinds[kind]
		n, err := strconv.Atoi(number)
		if !known || err != nil || n < 0 {
			return nil, fmt.Errorf("%q is not KIND=NUMBER with a known kind", text)
		}
		*member(limits) = &n
	}
	return limits, nil
}
