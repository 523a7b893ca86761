package annotation

var identityAnnotations = []Definition{
	{
		Key:        LoadBalancerID,
		PerService: true,
		Kind:       KindUUID,
		Written:    true,
		Hint:       "a load balancer's name goes into the annotation " + Name,
		Doc:        "The id of the Service's load balancer. The manager writes it after creation. Set it on a new Service to take over a load balancer that exists.",
	},
	{
		Key:        DefaultsVersion,
		PerService: true,
		Kind:       KindInt,
		Min:        1,
		Written:    true,
		Doc:        "The version of the built-in defaults that the load balancer was made with. The manager writes it after creation, so that later defaults don't alter a load balancer that exists. Where it is absent beside an id, this manager has not worked on the load balancer yet.",
	},
	{
		Key:        StrongCiphers,
		PerService: true,
		Kind:       KindAny,
		Types:      regionalOnly,
		Written:    true,
		Doc: "The id of the load balancer that has the ciphers `STRONG` because the Service, its class or a default asked for them by `" + TLSCipherPolicy +
			"`. The manager writes it, and removes it when they are gone again. By it ciphers that somebody chose in the console are told from those that nobody asks for any more.",
	},
	{
		Key:        Disown,
		PerService: true,
		Kind:       KindBool,
		Default:    "false",
		FailSafe:   true,
		Doc:        "With `true` the manager neither creates, changes nor deletes the Service's load balancer. A value that is not a boolean counts as `true`. Note the prefix, which is not that of the others.",
	},
	{
		Key:        Name,
		PerService: true,
		Kind:       KindName,
		DefaultDoc: "`a` and the Service's UID without dashes, cut to 32 characters",
		Doc:        "The load balancer's name in DigitalOcean; must be unique in the account. A changed name renames the load balancer.",
	},
}

var classAnnotations = []Definition{
	{
		Key:        Class,
		Kind:       KindName,
		PerService: true,
		Doc:        "A set of values for other annotations that the manager's configuration has by this name, at `loadBalancer.classes`. What the Service has itself wins over the class, and the class over `loadBalancer.defaults`. Neither changes on a load balancer that exists what can't be changed there.",
	},
}
