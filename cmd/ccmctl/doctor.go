package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/doctor"
)

func newDoctorCommand() *cobra.Command {
	var f lookFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find out why it does not work, and what to do",
		Long: `Find out why it does not work, and what to do.

Looks at the kubelets' flags by their Nodes, at names of Nodes and droplets, at what
the token may read, region and VPC, firewalls of the same name, whether a manager
leads and what else works on Services, at Services that are refused, load balancers
without backends, Services without ready Pods, the admission webhook, and the quota
of requests. What the token may write can't be tried without a write.

` + accessHelp + `

The exit code is 1 where an error was found, else 0.`,
		Example: `  # With the manager's settings.
  export DO_ACCESS_TOKEN REGION=nyc3 DO_CLUSTER_ID=...
  ccmctl doctor

  # For programs.
  ccmctl doctor -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.doctor(cmd.Context(), cmd.OutOrStdout()) },
	}
	f.flags(cmd)
	return cmd
}

func (f *lookFlags) doctor(ctx context.Context, out io.Writer) error {
	return f.within(ctx, func(ctx context.Context, w *world) error {
		findings := doctor.Examine(doctor.Gather(ctx, doctor.Options{Settings: w.settings, Client: w.client, Kube: w.kube, Clock: clock.RealClock{}}))
		if err := writeFindings(out, f.output, findings); err != nil {
			return err
		}
		if slices.ContainsFunc(findings, func(found doctor.Finding) bool { return found.Severity == doctor.Error }) {
			return &exitError{code: exitFindings}
		}
		return nil
	})
}

func writeFindings(out io.Writer, output string, findings []doctor.Finding) error {
	if output == "json" {
		if findings == nil {
			findings = []doctor.Finding{} // an empty list rather than null
		}
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(map[string]any{"findings": findings}); err != nil {
			return fmt.Errorf("write findings: %w", err)
		}
		return nil
	}
	colour := isTerminal(out)
	var b strings.Builder
	for _, found := range findings {
		severity := string(found.Severity)
		if colour && found.Severity == doctor.Error {
			severity = "\x1b[31m" + severity + "\x1b[0m"
		} else if colour {
			severity = "\x1b[33m" + severity + "\x1b[0m"
		}
		fmt.Fprintf(&b, "%s: %s: %s\n  cure: %s\n", severity, found.Object, found.Message, found.Cure)
	}
	if len(findings) == 0 {
		fmt.Fprintf(&b, "Nothing was found by the checks %s.\n", strings.Join(doctor.Names(), ", "))
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("write findings: %w", err)
	}
	return nil
}
