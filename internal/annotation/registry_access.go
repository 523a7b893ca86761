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
		Key:            FirewallManagedKey,
		PerService:     true,
		Kind:           KindBool,
		Default:        "true",
		FailSafe:       true,
		NotForBalancer: true,
		Doc:            "With `false` the public access firewall doesn't open the Service's ports, on Services of the types NodePort and LoadBalancer. A value that is not a boolean counts as `true`.",
	},
}
