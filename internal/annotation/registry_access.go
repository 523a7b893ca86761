package annotation

var accessAnnotations = []Definition{
	{
		Key:  AllowRules,
		Kind: KindSources,
		Doc:  "The only sources that may reach the load balancer. `spec.loadBalancerSourceRanges` takes its place where that is set.",
	},
	{
		Key:  DenyRules,
		Kind: KindSources,
		Doc:  "Sources that may not reach the load balancer.",
	},
	{
		Key:     AllowClusterNodes,
		Kind:    KindBool,
		Default: "false",
		Doc:     "With `true` the addresses of the cluster's Nodes may reach the load balancer as well, where `" + AllowRules + "` or `spec.loadBalancerSourceRanges` restrict who may: the public ones, or with the network `INTERNAL` the private ones. Pods leave by them, unless a NAT gateway is in between. Each Node that comes or goes is then a change of the whole load balancer.",
	},
	{
		Key:            FirewallManagedKey,
		PerService:     true,
		Kind:           KindBool,
		Default:        "true",
		FailSafe:       true,
		NotForBalancer: true,
		Doc:            "With `false` the public access firewall doesn't open the Service's ports, on Services of the types NodePort and LoadBalancer. A value that is not a boolean counts as `true`.",
	},
}
