package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/nearest"
)

// textWidth is that of prose on a terminal.
const textWidth = 80

func newExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [ANNOTATION]",
		Short: "Explain an annotation on Services, or list them all",
		Long: `Explain an annotation on Services, or list them all.

An ANNOTATION is named by its whole key or by its last part, as the list has it.`,
		Example: `  # All annotations.
  ccmctl explain

  # One of them.
  ccmctl explain size-unit
  ccmctl explain service.beta.kubernetes.io/do-loadbalancer-size-unit`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listAnnotations(cmd.OutOrStdout())
			}
			d, err := findAnnotation(args[0])
			if err != nil {
				return err
			}
			return explain(cmd.OutOrStdout(), d, isTerminal(cmd.OutOrStdout()))
		},
		ValidArgsFunction: completeAnnotation,
	}
}

func completeAnnotation(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, d := range annotation.Registry {
		for _, name := range []string{annotation.Suffix(d.Key), d.Key} {
			if strings.HasPrefix(name, begun) {
				names = append(names, cobra.CompletionWithDesc(name, brief(d)))
				break
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// findAnnotation finds an annotation by its key, or by a part at the key's end.
func findAnnotation(name string) (annotation.Definition, error) {
	var names, similar []string
	for _, d := range annotation.Registry {
		suffix := annotation.Suffix(d.Key)
		if name == d.Key || name == suffix || strings.HasSuffix(d.Key, "/"+name) {
			return d, nil
		}
		names = append(names, suffix)
		if len(name) > 1 && strings.Contains(suffix, name) {
			similar = append(similar, suffix)
		}
	}
	hint := "the list of all is what explain prints without an argument"
	if len(similar) > 0 {
		hint = "these have that in their names: " + strings.Join(similar, ", ")
	} else if near := nearest.By(name, names, lastPart); near != "" {
		hint = "is " + near + " meant?"
	}
	return annotation.Definition{}, fmt.Errorf("there is no annotation %q; %s", name, hint)
}

// lastPart is a key without what only tells whose it is.
func lastPart(key string) string {
	return strings.TrimPrefix(key[strings.LastIndex(key, "/")+1:], "do-loadbalancer-")
}

func listAnnotations(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tWHAT IT DOES")
	for _, d := range annotation.Registry {
		fmt.Fprintf(table, "%s\t%s\n", annotation.Suffix(d.Key), brief(d))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the list of annotations: %w", err)
	}
	return nil
}

// brief is the documentation's first sentence.
func brief(d annotation.Definition) string {
	if d.Deprecated != "" {
		return plain("Deprecated: " + d.Deprecated)
	}
	sentence, _, _ := strings.Cut(d.Doc, ". ")
	return strings.TrimSuffix(plain(sentence), ".")
}

// marked is code in Markdown: between pairs of backticks where it has one itself.
var marked = regexp.MustCompile("`` (.+?) ``|`([^`]+)`")

// plain is a text without the marks of Markdown, and with short names of
// annotations.
func plain(markdown string) string {
	text := marked.ReplaceAllString(strings.ReplaceAll(markdown, "**", ""), "$1$2")
	for _, d := range annotation.Registry {
		text = strings.ReplaceAll(text, d.Key, annotation.Suffix(d.Key))
	}
	return text
}

// explain writes the annotation's part of the page on all of them.
func explain(out io.Writer, d annotation.Definition, bold bool) error {
	title := d.Key
	if bold {
		title = "\x1b[1m" + title + "\x1b[0m"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", title)
	for _, paragraph := range partOf(annotation.Document(), d.Key) {
		if item, ok := strings.CutPrefix(paragraph, "- "); ok {
			b.WriteString(wrap("- ", "  ", plain(item)))
		} else {
			b.WriteString("\n" + wrap("", "", plain(paragraph)) + "\n")
		}
	}
	fmt.Fprintf(&b, "- Since: version %s\n", cmp.Or(d.Since, annotation.FirstVersion))
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("write what the annotation is: %w", err)
	}
	return nil
}

// partOf is the lines below an annotation's heading that have text.
func partOf(page, key string) []string {
	_, part, _ := strings.Cut(page, "\n### `"+key+"`\n")
	part, _, _ = strings.Cut(part, "\n#")
	return slices.DeleteFunc(strings.Split(part, "\n"), func(line string) bool { return line == "" })
}

// wrap breaks a paragraph into lines of [textWidth]. A word that is longer stands
// alone.
func wrap(first, others, text string) string {
	var b strings.Builder
	line := first
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == first || line == others:
			line += word
		case len(line)+1+len(word) > textWidth:
			b.WriteString(line + "\n")
			line = others + word
		default:
			line += " " + word
		}
	}
	return b.String() + line + "\n"
}
