package sandbox

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// sight is what a person is told of an object.
type sight struct {
	key  string // kind and name
	text string
	// done: the manager has given the object all that it is to have.
	done bool
	// warning: it is about something that went wrong.
	warning bool
}

func nodeKey(name string) string                { return "Node " + name }
func serviceKey(namespace, name string) string  { return "Service " + namespace + "/" + name }
func hasTaint(node *corev1.Node, k string) bool { return taintIndex(node.Spec.Taints, k) >= 0 }

func taintIndex(taints []corev1.Taint, key string) int {
	for i, t := range taints {
		if t.Key == key {
			return i
		}
	}
	return -1
}

func seeNode(node *corev1.Node) sight {
	s := sight{key: nodeKey(node.Name)}
	addresses := reachable(node)
	switch {
	case hasTaint(node, cloudproviderapi.TaintExternalCloudProvider):
		s.text = "registered; tainted until it is initialised"
	case hasTaint(node, cloudproviderapi.TaintNodeShutdown):
		s.text = "tainted, as its droplet is off"
	case len(addresses) == 0:
		s.text = "initialised as " + node.Spec.ProviderID + ", without an address yet"
	case !nodeIsReady(node):
		s.text = "not ready; its droplet will be looked at"
	default:
		s.done = node.Spec.ProviderID != ""
		s.text = fmt.Sprintf("initialised as %s, %s, %s in %s", node.Spec.ProviderID, strings.Join(addresses, ", "),
			node.Labels[corev1.LabelInstanceTypeStable], node.Labels[corev1.LabelTopologyRegion])
	}
	return s
}

func reachable(node *corev1.Node) []string {
	var found []string
	for _, a := range node.Status.Addresses {
		if a.Type != corev1.NodeHostName {
			found = append(found, string(a.Type)+" "+a.Address)
		}
	}
	return found
}

func nodeIsReady(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// seeService tells nothing of Services without a load balancer.
func seeService(service *corev1.Service) (sight, bool) {
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return sight{}, false
	}
	s := sight{key: serviceKey(service.Namespace, service.Name)}
	id := service.Annotations[annotation.LoadBalancerID]
	addresses := ingress(service)
	switch {
	case !service.DeletionTimestamp.IsZero():
		s.text = "being deleted, once its load balancer is"
	case len(addresses) > 0:
		s.done = id != ""
		s.text = "reachable at " + strings.Join(addresses, ", ")
	case id != "":
		s.text = "load balancer " + id + " made; waiting for its address"
	default:
		s.text = "waiting for a load balancer"
	}
	return s, true
}

func ingress(service *corev1.Service) []string {
	var found []string
	for _, i := range service.Status.LoadBalancer.Ingress {
		if i.IP != "" {
			found = append(found, i.IP)
		} else {
			found = append(found, i.Hostname)
		}
	}
	return found
}

// seeEvent tells of warnings only: what went well shows in the objects.
func seeEvent(event *corev1.Event) (sight, bool) {
	if event.Type != corev1.EventTypeWarning {
		return sight{}, false
	}
	object := event.InvolvedObject
	name := object.Name
	if object.Namespace != "" {
		name = object.Namespace + "/" + name
	}
	return sight{
		key:     "Event " + string(event.UID),
		text:    fmt.Sprintf("%s %s: %s: %s", object.Kind, name, event.Reason, event.Message),
		warning: true,
	}, true
}
