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
	// SIGHUP comes when the terminal is closed. A second signal changes nothing:
	// cleaning up takes seconds, and an impatient one must not cut it short.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
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
