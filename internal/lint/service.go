package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// read decodes the Service, and completes it as the API server does. It is false
// where it can't be decoded, or has no part in load balancers or node ports.
func (j *judge) read() (*v1.Service, bool) {
	metadata, _ := j.manifest.object["metadata"].(map[string]any)
	spec, _ := j.manifest.object["spec"].(map[string]any)
	kind, _ := spec["type"].(string)
	j.service, _ = metadata["name"].(string)
	if namespace, _ := metadata["namespace"].(string); namespace != "" {
		j.service = namespace + "/" + j.service
	}
	if problem, ok := WrongType(v1.ServiceType(kind)); ok {
		j.problems(problem)
		return nil, false
	}
	switch v1.ServiceType(kind) {
	case v1.ServiceTypeClusterIP, v1.ServiceTypeExternalName, "":
		return nil, false
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		metadata["annotations"] = j.strings(annotations)
	}
	svc := &v1.Service{}
	text, err := json.Marshal(j.manifest.object)
	if err == nil {
		err = json.Unmarshal(text, svc)
	}
	if err != nil {
		j.undecodable(err)
		return nil, false
	}
	Complete(svc)
	if svc.UID == "" {
		svc.UID = types.UID(assumed)
	}
	return svc, true
}

// WrongType is what is wrong with a type that no Service has, such as
// "loadbalancer", which the API server refuses. It is false where nothing is.
func WrongType(kind v1.ServiceType) (annotation.Problem, bool) {
	switch kind {
	case v1.ServiceTypeLoadBalancer, v1.ServiceTypeNodePort, v1.ServiceTypeClusterIP, v1.ServiceTypeExternalName, "":
		return annotation.Problem{}, false
	}
	return annotation.Problem{Field: "spec.type", Value: string(kind), Allowed: "must be LoadBalancer, NodePort, ClusterIP or ExternalName"}, true
}

// strings returns the annotations as strings. Others the API server refuses, and
// with them the whole Service; what they mean is judged all the same, so that
// everything is told at once.
func (j *judge) strings(annotations map[string]any) map[string]any {
	node := at(at(j.manifest.node, "metadata").value, "annotations").value
	texts := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		switch value := annotations[key].(type) {
		case nil:
			texts[key] = "" // as the API server takes it
		case string:
			texts[key] = value
		case map[string]any, []any:
			j.add(Error, key, "must be a string, and has entries of its own")
		default:
			text := fmt.Sprint(value)
			if written := resolve(at(node, key).value); written != nil {
				text = written.Value
			}
			j.add(Error, key, fmt.Sprintf("%s is not a string, as the value of an annotation must be: put it in quotes", text))
			texts[key] = text
		}
	}
	return texts
}

// undecodable tells why the API server won't take the Service.
func (j *judge) undecodable(err error) {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		j.add(Error, wrong.Field, fmt.Sprintf("must be %s, got %s", describe(wrong.Type.Kind()), wrong.Value))
		return
	}
	j.add(Error, "spec", "can't be read: "+err.Error())
}

// describe names a kind of Go as YAML does.
func describe(kind reflect.Kind) string {
	switch kind {
	case reflect.Struct, reflect.Map:
		return "a mapping"
	case reflect.Slice:
		return "a list"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	default:
		return "a whole number"
	}
}

// firstNodePort is where the API server's range of node ports begins by default.
const firstNodePort = 30000

// Complete fills in what the API server does before the manager sees a Service,
// but for its UID and the time of its creation. Which node ports it takes doesn't
// matter, but that there are any.
func Complete(svc *v1.Service) {
	if svc.Spec.Type != v1.ServiceTypeLoadBalancer {
		return
	}
	next := int32(firstNodePort)
	allocate := svc.Spec.AllocateLoadBalancerNodePorts == nil || *svc.Spec.AllocateLoadBalancerNodePorts
	for i := range svc.Spec.Ports {
		if port := &svc.Spec.Ports[i]; allocate && port.NodePort == 0 {
			port.NodePort = next
			next++
		}
	}
	if svc.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal && svc.Spec.HealthCheckNodePort == 0 {
		svc.Spec.HealthCheckNodePort = next
	}
}
