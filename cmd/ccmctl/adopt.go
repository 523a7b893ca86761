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

type readFlags struct {
	access
	output string
}

func newAdoptCommand() *cobra.Command {
	var f readFlags
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
		RunE: func(cmd *cobra.Command, _ []string) error { return f.adopt(cmd) },
	}
	f.flags(cmd)
	outputFlag(cmd, &f.output)
	return cmd
}

func (f *readFlags) adopt(cmd *cobra.Command) error {
	if err := checkOutput(f.output); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), commandTimeout)
	defer cancel()
	w, err := f.connect()
	if err != nil {
		return err
	}
	cluster, err := w.cluster(ctx)
	if err != nil {
		return err
	}
	p, err := w.preview(ctx, cluster)
	if err != nil {
		return err
	}
	defer p.Close()
	entries, err := p.All(ctx, allOf(&cluster))
	if err != nil {
		return err
	}
	return writeEntries(cmd.OutOrStdout(), f.output, entries, true)
}

func newOrphansCommand() *cobra.Command {
	var f readFlags
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
		RunE: func(cmd *cobra.Command, _ []string) error { return f.orphans(cmd) },
	}
	f.flags(cmd)
	outputFlag(cmd, &f.output)
	return cmd
}

func (f *readFlags) orphans(cmd *cobra.Command) error {
	if err := checkOutput(f.output); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), commandTimeout)
	defer cancel()
	w, err := f.connect()
	if err != nil {
		return err
	}
	if w.settings.ClusterID == "" {
		return errors.New(config.EnvClusterID + " must be set as the manager has it: by its tag the load balancers of this cluster are told from others")
	}
	cluster, err := w.cluster(ctx)
	if err != nil {
		return err
	}
	p, err := w.preview(ctx, cluster)
	if err != nil {
		return err
	}
	defer p.Close()
	orphans, err := p.Orphans(ctx)
	if err != nil {
		return err
	}
	return writeOrphans(cmd.OutOrStdout(), f.output, orphans)
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
