package state_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"

	"digitalocean-cloud-controller-manager/internal/admission"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/drift"
	"digitalocean-cloud-controller-manager/internal/firewall"
	"digitalocean-cloud-controller-manager/internal/golden"
	"digitalocean-cloud-controller-manager/internal/instances"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/internal/loadbalancer/reconciler"
	"digitalocean-cloud-controller-manager/internal/rehearsal"
	"digitalocean-cloud-controller-manager/internal/rivals"
	"digitalocean-cloud-controller-manager/internal/state"
	"digitalocean-cloud-controller-manager/internal/tagging"
)

const (
	everywhere = "every replica"
	leader     = "leader"
)

// sources are all constructors of metrics, by package and name.
func sources() map[string]source {
	registered := func(where string, make func(func(...metrics.Registerable))) source {
		return source{where: where, register: make}
	}
	collected := func(c metrics.StableCollector) source { return source{where: leader, collector: c} }
	return map[string]source{
		"doapi.NewMetrics": registered(everywhere, func(register func(...metrics.Registerable)) {
			_ = doapi.NewMetrics().Register(func(r metrics.Registerable) error { register(r); return nil })
		}),
		"state.NewMetrics":               registered(everywhere, func(r func(...metrics.Registerable)) { state.NewMetrics(r) }),
		"rehearsal.NewMetrics":           registered("where it only observes", func(r func(...metrics.Registerable)) { rehearsal.NewMetrics(r) }),
		"state.NewCollector":             collected(state.NewCollector(nil)),
		"inventory.NewCollector":         collected(inventory.NewCollector(nil)),
		"inventory.NewBalancerCollector": collected(inventory.NewBalancerCollector(nil)),
		"instances.NewCollector":         collected(instances.NewCollector(nil)),
		"instances.NewMetrics":           registered(leader, func(r func(...metrics.Registerable)) { instances.NewMetrics(r) }),
		"reconciler.NewMetrics":          registered(leader, func(r func(...metrics.Registerable)) { reconciler.NewMetrics(r) }),
		"drift.NewMetrics":               registered("leader, `drift-controller`", func(r func(...metrics.Registerable)) { drift.NewMetrics(r) }),
		"drift.NewNodeMetrics":           registered("leader, `drift-controller`", func(r func(...metrics.Registerable)) { drift.NewNodeMetrics(r) }),
		"rivals.NewMetrics":              registered("leader, `other-managers-controller`", func(r func(...metrics.Registerable)) { rivals.NewMetrics(r) }),
		"tagging.NewMetrics":             registered("leader, `cluster-tag-controller`", func(r func(...metrics.Registerable)) { tagging.NewMetrics(r) }),
		"firewall.NewMetrics":            registered("leader, `public-access-firewall-controller`", func(r func(...metrics.Registerable)) { firewall.NewMetrics(r) }),
		"admission.NewMetrics":           registered("admission server", func(r func(...metrics.Registerable)) { admission.NewMetrics(r) }),
	}
}

// source is a constructor of metrics: it registers them, or is a collector.
type source struct {
	where     string
	register  func(func(...metrics.Registerable))
	collector metrics.StableCollector
}

// metrics describes what the source makes.
func (s source) metrics(t *testing.T) []state.Metric {
	t.Helper()
	registry := metrics.NewKubeRegistry()
	var all []state.Metric
	if s.collector != nil {
		registry.CustomMustRegister(s.collector)
		return append(all, describe(t, s.collector, "gauge", s.where)...)
	}
	s.register(func(registered ...metrics.Registerable) {
		registry.MustRegister(registered...)
		for _, r := range registered {
			all = append(all, describe(t, r, typeOf(t, r), s.where)...)
		}
	})
	return all
}

func typeOf(t *testing.T, r metrics.Registerable) string {
	t.Helper()
	switch r.(type) {
	case *metrics.Counter, *metrics.CounterVec:
		return "counter"
	case *metrics.Gauge, *metrics.GaugeVec:
		return "gauge"
	case *metrics.Histogram, *metrics.HistogramVec:
		return "histogram"
	}
	t.Fatalf("%s is a %T", r.FQName(), r)
	return ""
}

var description = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: "(?:\[ALPHA\] )?(.*)", unit: "[^"]*", constLabels: \{\}, variableLabels: \{([^}]*)\}\}$`)

func describe(t *testing.T, c prometheus.Collector, kind, where string) []state.Metric {
	t.Helper()
	descriptions := make(chan *prometheus.Desc, 100)
	c.Describe(descriptions)
	close(descriptions)
	var all []state.Metric
	for d := range descriptions {
		parts := description.FindStringSubmatch(d.String())
		if parts == nil {
			t.Fatalf("can't read %s", d)
		}
		m := state.Metric{Name: parts[1], Type: kind, Help: parts[2], Where: where}
		if parts[3] != "" {
			m.Labels = strings.Split(parts[3], ",")
		}
		all = append(all, m)
	}
	return all
}

func documented(t *testing.T) []state.Metric {
	t.Helper()
	var all []state.Metric
	for name, source := range sources() {
		made := source.metrics(t)
		if len(made) == 0 {
			t.Errorf("%s makes no metric", name)
		}
		all = append(all, made...)
	}
	return all
}

func TestDocumentationIsCurrent(t *testing.T) {
	golden.Check(t, "../../docs/metrics.md", state.Document(documented(t)))
}

func TestMetricsFollowTheRules(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range documented(t) {
		if seen[m.Name] {
			t.Errorf("%s is made twice", m.Name)
		}
		seen[m.Name] = true
		// The public manager's metrics of the firewall keep their names.
		if !strings.HasPrefix(m.Name, "digitalocean_ccm_") && !strings.HasPrefix(m.Name, "firewall_") {
			t.Errorf("%s lacks the prefix", m.Name)
		}
		if isCounter := m.Type == "counter"; isCounter != strings.HasSuffix(m.Name, "_total") {
			t.Errorf("%s is a %s", m.Name, m.Type)
		}
		if len(m.Help) < 20 {
			t.Errorf("%s is explained by %q alone", m.Name, m.Help)
		}
		for _, label := range m.Labels {
			if state.Labels[label] == "" {
				t.Errorf("%s has the label %s, whose values nobody has bounded", m.Name, label)
			}
		}
	}
}

// TestDocumentationKnowsEveryConstructor finds the constructors of metrics in
// the source.
func TestDocumentationKnowsEveryConstructor(t *testing.T) {
	constructor := regexp.MustCompile(`^New\w*(Metrics|Collector)$`)
	known, found := sources(), 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		makesMetrics := false
		for _, imported := range file.Imports {
			makesMetrics = makesMetrics || imported.Path.Value == `"k8s.io/component-base/metrics"` || strings.Contains(imported.Path.Value, "prometheus/client_golang")
		}
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Recv != nil || !constructor.MatchString(function.Name.Name) {
				continue
			}
			found++
			makesMetrics = false
			if name := file.Name.Name + "." + function.Name.Name; known[name].where == "" {
				t.Errorf("%s: the documentation of metrics lacks %s", path, name)
			}
		}
		if _, helper := helpers[filepath.Base(path)]; makesMetrics && !helper {
			t.Errorf("%s works with metrics outside of a constructor New…Metrics or New…Collector", path)
		}
		return nil
	})
	if err != nil || found != len(known) {
		t.Errorf("found %d of %d constructors, %v", found, len(known), err)
	}
}

// helpers are files that make metrics for the constructors of their package, or
// only say where they are registered.
var helpers = map[string]struct{}{"driftmetrics.go": {}, "options.go": {}}
