package lint

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/limits"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

// judge gathers what is to be said of one Service.
type judge struct {
	file     string
	manifest manifest
	options  Options
	service  string
	findings []Finding
}

// assumed stands for what only the manager's configuration or the API server
// has, so that everything else can be judged.
const assumed = "assumed"

// judge tells whether the manager makes a load balancer for the Service.
func (j *judge) judge() bool {
	svc, ok := j.read()
	if !ok {
		return false
	}
	isBalanced := svc.Spec.Type == v1.ServiceTypeLoadBalancer && svc.Spec.LoadBalancerClass == nil
	if isBalanced || svc.Spec.Type == v1.ServiceTypeNodePort {
		j.repeated()
		if _, problem := annotation.FirewallManaged(svc); problem != nil {
			j.problems(*problem)
		}
	}
	if isBalanced {
		j.balancer(svc)
	}
	return isBalanced
}

// balancer judges what the Service asks of its load balancer.
func (j *judge) balancer(svc *v1.Service) {
	spec, problems := annotation.Parse(svc, j.defaults(svc))
	if spec.Disowned {
		// The manager leaves it alone: only whether that is meant matters.
		j.problems(slices.DeleteFunc(problems, func(p annotation.Problem) bool { return p.Field != annotation.Disown })...)
		return
	}
	in := loadbalancer.Inputs{Cluster: loadbalancer.Cluster{VPC: assumed}}.Assuming(spec) // only the account tells what exists
	_, more := loadbalancer.Desire(svc, spec, in)
	j.problems(append(loadbalancer.Effective(spec, problems), more...)...)
	j.beyond(svc, spec)
	for _, w := range annotation.Warnings(svc, spec) {
		if w.Field == annotation.FirewallManagedKey {
			continue // its only warning is of the value, which is an error here
		}
		j.add(severityOf(w), w.Field, strings.TrimPrefix(w.String(), w.Field+": "))
	}
}

// beyond tells what the operator's limits don't allow. Whether the load balancer
// that an id names is the Service's own, only the account tells.
func (j *judge) beyond(svc *v1.Service, spec annotation.Spec) {
	request := limits.Request{Service: svc, Spec: spec, Defaults: j.options.Defaults, Standing: limits.Unproven}
	for _, p := range j.options.Limits.Check(request) {
		severity := Error
		if p.Field == annotation.LoadBalancerID {
			severity = Warning
		}
		j.add(severity, p.Field, strings.TrimPrefix(p.String(), p.Field+": "))
	}
}

// severityOf is a note for what needs no action. What is deprecated does.
func severityOf(w annotation.Warning) Severity {
	if d, _ := annotation.Lookup(w.Field); w.Quiet && d.Deprecated == "" {
		return Note
	}
	return Warning
}

// defaults are the cluster's, with the Service's class among them where nobody
// can tell.
func (j *judge) defaults(svc *v1.Service) annotation.Defaults {
	d := j.options.Defaults
	class := svc.Annotations[annotation.Class]
	if _, known := d.Classes[class]; class == "" || known || !j.options.AnyClass {
		return d
	}
	j.add(Note, annotation.Class, "the values of the class are not looked at, as they are in the manager's configuration, which was not given")
	d.Classes = maps.Clone(d.Classes)
	if d.Classes == nil {
		d.Classes = map[string]map[string]string{}
	}
	d.Classes[class] = nil
	return d
}

// repeated warns of annotations that are there twice, as after a merge.
func (j *judge) repeated() {
	node := at(at(j.manifest.node, "metadata").value, "annotations").value
	for _, key := range repeated(node) {
		if key != "<<" {
			j.add(Warning, key, "is there more than once, of which the last counts")
		}
	}
}

func (j *judge) problems(problems ...annotation.Problem) {
	for _, p := range problems {
		j.add(Error, p.Field, strings.TrimPrefix(p.String(), p.Field+": "))
	}
}

func (j *judge) add(severity Severity, field, message string) {
	line, column := j.place(field)
	j.findings = append(j.findings, Finding{
		File: j.file, Line: line, Column: column, Severity: severity, Service: j.service, Field: field, Message: message,
	})
}

// place is where in the file a field or annotation is.
func (j *judge) place(field string) (line, column int) {
	annotations := at(at(j.manifest.node, "metadata").value, "annotations")
	node := place(j.manifest.node, field)
	switch found := at(annotations.value, field); {
	case found.key != nil:
		node = found.key
	case !strings.Contains(field, "/"): // a field's path
	case annotations.key != nil:
		node = annotations.key
	default: // an annotation that is missing, or inherited
		node = place(j.manifest.node, "metadata")
	}
	if node == nil {
		return j.manifest.before + 1, 1
	}
	return j.manifest.before + node.Line, node.Column
}
