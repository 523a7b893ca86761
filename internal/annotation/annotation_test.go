package annotation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func service(annotations map[string]string) *v1.Service {
	return &v1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
}

const someID = "4de7ac8b-495b-4884-9a69-1050c6793cd6"

func TestParse(t *testing.T) {
	plain := Spec{Type: TypeRegionalNetwork, Network: NetworkExternal, SizeUnit: 1}
	tests := []struct {
		name        string
		annotations map[string]string
		edit        func(*Spec)
	}{
		{"no annotations", nil, func(*Spec) {}},
		{"empty values count as absent", map[string]string{LoadBalancerID: "", Name: "", Type: "", Network: "", SizeUnit: "", Disown: ""}, func(*Spec) {}},
		{"id", map[string]string{LoadBalancerID: someID}, func(s *Spec) { s.LoadBalancerID = someID }},
		{"name", map[string]string{Name: "web.Example-1"}, func(s *Spec) { s.Name = "web.Example-1" }},
		{"type", map[string]string{Type: "REGIONAL"}, func(s *Spec) { s.Type = TypeRegional }},
		{"network", map[string]string{Network: "INTERNAL"}, func(s *Spec) { s.Network = NetworkInternal }},
		{"size unit", map[string]string{SizeUnit: "200"}, func(s *Spec) { s.SizeUnit = 200 }},
		{"disowned", map[string]string{Disown: "true"}, func(s *Spec) { s.Disowned = true }},
		{"disowned as Go spells it", map[string]string{Disown: "T"}, func(s *Spec) { s.Disowned = true }},
		{"not disowned", map[string]string{Disown: "false"}, func(*Spec) {}},
		{"annotations of others", map[string]string{"example.com/x": "y"}, func(*Spec) {}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := plain
			test.edit(&want)
			got, problems := Parse(service(test.annotations), Defaults{Type: TypeRegionalNetwork})
			if len(problems) > 0 {
				t.Errorf("problems: %v", problems)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseTakesTheClustersDefaultType(t *testing.T) {
	if spec, _ := Parse(service(nil), Defaults{Type: TypeRegional}); spec.Type != TypeRegional {
		t.Errorf("type is %q, want %q", spec.Type, TypeRegional)
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, key, value string }{
		{"id that is a name", LoadBalancerID, "my-lb"},
		{"name that ends in a dash", Name, "web-"},
		{"name that starts with a dot", Name, ".web"},
		{"name with an underscore", Name, "my_lb"},
		{"name too long", Name, strings.Repeat("a", 256)},
		{"type unknown", Type, "NETWORK"},
		{"type in lower case", Type, "regional"},
		{"network unknown", Network, "PUBLIC"},
		{"size unit zero", SizeUnit, "0"},
		{"size unit too large", SizeUnit, "201"},
		{"size unit that is no number", SizeUnit, "two"},
		{"size unit with a fraction", SizeUnit, "1.5"},
		{"disown that is no boolean", Disown, "yes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, problems := Parse(service(map[string]string{test.key: test.value}), Defaults{Type: TypeRegional})
			if len(problems) != 1 {
				t.Fatalf("%d problems, want 1: %v", len(problems), problems)
			}
			p := problems[0]
			if p.Field != test.key || p.Value != test.value || p.Allowed == "" {
				t.Errorf("the problem doesn't name field, value and what is allowed: %+v", p)
			}
		})
	}
}

func TestParseReportsAllProblemsAtOnce(t *testing.T) {
	_, problems := Parse(service(map[string]string{Type: "x", Network: "x", SizeUnit: "x", Name: "-", LoadBalancerID: "x"}), Defaults{})
	if len(problems) != 5 {
		t.Errorf("%d problems, want 5: %v", len(problems), problems)
	}
}

func TestInvalidDisownCountsAsDisowned(t *testing.T) {
	spec, problems := Parse(service(map[string]string{Disown: "yes"}), Defaults{})
	if !spec.Disowned || len(problems) != 1 {
		t.Errorf("disowned %t with problems %v, want true with one", spec.Disowned, problems)
	}
}

func TestRegistryIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range Registry {
		if seen[d.Key] {
			t.Errorf("%s is declared twice", d.Key)
		}
		seen[d.Key] = true
		if d.Doc == "" {
			t.Errorf("%s has no documentation", d.Key)
		}
		if d.Kind == KindEnum && len(d.Values) == 0 {
			t.Errorf("%s takes no value", d.Key)
		}
		if d.Kind == KindInt && d.Min >= d.Max {
			t.Errorf("%s has no range", d.Key)
		}
		for _, value := range d.Values {
			if problem := d.check(value); problem != "" {
				t.Errorf("%s refuses its own value %q", d.Key, value)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, d := range Registry {
		f.Add(d.Key, "true", Name, "web")
		f.Add(d.Key, "-1", Type, "REGIONAL")
	}
	f.Fuzz(func(t *testing.T, key1, value1, key2, value2 string) {
		_, problems := Parse(service(map[string]string{key1: value1, key2: value2}), Defaults{Type: TypeRegional})
		for _, p := range problems {
			if p.Field != key1 && p.Field != key2 {
				t.Errorf("a problem with %q, which isn't set", p.Field)
			}
			if p.Allowed == "" {
				t.Errorf("%+v doesn't say what is allowed", p)
			}
		}
	})
}

func TestRestrictedSourcesAreRefusedRatherThanIgnored(t *testing.T) {
	svc := service(map[string]string{prefixLoadBalancer + "allow-rules": "ip:192.0.2.1", prefixLoadBalancer + "deny-rules": "ip:192.0.2.2"})
	svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
	if _, problems := Parse(svc, Defaults{Type: TypeRegional}); len(problems) != 3 {
		t.Errorf("problems %v, want 3", problems)
	}
}

func TestUnknown(t *testing.T) {
	svc := service(map[string]string{prefixLoadBalancer + "typ": "REGIONAL", prefixIdentity + "x": "", Type: "REGIONAL", "example.com/x": "y"})
	if diff := cmp.Diff([]string{prefixIdentity + "x", prefixLoadBalancer + "typ"}, Unknown(svc)); diff != "" {
		t.Error(diff)
	}
}
