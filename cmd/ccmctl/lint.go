package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/config"
	"digitalocean-cloud-controller-manager/internal/lint"
	"digitalocean-cloud-controller-manager/internal/version"
)

// Codes that lint ends with.
const (
	exitFindings = 1
	exitUnusable = 2
)

// stdin is the name of standard input as a file, and stdinName what findings
// call it.
const (
	stdin     = "-"
	stdinName = "stdin"
)

var (
	lintOutputs   = []string{"text", "json", "sarif"}
	balancerTypes = []string{annotation.TypeRegionalNetwork, annotation.TypeRegional}
)

type lintFlags struct {
	output      string
	strict      bool
	defaultType string
	config      string
}

func newLintCommand() *cobra.Command {
	var f lintFlags
	cmd := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Find mistakes in the Services of manifests, without a cluster",
		Long: `Find mistakes in the Services of manifests, without a cluster.

Says of every Service of type LoadBalancer what the manager would refuse, and
what it would do and is hardly meant, by the very rules that it goes by. Needs
neither a cluster nor a token: only what the account has, such as certificates,
and what a load balancer that exists can't be changed to, is not looked at.

A FILE holds YAML documents or JSON; "-" is standard input. Other kinds of objects
are skipped. A finding is a line "FILE:LINE: ANNOTATION: MESSAGE"; one that is no
error says "warning" or "note" after the line.

The exit code is 0 where nothing is wrong, 1 where there are errors (with --strict
warnings count too, notes never), and 2 where a file can't be read.`,
		Example: `  # Manifests of an application, before they are applied.
  ccmctl lint deploy/*.yaml

  # What a chart or an overlay renders to.
  helm template my-chart | ccmctl lint -

  # By the defaults that the manager has in this cluster; warnings fail too.
  ccmctl lint --cloud-config cloud-config.yaml --strict service.yaml

  # For the code scanning of a hosting service.
  ccmctl lint -o sarif deploy/*.yaml > lint.sarif`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &exitError{exitUnusable, fmt.Errorf("name the files to look at, or - for standard input")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &exitError{exitUnusable, err} })
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", lintOutputs[0], "format: "+strings.Join(lintOutputs, ", "))
	flags.BoolVar(&f.strict, "strict", false, "exit with 1 for warnings as well")
	flags.StringVar(&f.defaultType, "default-type", "", "type of load balancers that name none, as the manager's DEFAULT_LB_TYPE (default "+annotation.TypeRegionalNetwork+", or what --cloud-config says)")
	flags.StringVar(&f.config, "cloud-config", "", "configuration file of the manager, for its defaults, classes and limits of annotations")
	complete(cmd, "output", lintOutputs)
	complete(cmd, "default-type", balancerTypes)
	return cmd
}

// complete has the shell complete the values of a flag.
func complete(cmd *cobra.Command, flag string, values []string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // there is no such flag: a mistake here, found by any test
	}
}

func (f lintFlags) run(cmd *cobra.Command, files []string) error {
	options, err := f.options()
	if err != nil {
		return &exitError{exitUnusable, err}
	}
	var report lint.Report
	var unusable []error
	for _, file := range files {
		found, err := lintFile(cmd.InOrStdin(), file, options)
		report.Add(found)
		if err != nil {
			unusable = append(unusable, err)
		}
	}
	if err := f.write(cmd, report); err != nil {
		return &exitError{exitUnusable, err}
	}
	if len(unusable) > 0 {
		return &exitError{exitUnusable, errors.Join(unusable...)}
	}
	if report.Count(lint.Error) > 0 || f.strict && report.Count(lint.Warning) > 0 {
		return &exitError{code: exitFindings}
	}
	return nil
}

// options checks the flags, and reads the manager's defaults.
func (f lintFlags) options() (lint.Options, error) {
	if !slices.Contains(lintOutputs, f.output) {
		return lint.Options{}, fmt.Errorf("--output must be %s, got %q", alternatives(lintOutputs), f.output)
	}
	if f.defaultType != "" && !slices.Contains(balancerTypes, f.defaultType) {
		return lint.Options{}, fmt.Errorf("--default-type must be %s, got %q", alternatives(balancerTypes), f.defaultType)
	}
	if f.config != "" {
		c, err := f.readConfig()
		if err != nil {
			return lint.Options{}, err
		}
		return lint.Options{Defaults: c.Defaults, Limits: c.Limits}, nil
	}
	o := lint.Options{Defaults: annotation.Defaults{Type: annotation.TypeRegionalNetwork}, AnyClass: true}
	if f.defaultType != "" {
		o.Defaults.Type = f.defaultType
	}
	return o, nil
}

// readConfig reads the manager's configuration as the manager does. The flag
// stands for the environment, and a token is not needed.
func (f lintFlags) readConfig() (*config.Config, error) {
	file, err := os.Open(f.config)
	if err != nil {
		return nil, fmt.Errorf("read --cloud-config: %w", err)
	}
	defer file.Close()
	settings := map[string]string{config.EnvToken: "none", config.EnvDefaultType: f.defaultType}
	return config.Read(func(name string) (string, bool) {
		value, ok := settings[name]
		return value, ok
	}, file)
}

func lintFile(in io.Reader, file string, o lint.Options) (lint.Report, error) {
	if file == stdin {
		data, err := io.ReadAll(in)
		if err != nil {
			return lint.Report{}, fmt.Errorf("read standard input: %w", err)
		}
		return lint.Check(stdinName, data, o)
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return lint.Report{}, fmt.Errorf("%s is a directory: name its files, as in %s/*.yaml", file, strings.TrimSuffix(file, "/"))
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return lint.Report{}, err // it names the operation and the file
	}
	return lint.Check(file, data, o)
}

// write writes the report. The count goes to standard error, so that the other
// has findings only.
func (f lintFlags) write(cmd *cobra.Command, report lint.Report) error {
	out := cmd.OutOrStdout()
	switch f.output {
	case "json":
		return report.WriteJSON(out)
	case "sarif":
		return report.WriteSARIF(out, version.Version())
	}
	if err := report.WriteText(out, isTerminal(out)); err != nil {
		return err
	}
	fmt.Fprintln(cmd.ErrOrStderr(), report.Summary())
	return nil
}

// isTerminal tells whether there is somebody to see colours, and wants any.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(file.Fd()))
}

func alternatives(values []string) string {
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}
