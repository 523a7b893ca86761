package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"
)

func newAdoptCommand() *cobra.Command {
	var f lookFlags
	cmd := &cobra.Command{
		Use:   "adopt",
		Short: "Show what a first start of the manager would change on this cluster",
		Long: `Show what a first start of the manager would change on this cluster, Service by
Service, such as one on which another manager worked until now.

Where a load balancer differs from its Service, it says field by field what would
be changed, and not before a drift period (DRIFT_PERIOD) after the start. Edit the
Service to keep it as it is. Services without changes are listed too. The marks
that the manager makes are not: the annotations with the load balancer's id and
type on the Service, and tags on the load balancer.

` + accessHelp,
		Example: `  # Before the first start, with the settings that the manager will have.
  export DO_ACCESS_TOKEN REGION=nyc3 DO_CLUSTER_ID=...
  ccmctl adopt

  # For programs.
  ccmctl adopt -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.adopt(cmd.Context(), cmd.OutOrStdout()) },
	}
	f.flags(cmd)
	return cmd
}

func (f *lookFlags) adopt(ctx context.Context, out io.Writer) error {
	return f.within(ctx, func(ctx context.Context, w *world) error {
		p, services, err := w.preview(ctx, everything)
		if err != nil {
			return err
		}
		defer p.Close()
		entries, err := p.All(ctx, services)
		if err != nil {
			return err
		}
		return writeEntries(out, f.output, entries, true)
	})
}
