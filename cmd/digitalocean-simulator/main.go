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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"digitalocean-cloud-controller-manager/internal/version"
	"digitalocean-cloud-controller-manager/simulator"
)

const (
	// shutdownGrace is how long answers under way may take at the end.
	shutdownGrace = 5 * time.Second
	// headerTimeout bounds clients that open a connection and say nothing.
	headerTimeout = 30 * time.Second
)

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
		Long: `Serve DigitalOcean's API v2 from memory, and a droplet's metadata service below
/metadata/v1. The API has:

  ` + strings.Join(resources(), "\n  ") + `

It ends at an interrupt or SIGTERM and lets answers under way finish. Nothing is
kept then, unless --save names a file. The control surface below ` + simulator.ControlPath + `
needs no token, so listen on a loopback address.`,
		Example: `  # On a free port, with three droplets; any token is accepted.
  digitalocean-simulator --listen 127.0.0.1:0 --droplets 3

  # Two teams that do not see each other, and a token that only reads.
  digitalocean-simulator --token aaaa1111=blue --token bbbb2222=green --token cccc3333=blue=*:read

  # Begin with a scenario, go on from the same place the next time.
  digitalocean-simulator --scenario cluster.yaml --save state.json
  digitalocean-simulator --load state.json --save state.json

  # A slow and forgetful cloud.
  digitalocean-simulator --busy-window 30s --list-lag /v2/droplets=10s --limit load-balancers=5

  # Ask it something.
  curl -H "Authorization: Bearer any" http://127.0.0.1:8080/v2/droplets

  # See what was asked of it, and make the next creation fail.
  curl http://127.0.0.1:8080/_simulator/requests
  curl -d '{"method":"POST","path":"/v2/load_balancers","count":1,"status":500}' \
    http://127.0.0.1:8080/_simulator/faults`,
		Args:         cobra.NoArgs,
		Version:      version.Full(),
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), &o, cmd.OutOrStdout())
		},
	}
	o.add(cmd.Flags())
	return cmd
}

// resources names what the API has, in words.
func resources() []string {
	var names []string
	for _, operation := range simulator.Operations() {
		name := strings.ReplaceAll(strings.Split(operation, "/")[2], "_", " ")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// run serves until ctx ends.
func run(ctx context.Context, o *options, out io.Writer) error {
	sim, err := o.simulator()
	if err != nil {
		return err
	}
	if err := o.fill(sim); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", o.listen, err)
	}
	server := &http.Server{Handler: sim, ReadHeaderTimeout: headerTimeout}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	url := "http://" + listener.Addr().String()
	fmt.Fprintf(out, "DigitalOcean simulator ready at %s (console: open it in a browser; control surface: curl %s%sstate)\n", url, url, simulator.ControlPath)
	select {
	case err := <-served:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	if err := shutdown(server); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	if o.save == "" {
		return nil
	}
	return saveSnapshot(sim, o.save)
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
