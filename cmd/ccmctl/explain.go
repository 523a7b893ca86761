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

An ANNOTATION is named by its whole key or by its last part, as the list has it. One
that may speak of a single port is also explained with that port's number or name.`,
		Example: `  # All annotations.
  ccmctl explain

  # One of them.
  ccmctl explain size-unit
  ccmctl explain service.beta.kubernetes.io/do-loadbalancer-size-unit

  # What it is for one port.
  ccmctl explain certificate-id.443`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listAnnotations(cmd.OutOrStdout())
			}
			d, port, err := findAnnotation(args[0])
			if err != nil {
				return err
			}
			return explain(cmd.OutOrStdout(), d, port, isTerminal(cmd.OutOrStdout()))
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

// findAnnotation finds an annotation by its key, or by a part at the key's end,
// and the port for which it is, if it names one.
func findAnnotation(name string) (d annotation.Definition, port string, err error) {
	if d, ok := annotationNamed(name); ok {
		return d, "", nil
	}
	base, port := splitPort(name)
	if d, ok := annotationNamed(base); port != "" && ok && d.PerPort {
		return d, port, nil
	}
	return annotation.Definition{}, "", fmt.Errorf("there is no annotation %q; %s", name, meant(name, base, port))
}

// annotationNamed finds an annotation by its name without a port.
func annotationNamed(name string) (annotation.Definition, bool) {
	i := slices.IndexFunc(annotation.Registry, func(d annotation.Definition) bool {
		return name == d.Key || name == annotation.Suffix(d.Key) || strings.HasSuffix(d.Key, "/"+name)
	})
	if i < 0 {
		return annotation.Definition{}, false
	}
	return annotation.Registry[i], true
}

// splitPort splits a name at what would be a port's number or name; port is empty
// where nothing can be one.
func splitPort(name string) (base, port string) {
	if base, port, ok := annotation.SplitPort(name); ok {
		return base, port
	}
	return name, ""
}

// meant says what may have been meant by a name that isn't known.
func meant(name, base, port string) string {
	if d, ok := annotationNamed(base); ok {
		return annotation.Suffix(d.Key) + " can't be set for single ports"
	}
	var names, perPort, similar []string
	for _, d := range annotation.Registry {
		suffix := annotation.Suffix(d.Key)
		names = append(names, suffix)
		if d.PerPort {
			perPort = append(perPort, suffix)
		}
		if len(name) > 1 && strings.Contains(suffix, name) {
			similar = append(similar, suffix)
		}
	}
	if len(similar) > 0 {
		return "these have that in their names: " + strings.Join(similar, ", ")
	}
	if near := nearest.By(base, perPort, lastPart); port != "" && near != "" {
		return "is " + near + "." + port + " meant?"
	}
	for _, part := range []string{name, base} {
		if near := nearest.By(part, names, lastPart); near != "" {
			return "is " + near + " meant?"
		}
	}
	return "the list of all is what explain prints without an argument"
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

// explain writes the annotation's part of the page on all of them, and what it is
// for a port where one is named.
func explain(out io.Writer, d annotation.Definition, port string, bold bool) error {
	title := d.Key
	if port != "" {
		title += "." + port
	}
	if bold {
		title = "\x1b[1m" + title + "\x1b[0m"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", title)
	if port != "" {
		b.WriteString("\n" + wrap("", "", fmt.Sprintf(
			"For the Service's TCP port %s alone, in place of what %s says for all. It has no effect where the Service has no such port.", port, annotation.Suffix(d.Key))))
	}
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
