package loadbalancer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

var candidates = []Candidate{
	{Node: "dual", DropletID: 3, PublicIPv4: true, PublicIPv6: true},
	{Node: "v4", DropletID: 1, PublicIPv4: true},
	{Node: "v6", DropletID: 4, PublicIPv6: true},
	{Node: "private", DropletID: 2},
	{Node: "foreign", Excluded: "its provider ID isn't a droplet's"},
	{Node: "unknown"},
	{Node: "again", DropletID: 3, PublicIPv4: true, PublicIPv6: true},
}

func TestSelectBackends(t *testing.T) {
	tests := []struct {
		name       string
		spec       annotation.Spec
		stack      string
		candidates []Candidate
		want       []int
		leftOut    []string
		dualStack  bool
	}{
		{"network needs a public IPv4 address", network(), "", candidates, []int{1, 3}, []string{"v6", "private", "foreign", "unknown"}, false},
		{"regional does not", regional(), "", candidates, []int{1, 2, 3, 4}, []string{"foreign", "unknown"}, false},
		{"internal does not", network(internal), "", candidates, []int{1, 2, 3, 4}, []string{"foreign", "unknown"}, false},
		{"all have both", network(), "", candidates[:1], []int{3}, nil, true},
		{"a dual-stack network load balancer needs both", network(), "DUALSTACK", candidates, []int{3}, []string{"v4", "v6", "private", "foreign", "unknown"}, true},
		{"an IPv4 network load balancer does not", network(), "IPV4", candidates, []int{1, 3}, []string{"v6", "private", "foreign", "unknown"}, false},
		{"a dual-stack regional load balancer does not", regional(), "DUALSTACK", candidates, []int{1, 2, 3, 4}, []string{"foreign", "unknown"}, false},
		{"none", network(), "", nil, nil, nil, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := SelectBackends(test.spec, test.stack, test.candidates)
			var leftOut []string
			for _, l := range b.LeftOut {
				leftOut = append(leftOut, l.Node)
			}
			if diff := cmp.Diff(test.want, b.DropletIDs); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.leftOut, leftOut); diff != "" {
				t.Error(diff)
			}
			if b.DualStack != test.dualStack {
				t.Errorf("dual stack %t", b.DualStack)
			}
		})
	}
}

func TestExplainCountsTheReasons(t *testing.T) {
	b := SelectBackends(network(), "", []Candidate{
		{Node: "n1", Excluded: "reason one"}, {Node: "n5", DropletID: 5}, {Node: "n2", DropletID: 2}, {Node: "n3", DropletID: 3}, {Node: "n4", DropletID: 4},
	})
	want := "none of 5 Nodes qualifies as a backend: 4 (n2, n3, n4 and 1 more): " + reasonPrivateOnly + "; 1 (n1): reason one"
	if got := b.Explain(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (Backends{DropletIDs: []int{1}, LeftOut: b.LeftOut}).Explain(); got != "" {
		t.Errorf("explained %q though there is a backend", got)
	}
	if got := (Backends{}).Explain(); got == "" {
		t.Error("a cluster without Nodes is not explained")
	}
}

func TestExplainBoundsTheReasons(t *testing.T) {
	var many []Candidate
	for _, name := range strings.Split("abcdefgh", "") {
		many = append(many, Candidate{Node: name, Excluded: "reason " + name})
	}
	got := SelectBackends(network(), "", many).Explain()
	if !strings.Contains(got, "1 (c): reason c; and 5 more reasons") || strings.Contains(got, "reason d") {
		t.Error(got)
	}
}

// A Node without IPv6 that joins a load balancer with both stacks stays out of
// it and is told of; with one stack, or none yet, it is welcome.
func TestNodeWithoutIPv6JoinsDualStack(t *testing.T) {
	dual := SelectBackends(network(), "DUALSTACK", candidates)
	if got := dual.ExplainStack(); !strings.Contains(got, "1 (v4): ") || strings.Contains(got, "v6)") {
		t.Error(got)
	}
	for _, stack := range []string{"", "IPV4"} {
		if got := SelectBackends(network(), stack, candidates).ExplainStack(); got != "" {
			t.Errorf("stack %q: %s", stack, got)
		}
	}
}

func TestDualStackIsRefusedForNodesWithoutIPv6(t *testing.T) {
	asked := func(s *annotation.Spec) { s.NetworkStack = "DUALSTACK" }
	nodes := []Candidate{
		{Node: "e", DropletID: 5, PublicIPv4: true}, {Node: "d", DropletID: 4, PublicIPv4: true}, {Node: "c", DropletID: 3, PublicIPv4: true},
		{Node: "b", DropletID: 2, PublicIPv4: true}, {Node: "a", DropletID: 1, PublicIPv4: true, PublicIPv6: true},
	}
	tests := []struct {
		name  string
		spec  annotation.Spec
		stack string
		says  string
	}{
		{"network", network(asked), "", "b, c, d and 1 more (4 of 5)"},
		{"network that exists with both stacks", network(asked), "DUALSTACK", ""},
		{"network that exists with one stack", network(asked), "IPV4", ""},
		{"regional", regional(asked), "", ""},
		{"nobody asked", network(), "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := Inputs{Backends: SelectBackends(test.spec, test.stack, nodes), Cluster: cluster}
			_, problems := Desire(service("80:30080"), test.spec, in)
			if test.says == "" {
				if len(problems) > 0 {
					t.Error(problems)
				}
				return
			}
			wantProblem(t, problems, annotation.NetworkStack)
			if len(problems) > 0 && !strings.Contains(problems[0].Allowed, test.says) {
				t.Errorf("%q doesn't say %q", problems[0].Allowed, test.says)
			}
		})
	}
}
