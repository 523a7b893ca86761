package state

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Metric describes a metric in the documentation.
type Metric struct {
	Name string
	// Type is Prometheus' word: counter, gauge or histogram.
	Type   string
	Labels []string
	Help   string
	// Where is which process exposes it.
	Where string
}

// Labels tell for every label which values it has. A label that isn't here may
// have any number of values, and so any number of time series: there must be
// none.
var Labels = map[string]string{
	"class":              "who must act on an error: `" + strings.Join(classes(), "`, `") + "`",
	"code":               "the HTTP status, or `timeout`, `canceled`, `error` where there was no answer",
	"commit":             "one: the source's revision",
	"controller":         "the manager's own controllers: `public-access-firewall-controller`, `cluster-tag-controller`, `drift-controller`, `other-managers-controller`",
	"endpoint":           "the path of the API with its variable parts replaced, such as `/v2/load_balancers/{id}`; `other`",
	"error_type":         "empty for none; who must act on an error (as `class`); `canceled`",
	"field":              "the parts of a load balancer that the manager decides, such as `forwarding_rules`",
	"go_version":         "one: the version of Go that the manager was built with",
	"http_response_code": "the HTTP status; `none` where there was no answer",
	"kind":               "`" + KindLoadBalancer + "`, `" + KindNode + "`, and `" + KindFirewall + "` where the firewall is kept",
	"method":             "the HTTP method; `other`",
	"object":             "what would be written to: `load_balancer`, `firewall`, `tag`, `node`, `service`, `event`, `other`",
	"operation":          "what is done: to a firewall, or to a Service that is to be admitted",
	"priority":           "`urgent`, `normal`, `background`",
	"reason":             "of problems: the reasons of warnings in [events](events.md), and `other`; of requests that are sent again: the HTTP status or why there was none",
	"result":             "of syncs: `" + strings.Join(resultNames(), "`, `") + "`; of the others: `success`, and `error` or `failure`; of admission: as the metric's meaning lists",
	"state":              "of Nodes: see [nodes](nodes.md); of load balancers: `" + strings.Join(standingNames(), "`, `") + "`",
	"version":            "one: the manager's release",
}

func classes() []string {
	names := resultNames()
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains([]Result{ResultSuccess, ResultWaiting, ResultKubernetes}, Result(name))
	})
}

func resultNames() []string {
	var names []string
	for _, result := range Results() {
		names = append(names, string(result))
	}
	return names
}

func standingNames() []string {
	var names []string
	for _, standing := range Standings() {
		names = append(names, string(standing))
	}
	return names
}

const documentHead = `# Metrics

<!-- Made from the registered metrics by "make generate". -->

The manager exposes these at ` + "`/metrics`" + ` of ` + "`METRICS_ADDR`" + `, on every replica and from
before it leads, beside those of the framework (` + "`workqueue_*`" + `, ` + "`rest_client_*`" + `,
` + "`leader_election_*`" + `, ` + "`go_*`" + `, ` + "`process_*`" + `). The admission server exposes its own the
same way. How to use them: [observability](observability.md).

"Leader" are those that only the replica has that does the work; those of a
controller of the manager's own are there where it runs.

| name | type | labels | where | meaning |
|---|---|---|---|---|
`

// Document renders metrics as a page for users, in Markdown.
func Document(all []Metric) string {
	all = slices.SortedFunc(slices.Values(all), func(a, b Metric) int { return cmp.Compare(a.Name, b.Name) })
	var b strings.Builder
	b.WriteString(documentHead)
	used := map[string]bool{}
	for _, m := range all {
		labels := make([]string, len(m.Labels))
		for i, label := range m.Labels {
			labels[i], used[label] = "`"+label+"`", true
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.Name, m.Type, strings.Join(labels, ", "), m.Where, strings.ReplaceAll(m.Help, "|", `\|`))
	}
	b.WriteString("\n## Labels\n\nNo label has more values than these, whatever the cluster's size.\n\n| label | values |\n|---|---|\n")
	for _, label := range slices.Sorted(maps.Keys(used)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", label, Labels[label])
	}
	return b.String()
}
