package loadbalancer

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// NameTemplate makes readable names for load balancers whose Services give them
// none. The zero value makes none.
type NameTemplate struct {
	// Text has variables in double braces; see [ParseNameTemplate].
	Text string
	// Cluster is the cluster's id.
	Cluster string
}

// templateValues are the variables of a template.
var templateValues = map[string]func(NameTemplate, *v1.Service) string{
	"cluster":   func(t NameTemplate, _ *v1.Service) string { return t.Cluster },
	"namespace": func(_ NameTemplate, svc *v1.Service) string { return svc.Namespace },
	"name":      func(_ NameTemplate, svc *v1.Service) string { return svc.Name },
	"uid":       func(_ NameTemplate, svc *v1.Service) string { return string(svc.UID) },
}

var (
	templateVariable = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)
	// literalPattern is what a name may hold; braces that are left belong to no
	// variable.
	literalPattern = regexp.MustCompile(`^[a-zA-Z0-9.-]*$`)
	notInName      = regexp.MustCompile(`[^a-zA-Z0-9.-]+`)
)

// maxName is how long DigitalOcean lets the name of a load balancer be.
const maxName = 255

// ParseNameTemplate reads a template such as "{{cluster}}-{{namespace}}-{{name}}".
// An empty one is the zero value. The error says what is allowed.
func ParseNameTemplate(text, cluster string) (NameTemplate, error) {
	if text == "" {
		return NameTemplate{}, nil
	}
	used := map[string]bool{}
	for _, match := range templateVariable.FindAllStringSubmatch(text, -1) {
		if templateValues[match[1]] == nil {
			return NameTemplate{}, fmt.Errorf("must have no other variables than {{cluster}}, {{namespace}}, {{name}} and {{uid}}; %s is none", match[0])
		}
		used[match[1]] = true
	}
	literal := templateVariable.ReplaceAllString(text, "")
	switch {
	case !literalPattern.MatchString(literal):
		return NameTemplate{}, errors.New("must be made of variables such as {{name}} and of letters, digits, '.' and '-'")
	case len(literal) > maxName/2:
		return NameTemplate{}, fmt.Errorf("must have at most %d characters beside the variables, as a name takes %d in all", maxName/2, maxName)
	case !used["name"] && !used["uid"]:
		return NameTemplate{}, errors.New("must hold {{name}} or {{uid}}, as no two load balancers of an account may have one name")
	case used["cluster"] && cluster == "":
		return NameTemplate{}, errors.New("must not hold {{cluster}} unless the cluster's id is set")
	}
	return NameTemplate{Text: text, Cluster: cluster}, nil
}

// Name is the name for the Service's load balancer; empty where there is none.
// Two Services may get the same one: it proves nothing.
func (t NameTemplate) Name(svc *v1.Service) string {
	name := templateVariable.ReplaceAllStringFunc(t.Text, func(variable string) string {
		value := templateValues[templateVariable.FindStringSubmatch(variable)[1]]
		if value == nil {
			return "" // not from ParseNameTemplate
		}
		return value(t, svc)
	})
	// A cluster's id may have more than a name takes.
	name = strings.TrimLeft(notInName.ReplaceAllString(name, "-"), ".-")
	return strings.TrimRight(name[:min(len(name), maxName)], "-")
}
