package annotation

import (
	"cmp"
	"fmt"
	"strings"
)

const documentHead = `# Annotations on Services

<!-- Made from internal/annotation by "make generate". -->

Every value is a string. An empty value is the same as no annotation, but for
override-health-check, whose presence counts. A value that can't be used is told
in an event of the reason LoadBalancerConfigError on the Service, all of them at
once, and nothing is sent to DigitalOcean until it is mended; the backends of a
load balancer that exists are kept up to date. An annotation that has no effect,
is deprecated, or looks like one of these with a slip in its key is warned of.

A list is separated by commas; blanks around its entries and duplicates are
forgiven. Ports are the Service's ports.

`

// Document renders the registry as a page for users, in Markdown.
func Document() string {
	var b strings.Builder
	b.WriteString(documentHead)
	for _, section := range sections {
		fmt.Fprintf(&b, "- %s\n", section.title)
		for _, d := range section.definitions {
			// GitHub's anchors drop what is neither letter, digit nor dash.
			anchor := strings.NewReplacer(".", "", "/", "").Replace(d.Key)
			fmt.Fprintf(&b, "  - [`%s`](#%s)\n", d.Key, anchor)
		}
	}
	for _, section := range sections {
		fmt.Fprintf(&b, "\n## %s\n", section.title)
		for _, d := range section.definitions {
			d.write(&b)
		}
	}
	return b.String()
}

func (d Definition) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n### `%s`\n\n%s\n\n", d.Key, d.Doc)
	if d.Deprecated != "" {
		fmt.Fprintf(b, "- **Deprecated**: %s.\n", d.Deprecated)
	}
	fmt.Fprintf(b, "- Value: %s\n", d.markdown())
	if text := cmp.Or(d.DefaultDoc, quote(d.Default)); text != "" {
		fmt.Fprintf(b, "- Default: %s\n", text)
	}
	switch {
	case d.NotForBalancer:
		b.WriteString("- Acts on: the public access firewall\n")
	case len(d.Types) > 0:
		fmt.Fprintf(b, "- Acts on: load balancers of the type %s\n", quote(strings.Join(d.Types, "`, `")))
	default:
		b.WriteString("- Acts on: load balancers of both types\n")
	}
	if d.PerPort {
		fmt.Fprintf(b, "- For one port: `%s`, with a TCP port of the Service in place of `<port>`, by number or by name. It wins over the one for all ports.\n", portKey(d.Key, "<port>"))
	}
	if d.Immutable {
		b.WriteString("- Can't be changed once the load balancer exists.\n")
	}
	if d.Written {
		b.WriteString("- Written by the manager as well.\n")
	}
}

// markdown describes the value in Markdown.
func (d Definition) markdown() string {
	values := d.Values
	switch d.Kind {
	case KindBool:
		values = []string{"true", "false"}
	case KindEnum:
	case KindCookie:
		return strings.ReplaceAll(d.describe(), cookieMarks, "`` "+cookieMarks+" ``")
	default:
		return d.describe()
	}
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = quote(value)
	}
	return alternatives(quoted)
}

func quote(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
