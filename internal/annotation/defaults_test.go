package annotation

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheServiceWinsOverItsClassAndThatOverTheCluster(t *testing.T) {
	defaults := Defaults{
		Type:    TypeRegionalNetwork,
		Values:  map[string]string{Type: TypeRegional, SizeUnit: "2", HTTPIdleTimeoutSeconds: "100", EnableProxyProtocol: "true"},
		Classes: map[string]map[string]string{"big": {SizeUnit: "6", HTTPIdleTimeoutSeconds: "200"}},
	}
	tests := []struct {
		name      string
		own       annotations
		size      int
		timeout   int
		kind      string
		inherited []string
	}{
		{"nothing of its own", nil, 2, 100, TypeRegional, []string{EnableProxyProtocol, HTTPIdleTimeoutSeconds, SizeUnit, Type}},
		{"a class", annotations{Class: "big"}, 6, 200, TypeRegional, []string{EnableProxyProtocol, HTTPIdleTimeoutSeconds, SizeUnit, Type}},
		{"a class and a value", annotations{Class: "big", SizeUnit: "1"}, 1, 200, TypeRegional, []string{EnableProxyProtocol, HTTPIdleTimeoutSeconds, Type}},
		{"an empty value is none", annotations{SizeUnit: ""}, 2, 100, TypeRegional, []string{EnableProxyProtocol, HTTPIdleTimeoutSeconds, SizeUnit, Type}},
		{"all of its own", annotations{Type: TypeRegionalNetwork, SizeUnit: "3", HTTPIdleTimeoutSeconds: "40", EnableProxyProtocol: "false"}, 3, 40, TypeRegionalNetwork, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			svc := service(test.own)
			before := maps.Clone(svc.Annotations)
			spec, problems := Parse(svc, defaults)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			got := []any{spec.SizeUnit, spec.HTTPIdleTimeoutSeconds, spec.Type, slices.Sorted(maps.Keys(spec.Inherited))}
			if diff := cmp.Diff([]any{test.size, test.timeout, test.kind, test.inherited}, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, svc.Annotations); diff != "" {
				t.Errorf("the Service was changed: %s", diff)
			}
		})
	}
}

func TestADefaultGivesWayToAnotherAnnotationThatDecidesTheSame(t *testing.T) {
	id := "4de7ac8b-495b-4884-9a69-1050c6793cd6"
	for name, test := range map[string]struct {
		defaults, class, own annotations
		absent               string
	}{
		"size by slug":                    {annotations{SizeUnit: "2"}, nil, annotations{SizeSlug: "lb-large"}, SizeUnit},
		"size by unit":                    {annotations{SizeSlug: "lb-large"}, nil, annotations{SizeUnit: "2"}, SizeSlug},
		"size by slug in the class":       {annotations{SizeUnit: "2"}, annotations{SizeSlug: "lb-large"}, annotations{Class: "c"}, SizeUnit},
		"TLS ends at the backends":        {annotations{CertificateName: "site"}, nil, annotations{TLSPassthrough: "true"}, CertificateName},
		"TLS ends here":                   {annotations{TLSPassthrough: "true"}, nil, annotations{CertificateID: id}, TLSPassthrough},
		"TLS ends here by name":           {annotations{TLSPassthrough: "true"}, nil, annotations{CertificateName: "site"}, TLSPassthrough},
		"TLS of one port ends here":       {annotations{TLSPassthrough: "true"}, nil, annotations{CertificateID + ".443": id}, TLSPassthrough},
		"TLS ends at the class' backends": {annotations{CertificateName: "site"}, annotations{TLSPassthrough: "true"}, annotations{Class: "c"}, CertificateName},
	} {
		t.Run(name, func(t *testing.T) {
			test.own[Type] = TypeRegional
			defaults := Defaults{Type: TypeRegional, Values: test.defaults, Classes: map[string]map[string]string{"c": test.class}}
			spec, problems := Parse(service(test.own), defaults)
			if len(problems) > 0 || spec.Inherited[test.absent] != "" {
				t.Errorf("problems %v, inherited %v", problems, spec.Inherited)
			}
		})
	}
}

func TestADefaultStaysBesideAnAnnotationThatDecidesNothing(t *testing.T) {
	defaults := Defaults{Type: TypeRegional, Values: annotations{CertificateName: "site", SizeUnit: "2"}}
	spec, _ := Parse(service(annotations{TLSPassthrough: "false", SizeSlug: ""}), defaults)
	if spec.CertificateName != "site" || spec.SizeUnit != 2 {
		t.Errorf("certificate %q, size %d", spec.CertificateName, spec.SizeUnit)
	}
	// One source that contradicts itself is still told.
	if _, problems := Parse(service(nil), Defaults{Type: TypeRegional, Values: annotations{SizeUnit: "2", SizeSlug: "lb-large"}}); len(problems) != 1 {
		t.Errorf("problems %v", problems)
	}
}

func TestParseRefusesAClassThatIsNotThere(t *testing.T) {
	svc := service(annotations{Class: "huge"})
	_, problems := Parse(svc, Defaults{Classes: map[string]map[string]string{"small": {}, "big": {}}})
	if len(problems) != 1 || problems[0].Field != Class || !strings.Contains(problems[0].Allowed, "big, small") {
		t.Errorf("problems: %v", problems)
	}
	if _, problems = Parse(svc, Defaults{}); len(problems) != 1 || !strings.Contains(problems[0].Allowed, "no classes") {
		t.Errorf("problems: %v", problems)
	}
}

func TestAProblemSaysWhoseTheValueIs(t *testing.T) {
	_, problems := Parse(service(annotations{Type: TypeRegional}), Defaults{Values: map[string]string{TLSPassthrough: "true", CertificateName: "web"}})
	if len(problems) != 1 || !strings.Contains(problems[0].String(), `"true" is not valid`) || !strings.Contains(problems[0].Allowed, "the cluster's default") {
		t.Errorf("problems: %v", problems)
	}
}

func TestDefaultKey(t *testing.T) {
	tests := []struct{ suffix, value, key, message string }{
		{"size-unit", "3", SizeUnit, ""},
		{"size-unit", "0", "", "from 1 to"},
		{"size-units", "3", "", "is size-unit meant?"},
		{"colour", "red", "", "size-unit"},
		{"load-balancer-id", "x", "", "each Service"},
		{"name", "x", "", "each Service"},
		{"type", "REGIONAL", Type, ""},
	}
	for _, test := range tests {
		key, err := DefaultKey(test.suffix, test.value)
		if key != test.key || (err == nil) != (test.message == "") || (err != nil && !strings.Contains(err.Error(), test.message)) {
			t.Errorf("%s: %s: %q, %v", test.suffix, test.value, key, err)
		}
	}
}
