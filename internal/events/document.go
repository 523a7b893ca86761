package events

import (
	"fmt"
	"strings"
)

// Document renders the reasons as a page for users, in Markdown.
func Document() string {
	var b strings.Builder
	b.WriteString(`# Events

<!-- Made from internal/events/events.go by "make generate". -->

What the manager tells about an object is an event on it, where
` + "`kubectl describe`" + ` shows it. The same news is told again after half an hour, or
when it changes. The framework's own events (EnsuringLoadBalancer,
EnsuredLoadBalancer, SyncLoadBalancerFailed, DeletedLoadBalancer, …) come beside
these; SyncLoadBalancerFailed also appears while a load balancer is being made.

| reason | on | type | meaning |
|---|---|---|---|
`)
	for _, d := range Docs {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.Reason, d.Object, d.Type, d.Meaning)
	}
	return b.String()
}
