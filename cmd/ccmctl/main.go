// Command ccmctl is for people who work with the manager: it judges manifests,
// explains annotations, runs a sandbox, and provides the programs of a control
// plane. Linked as kubectl-do_ccm it is a plugin of kubectl.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"digitalocean-cloud-controller-manager/internal/version"
)

const (
	program = "ccmctl"
	// plugin is the name by which kubectl finds a command "do-ccm", and
	// pluginCall what people then type.
	plugin     = "kubectl-do_ccm"
	pluginCall = "kubectl do-ccm"
)

func main() {
	// SIGHUP comes when the terminal is closed. A second signal changes nothing:
	// cleaning up takes seconds, and an impatient one must not cut it short.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// What libraries log is for servers; what people need to know is printed.
	ctx = klog.NewContext(ctx, logr.Discard())
	root := newCommand()
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == plugin {
		asPlugin(root)
	}
	if err := root.ExecuteContext(ctx); err != nil {
		if err.Error() != "" {
			fmt.Fprintln(os.Stderr, "Error:", err)
		}
		os.Exit(exitCode(err))
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           program,
		Short:         "Tools around the DigitalOcean cloud controller manager",
		Version:       version.Full(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate(program + " {{.Version}}\n")
	root.AddCommand(newLintCommand(), newPlanCommand(), newAdoptCommand(), newOrphansCommand(), newDoctorCommand(), newExplainCommand(), newSandboxCommand(), newControlPlaneCommand(), newVersionCommand())
	return root
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, as --version does",
		Example: "  ccmctl version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), program, version.Full())
			return err
		},
	}
}

// asPlugin has the help speak of what the user typed.
func asPlugin(root *cobra.Command) {
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: pluginCall}
	for _, cmd := range root.Commands() {
		cmd.Long = strings.ReplaceAll(cmd.Long, program+" ", pluginCall+" ")
		cmd.Example = strings.ReplaceAll(cmd.Example, program+" ", pluginCall+" ")
	}
}

// exitError ends the program with a code of its own. Without an error it has
// been told already.
type exitError struct {
	code int
	err  error
}

// Error implements error.
func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap returns what went wrong.
func (e *exitError) Unwrap() error { return e.err }

// exitCode is what the program ends with; 1 where the error says nothing else.
func exitCode(err error) int {
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.code
	}
	return 1
}
