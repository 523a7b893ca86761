// Command digitalocean-simulator serves DigitalOcean's API v2 from memory, for
// trying and testing whatever talks to it. See the package simulator for what
// is simulated.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"digitalocean-cloud-controller-manager/simulator"
)

const (
	// shutdownGrace is how long answers under way may take at the end.
	shutdownGrace = 5 * time.Second
	// headerTimeout bounds clients that open a connection and say nothing.
	headerTimeout = 30 * time.Second
)

// options are the command's flags.
type options struct {
	listen             string
	tokens             []string
	activation         time.Duration
	dropletActivation  time.Duration
	busyWindow         time.Duration
	droplets           int
	latency            time.Duration
	seed               int64
	perHour, perMinute int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "digitalocean-simulator",
		Short: "Serve DigitalOcean's API v2 from memory",
		Long: `Serve DigitalOcean's API v2 from memory: droplets, load balancers, tags,
certificates, VPCs, the account, and a droplet's metadata service.

Nothing is kept when it stops. The control surface below ` + simulator.ControlPath + ` needs no
token, so listen on a loopback address.`,
		Example: `  # On a free port, with three droplets; any token is accepted.
  digitalocean-simulator --listen 127.0.0.1:0 --droplets 3

  # Two teams that do not see each other.
  digitalocean-simulator --token aaaa1111=blue --token bbbb2222=green

  # Ask it something.
  curl -H "Authorization: Bearer any" http://127.0.0.1:8080/v2/droplets

  # See what was asked of it, and make the next creation fail.
  curl http://127.0.0.1:8080/_simulator/requests
  curl -d '{"method":"POST","path":"/v2/load_balancers","count":1,"status":500}' \
    http://127.0.0.1:8080/_simulator/faults`,
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), o, cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "address to serve on; port 0 takes a free one")
	f.StringArrayVar(&o.tokens, "token", nil, "accept this token, as TOKEN or TOKEN=TEAM; repeatable; none: accept all")
	f.DurationVar(&o.activation, "load-balancer-activation", 60*time.Second, "how long a load balancer is new before it is active")
	f.DurationVar(&o.dropletActivation, "droplet-activation", 20*time.Second, "how long a droplet made through the API is new before it is active")
	f.DurationVar(&o.busyWindow, "busy-window", 0, "how long a load balancer refuses writes after each write")
	f.IntVar(&o.droplets, "droplets", 0, "number of example droplets to begin with")
	f.DurationVar(&o.latency, "latency", 0, "delay of every answer of the API")
	f.Int64Var(&o.seed, "seed", 1, "seed of ids and of the dice of faults")
	f.IntVar(&o.perHour, "rate-limit-hour", 5000, "requests of a token in a sliding hour; 0 is without limit")
	f.IntVar(&o.perMinute, "rate-limit-minute", 250, "requests of a token in a sliding minute; 0 is without limit")
	return cmd
}

// validate refuses flags that make no sense, naming the flag.
func (o options) validate() error {
	for name, d := range map[string]time.Duration{
		"load-balancer-activation": o.activation, "droplet-activation": o.dropletActivation,
		"busy-window": o.busyWindow, "latency": o.latency,
	} {
		if d < 0 {
			return fmt.Errorf("--%s must not be negative, got %s", name, d)
		}
	}
	if o.droplets < 0 {
		return fmt.Errorf("--droplets must not be negative, got %d", o.droplets)
	}
	for i, t := range o.tokens {
		if token, _, _ := strings.Cut(t, "="); token == "" {
			return fmt.Errorf("--token number %d is empty", i+1)
		}
	}
	return nil
}

func (o options) simulator() *simulator.Simulator {
	opts := []simulator.Option{
		simulator.WithLoadBalancerActivation(o.activation),
		simulator.WithDropletActivation(o.dropletActivation),
		simulator.WithBusyWindow(o.busyWindow),
		simulator.WithLatency(o.latency),
		simulator.WithSeed(o.seed),
		simulator.WithRateLimit(o.perHour, o.perMinute),
	}
	for _, t := range o.tokens {
		token, team, _ := strings.Cut(t, "=")
		opts = append(opts, simulator.WithToken(token, team))
	}
	sim := simulator.New(opts...)
	for i := range o.droplets {
		sim.AddDroplet(simulator.DropletSpec{Name: fmt.Sprintf("example-%d", i+1)})
	}
	return sim
}

// run serves until ctx ends.
func run(ctx context.Context, o options, out io.Writer) error {
	if err := o.validate(); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", o.listen, err)
	}
	server := &http.Server{Handler: o.simulator(), ReadHeaderTimeout: headerTimeout}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	url := "http://" + listener.Addr().String()
	fmt.Fprintf(out, "DigitalOcean simulator ready at %s (control surface: curl %s%sstate)\n", url, url, simulator.ControlPath)
	select {
	case err := <-served:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	return shutdown(server)
}

// shutdown lets answers under way finish, for a while.
func shutdown(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	}
	return err
}
