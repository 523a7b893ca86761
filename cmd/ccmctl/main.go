// Command ccmctl is for people who work with the manager: it runs a sandbox, and
// provides the programs of a control plane.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C ends the program at once, if cleaning up ever hangs.
	context.AfterFunc(ctx, stop)
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "ccmctl",
		Short:         "Tools around the DigitalOcean cloud controller manager",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newSandboxCommand(), newControlPlaneCommand())
	return root
}
