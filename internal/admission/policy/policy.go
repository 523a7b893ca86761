package policy

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// Variables that rules speak of.
const (
	isOld    = `oldObject != null && oldObject.spec.type == "LoadBalancer"`
	now      = `object.metadata.?annotations.orValue({})`
	before   = `variables.isOld ? oldObject.metadata.?annotations.orValue({}) : {}`
	tcpPorts = `object.spec.?ports.orValue([]).filter(p, p.?protocol.orValue("TCP") == "TCP").map(p, p.port)`
	// samePorts is of number and protocol, which rules depend on.
	samePorts = `variables.isOld && variables.tcpPorts == oldObject.spec.?ports.orValue([]).filter(p, p.?protocol.orValue("TCP") == "TCP").map(p, p.port)`
)

// Spec makes the policy's. The chart adds how it fails, the namespaces that are
// left out, and the binding that makes it effective.
func Spec() admissionregistrationv1.ValidatingAdmissionPolicySpec {
	equivalent, invalid := admissionregistrationv1.Equivalent, metav1.StatusReasonInvalid
	return admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{
			MatchPolicy: &equivalent,
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"services"}},
			}}},
		},
		MatchConditions: []admissionregistrationv1.MatchCondition{
			{Name: "load-balancer", Expression: `object.spec.type == "LoadBalancer" && !has(object.spec.loadBalancerClass)`},
			{Name: "not-deleting", Expression: `!has(object.metadata.deletionTimestamp)`},
		},
		Variables: variables(),
		Validations: []admissionregistrationv1.Validation{{
			Expression:        "variables.problems.size() == 0",
			Message:           "an annotation of the load balancer is invalid",
			MessageExpression: `variables.problems.join("; ")`,
			Reason:            &invalid,
		}},
	}
}

// variables are evaluated when they are asked for, the last one first.
func variables() []admissionregistrationv1.Variable {
	all := []admissionregistrationv1.Variable{
		{Name: "isOld", Expression: isOld},
		{Name: "now", Expression: now},
		{Name: "before", Expression: before},
		{Name: "tcpPorts", Expression: tcpPorts},
		{Name: "samePorts", Expression: samePorts},
		{Name: "disowned", Expression: set(annotation.Disown) + " && !(" + value(annotation.Disown) + ` in ["0", "f", "F", "false", "FALSE", "False"])`},
	}
	for _, d := range annotation.Registry {
		if d.PerPort {
			all = append(all, admissionregistrationv1.Variable{Name: ofPortsName(d.Key), Expression: listOfPorts(d.Key)})
		}
	}
	var names, ofDisown []string
	for _, r := range rules() {
		v := admissionregistrationv1.Variable{Name: r.name, Expression: r.expression()}
		all = append(all, v)
		names = append(names, "variables."+v.Name)
		if r.field == annotation.Disown {
			ofDisown = append(ofDisown, "variables."+v.Name)
		}
	}
	return append(all, admissionregistrationv1.Variable{
		Name: "problems",
		// The manager leaves a load balancer alone that is disowned.
		Expression: fmt.Sprintf(`(variables.disowned ? [%s] : [%s]).filter(m, m != "")`, strings.Join(ofDisown, ", "), strings.Join(names, ", ")),
	})
}

// maxValue bounds what a message shows of a value.
const maxValue = 100

// expression is the rule's message, or "" where it is kept, or was broken in the
// same way before.
func (r rule) expression() string {
	if r.perPort {
		return fmt.Sprintf(`%s.filter(k, !(%s && variables.now[?k] == variables.before[?k]) && (%s)).map(k, %s + k + %s + %s + %s).join("; ")`,
			ofPorts(r.field), r.same(r.others), r.broken, quote("metadata.annotations["), quote(`]: Invalid value: "`), shown("variables.now[k]"), quote(`": `+r.allowed))
	}
	return fmt.Sprintf(`%s && !(%s) && (%s) ? %s + %s + %s : ""`,
		set(r.field), r.same(append([]string{r.field}, r.others...)), r.broken, quote("metadata.annotations["+r.field+`]: Invalid value: "`), shown(value(r.field)), quote(`": `+r.allowed))
}

// same is true where what the refusal depends on was so before.
func (r rule) same(keys []string) string {
	same := "variables.isOld"
	if len(keys) > 0 {
		same += " && " + list(keys) + ".all(o, variables.now[?o] == variables.before[?o])"
	}
	for _, key := range r.ofPorts {
		same += " && " + ofPorts(key) + ".all(o, variables.now[?o] == variables.before[?o])"
	}
	if r.ports {
		same += " && variables.samePorts"
	}
	return same
}

// shown is a value as a message shows it: on one line, and not too long.
func shown(v string) string {
	return fmt.Sprintf(`(size(%[1]s) > %[2]d ? %[1]s.substring(0, %[2]d) + "…" : %[1]s).replace("\n", " ").replace("\r", " ")`, v, maxValue)
}

// Manifest is the specification as YAML.
func Manifest() ([]byte, error) {
	text, err := yaml.Marshal(Spec())
	if err != nil {
		return nil, fmt.Errorf("encode policy: %w", err)
	}
	return append([]byte("# Made from the registry of annotations by make generate.\n"), text...), nil
}
