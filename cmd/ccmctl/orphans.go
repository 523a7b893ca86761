package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/digitalocean/godo"
	"github.com/spf13/cobra"

	"digitalocean-cloud-controller-manager/internal/config"
)

func newOrphansCommand() *cobra.Command {
	var f lookFlags
	cmd := &cobra.Command{
		Use:   "orphans",
		Short: "List load balancers of this cluster that no Service has",
		Long: `List load balancers of this cluster that no Service has, and that cost money until
somebody deletes them. They are known by the cluster's tag, so DO_CLUSTER_ID must
be set.

` + accessHelp,
		Example: `  # Load balancers that were left behind.
  ccmctl orphans

  # Their ids.
  ccmctl orphans -o json | jq -r '.loadBalancers[].id'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.orphans(cmd.Context(), cmd.OutOrStdout()) },
	}
	f.flags(cmd)
	return cmd
}

func (f *lookFlags) orphans(ctx context.Context, out io.Writer) error {
	return f.within(ctx, func(ctx context.Context, w *world) error {
		if w.settings.ClusterID == "" {
			return errors.New(config.EnvClusterID + " must be set as the manager has it: by its tag the load balancers of this cluster are told from others")
		}
		p, _, err := w.preview(ctx, everything)
		if err != nil {
			return err
		}
		defer p.Close()
		orphans, err := p.Orphans(ctx)
		if err != nil {
			return err
		}
		return writeOrphans(out, f.output, orphans)
	})
}

type orphan struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	IP      string `json:"ip,omitempty"`
	Created string `json:"created"`
}

func writeOrphans(out io.Writer, output string, orphans []*godo.LoadBalancer) error {
	all := []orphan{} // an empty list rather than null
	for _, lb := range orphans {
		all = append(all, orphan{lb.ID, lb.Name, lb.IP, lb.Created})
	}
	if output == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(map[string]any{"loadBalancers": all}); err != nil {
			return fmt.Errorf("write the list: %w", err)
		}
		return nil
	}
	if len(all) == 0 {
		fmt.Fprintln(out, "No load balancer of this cluster is without a Service.")
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tADDRESS\tCREATED")
	for _, o := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", o.ID, o.Name, o.IP, o.Created)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the list: %w", err)
	}
	return nil
}
