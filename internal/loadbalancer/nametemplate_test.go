package loadbalancer

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

func TestNameTemplateMakesNames(t *testing.T) {
	svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "123e4567-e89b"}}
	for _, test := range []struct{ text, cluster, want string }{
		{"", "", ""},
		{"{{cluster}}-{{namespace}}-{{name}}", "prod", "prod-shop-web"},
		{"{{ namespace }}.{{name}}.lb", "", "shop.web.lb"},
		{"k8s-{{uid}}", "", "k8s-123e4567-e89b"},
		{"{{cluster}}-{{name}}", "a:b__c", "a-b-c-web"},
		{"{{cluster}}-{{name}}", ":a", "a-web"},
		{"{{name}}-{{cluster}}", "a:", "web-a"},
		{"{{name}}-{{cluster}}", strings.Repeat("c", 251), "web-" + strings.Repeat("c", 251)},
		{"{{namespace}}-{{name}}-{{cluster}}", strings.Repeat("c", 251), "shop-web-" + strings.Repeat("c", 246)},
	} {
		template, err := ParseNameTemplate(test.text, test.cluster)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if got := template.Name(svc); got != test.want {
			t.Errorf("%s: %q, want %q", test.text, got, test.want)
		}
	}
}

func TestParseNameTemplateRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"{{nmae}}-{{name}}":                   "{{nmae}} is none",
		"{{name":                              "letters, digits",
		"{{name}} x":                          "letters, digits",
		"{{namespace}}":                       "{{name}} or {{uid}}",
		"{{cluster}}-{{name}}":                "cluster's id",
		"{{name}}" + strings.Repeat("x", 200): "at most 127",
		"{{name}}_x":                          "letters, digits",
		"{{{name}}}":                          "letters, digits",
	} {
		if _, err := ParseNameTemplate(text, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v lacks %q", text, err, want)
		}
	}
}

func TestDesireNamesByTheServiceThenTheTemplate(t *testing.T) {
	svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "123e4567-e89b"}}
	spec := annotation.Spec{Type: annotation.TypeRegional}
	in := Inputs{Cluster: Cluster{Names: NameTemplate{Text: "{{namespace}}-{{name}}"}}}
	if d, _ := Desire(svc, spec, in); d.Name != "shop-web" {
		t.Errorf("by the template: %q", d.Name)
	}
	spec.Name = "mine"
	if d, _ := Desire(svc, spec, in); d.Name != "mine" {
		t.Errorf("by the annotation: %q", d.Name)
	}
	spec.Name, in.Cluster.Names = "", NameTemplate{}
	if d, _ := Desire(svc, spec, in); d.Name != "a123e4567e89b" {
		t.Errorf("without a template: %q", d.Name)
	}
}
