package annotation

import (
	"fmt"
	"strings"
)

// Document renders the registry as a page for users, in Markdown.
func Document() string {
	var b strings.Builder
	b.WriteString(`# Annotations on Services

<!-- Made from internal/annotation/registry.go by "make generate". -->

Every value is a string. An empty value is the same as no annotation. A value
that can't be used is told in an event of the reason LoadBalancerConfigError on
the Service, all of them at once, and nothing is sent to DigitalOcean until it
is mended.
`)
	for _, d := range Registry {
		fmt.Fprintf(&b, "\n## `%s`\n\n%s\n\n", d.Key, d.Doc)
		fmt.Fprintf(&b, "- Value: %s\n", d.describeValue())
		if d.Default != "" {
			fmt.Fprintf(&b, "- Default: %s\n", quoteUnlessMarkdown(d.Default))
		}
		if d.Immutable {
			b.WriteString("- Can't be changed once the load balancer exists.\n")
		}
		if d.Written {
			b.WriteString("- Written by the manager as well.\n")
		}
	}
	return b.String()
}

func (d Definition) describeValue() string {
	switch d.Kind {
	case KindEnum:
		return "`" + strings.Join(d.Values, "` or `") + "`"
	case KindInt:
		return fmt.Sprintf("a whole number from %d to %d", d.Min, d.Max)
	case KindBool:
		return "`true` or `false`"
	case KindName:
		return fmt.Sprintf("letters, digits, `.` and `-`; starts with a letter or digit, doesn't end in `-`; at most %d characters", maxNameLength)
	default:
		return "a " + string(d.Kind)
	}
}

func quoteUnlessMarkdown(s string) string {
	if strings.Contains(s, "`") {
		return s
	}
	return "`" + s + "`"
}
