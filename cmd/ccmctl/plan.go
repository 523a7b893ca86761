package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/preview"
)

// exitChanges is what plan ends with where there are changes, if asked for.
const exitChanges = 2

type planFlags struct {
	lookFlags
	file     string
	space    string
	detailed bool
}

func newPlanCommand() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan [-f FILE | [NAMESPACE/]NAME]",
		Short: "Show what the manager would do for Services, and do nothing",
		Long: `Show what the manager would do for Services, and do nothing.

Decides as the manager does, for a Service of the cluster, for the Services of a
FILE ("-" is standard input) as they would be once applied, or for all: a load
balancer is created, changed field by field, deleted, left, or the Service is
refused. Nothing is known of what a running manager remembers, so it foretells
what one does that has just started.

` + accessHelp + `

The exit code is 0, or 1 for errors and refused Services. With
--detailed-exitcode it is 2 where nothing is refused and something would change.`,
		Example: `  # A Service before it is applied.
  ccmctl plan -f service.yaml

  # One that is there already, and all.
  ccmctl plan shop/web
  ccmctl plan

  # As kubectl is asked: one, and all of a namespace.
  ccmctl plan -n shop web
  ccmctl plan -n shop

  # In a pipeline: 0 nothing, 1 error or refused, 2 changes.
  ccmctl plan --detailed-exitcode -o json -f service.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return f.run(cmd, name)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.flags(cmd)
	cmd.Flags().StringVarP(&f.file, "filename", "f", "", "manifests of Services; - for standard input")
	cmd.Flags().StringVarP(&f.space, "namespace", "n", "", "namespace of the NAME, of what in the FILE has none, or of all (default: the kubeconfig's for those two)")
	cmd.Flags().BoolVar(&f.detailed, "detailed-exitcode", false, "exit with 2 where something would change")
	return cmd
}

func (f *planFlags) run(cmd *cobra.Command, name string) error {
	if f.file != "" && name != "" {
		return errors.New("name a Service or a file with -f, not both")
	}
	if namespace, _, found := strings.Cut(name, "/"); found && f.space != "" && f.space != namespace {
		return fmt.Errorf("--namespace is %s, and %s names another", f.space, name)
	}
	return f.within(cmd.Context(), func(ctx context.Context, w *world) error {
		w.namespace = cmp.Or(f.space, w.namespace)
		p, services, err := w.preview(ctx, func(cluster *preview.Cluster) ([]*v1.Service, error) {
			return f.services(cmd.InOrStdin(), w, cluster, name)
		})
		if err != nil {
			return err
		}
		defer p.Close()
		entries, err := p.All(ctx, services)
		if err != nil {
			return err
		}
		named := f.file != "" || name != ""
		if err := writeEntries(cmd.OutOrStdout(), f.output, entries, named); err != nil {
			return err
		}
		return f.verdict(preview.Count(entries))
	})
}

// services are those to plan for.
func (f *planFlags) services(in io.Reader, w *world, cluster *preview.Cluster, name string) ([]*v1.Service, error) {
	switch {
	case f.file != "":
		data, file, err := readManifest(in, f.file)
		if err != nil {
			return nil, err
		}
		return cluster.Applied(file, data, w.namespace, time.Now())
	case name != "":
		namespace, short, found := strings.Cut(name, "/")
		if !found {
			namespace, short = w.namespace, name
		}
		svc := cluster.Service(namespace, short)
		if svc == nil {
			return nil, fmt.Errorf("there is no Service %s/%s", namespace, short)
		}
		return []*v1.Service{svc}, nil
	}
	all, err := everything(cluster)
	return slices.DeleteFunc(all, func(svc *v1.Service) bool { return f.space != "" && svc.Namespace != f.space }), err
}

func readManifest(in io.Reader, file string) (data []byte, name string, err error) {
	if file == stdin {
		if data, err = io.ReadAll(in); err != nil {
			return nil, "", fmt.Errorf("read standard input: %w", err)
		}
		return data, stdinName, nil
	}
	data, err = os.ReadFile(file)
	return data, file, err // it names the operation and the file
}

func writeEntries(out io.Writer, output string, entries []preview.Entry, unchanged bool) error {
	if output == "json" {
		return preview.WriteJSON(out, entries)
	}
	return preview.WriteText(out, entries, preview.TextOptions{Colour: isTerminal(out), Unchanged: unchanged})
}

func (f *planFlags) verdict(s preview.Summary) error {
	switch {
	case s.Refused > 0:
		return &exitError{code: exitFindings}
	case f.detailed && s.Changes():
		return &exitError{code: exitChanges}
	}
	return nil
}
