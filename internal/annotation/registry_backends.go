package annotation

import "k8s.io/apimachinery/pkg/labels"

var backendAnnotations = []Definition{
	{
		Key:        NodeSelector,
		Kind:       KindSelector,
		DefaultDoc: "all Nodes that can be backends",
		Doc: "Which Nodes the load balancer sends to, by their labels: a label selector as `kubectl get nodes -l` takes it, such as `node-pool in (edge,web),!spot`. " +
			"Changes of Nodes' labels act at once. While it selects none of the Nodes that can be backends, the load balancer keeps those that it has, and the event LoadBalancerConfigError tells that, unless `" +
			AllowEmptyBackends + "` is set. With a selector a load balancer lists its droplets where the manager would target them by a tag. With the traffic policy `Local`, a Node that is not selected gets no traffic even if it has an endpoint.",
	},
	{
		Key:     AllowEmptyBackends,
		Kind:    KindBool,
		Default: "false",
		Doc:     "With `true` the load balancer loses its last backends when `" + NodeSelector + "` selects no Node any more: clients are then refused.",
	},
}

// isSelector tells whether the value is a label selector that says something.
func isSelector(value string) bool {
	selector, err := labels.Parse(value)
	return err == nil && !selector.Empty()
}
