package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// Name is that of the policy and of its binding.
const Name = "digitalocean-load-balancer-annotations"

// Variables that rules speak of.
const (
	isOld    = `oldObject != null && oldObject.spec.type == "LoadBalancer"`
	now      = `object.metadata.?annotations.orValue({})`
	before   = `variables.isOld ? oldObject.metadata.?annotations.orValue({}) : {}`
	tcpPorts = `object.spec.?ports.orValue([]).filter(p, p.?protocol.orValue("TCP") == "TCP").map(p, p.port)`
	// samePorts is of number and protocol, which rules depend on.
	samePorts = `variables.isOld && variables.tcpPorts == oldObject.spec.?ports.orValue([]).filter(p, p.?protocol.orValue("TCP") == "TCP").map(p, p.port)`
)

// Policy makes the policy.
func Policy() *admissionregistrationv1.ValidatingAdmissionPolicy {
	ignore, equivalent, invalid := admissionregistrationv1.Ignore, admissionregistrationv1.Equivalent, metav1.StatusReasonInvalid
	return &admissionregistrationv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &ignore,
			MatchConstraints: &admissionregistrationv1.MatchResources{
				MatchPolicy: &equivalent,
				NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
					Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: []string{metav1.NamespaceSystem},
				}}},
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
		},
	}
}

// Binding makes the policy effective everywhere.
func Binding() *admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	return &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        Name,
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
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

// Manifest is the policy and its binding as YAML.
func Manifest() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# Made from the registry of annotations by make generate.\n" +
		"# The static rules of the admission server, without a server. Needs Kubernetes 1.31.\n")
	for i, object := range []any{Policy(), Binding()} {
		if i > 0 {
			b.WriteString("---\n")
		}
		text, err := marshal(object)
		if err != nil {
			return nil, err
		}
		b.Write(text)
	}
	return b.Bytes(), nil
}

// marshal leaves the status out, which is the API server's.
func marshal(object any) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode policy: %w", err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("encode policy: %w", err)
	}
	delete(fields, "status")
	return yaml.Marshal(fields)
}
