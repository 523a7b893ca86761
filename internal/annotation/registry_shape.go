package annotation

// maxSizeUnit is the number of nodes that DigitalOcean gives a load balancer
// at most (its product page; the published API description says 100).
const maxSizeUnit = 200

// sizeSlugs are the deprecated names of sizes.
var sizeSlugs = []struct {
	name  string
	units int
}{{"lb-small", 1}, {"lb-medium", 3}, {"lb-large", 6}}

var shapeAnnotations = []Definition{
	{
		Key:        Type,
		Kind:       KindEnum,
		Values:     []string{TypeRegionalNetwork, TypeRegional},
		DefaultDoc: "`REGIONAL_NETWORK`, or `DEFAULT_LB_TYPE` of the manager",
		Immutable:  true,
		Written:    true,
		Doc:        "`REGIONAL_NETWORK` forwards packets unchanged (layer 4); `REGIONAL` is a proxy (layer 4 and 7). The manager writes the type it used after creation, so that a changed default never alters a load balancer that exists.",
	},
	{
		Key:       Network,
		Kind:      KindEnum,
		Values:    []string{NetworkExternal, NetworkInternal},
		Default:   NetworkExternal,
		Immutable: true,
		Doc:       "`EXTERNAL` has a public address; `INTERNAL` only one in the VPC.",
	},
	{
		Key:        NetworkStack,
		Kind:       KindEnum,
		Values:     []string{StackIPv4, StackDual},
		DefaultDoc: "`IPV4` for the network `INTERNAL`; `DUALSTACK` for the type `REGIONAL`; for `REGIONAL_NETWORK` `DUALSTACK` where every Node has a public IPv4 and IPv6 address, else `IPV4`",
		Immutable:  true,
		Doc:        "Whether the load balancer has an IPv6 address beside its IPv4 one. `DUALSTACK` can't be had with the network `INTERNAL`, nor with the type `REGIONAL_NETWORK` while a Node lacks a public IPv6 address.",
	},
	{
		Key:     SizeUnit,
		Kind:    KindInt,
		Min:     1,
		Max:     maxSizeUnit,
		Default: "1",
		Doc:     "The number of nodes that the load balancer runs on.",
	},
	{
		Key:        SizeSlug,
		Kind:       KindEnum,
		Values:     sizeSlugNames(),
		Deprecated: "use `" + SizeUnit + "`: `1` for lb-small, `3` for lb-medium, `6` for lb-large",
		Doc:        "The size as DigitalOcean once named it. Not together with `" + SizeUnit + "`.",
	},
	{
		Key:        IP,
		PerService: true,
		Kind:       KindIPv4,
		Immutable:  true,
		Doc:        "An address that you brought to DigitalOcean (BYOIP), to make the load balancer with. Reserved IPs can't be used. Not for the network `INTERNAL`.",
	},
	{
		Key:       SubnetUUID,
		Kind:      KindUUID,
		Immutable: true,
		Doc:       "The VPC subnet to make the load balancer in. Needs `DO_CLUSTER_VPC_ID`.",
	},
	{
		Key:        ProjectID,
		Kind:       KindUUID,
		DefaultDoc: "the account's default project",
		Immutable:  true,
		Doc:        "The project to make the load balancer in. It acts at creation only: one that is moved to another project later, by hand, stays there. The account must have the project.",
	},
	{
		Key:        IPMode,
		Kind:       KindEnum,
		Values:     []string{IPModeVIP, IPModeProxy},
		DefaultDoc: "`Proxy` where a load balancer of the type `REGIONAL` ends TLS, reads HTTP or speaks the PROXY protocol, else `VIP`",
		Doc: "How Pods of the cluster reach the load balancer's address. With `VIP` their packets stay in the cluster, and go by what the load balancer does; with `Proxy` they go out to it, and its access rules see the Node's public address: see `" +
			AllowClusterNodes + "`. The type `REGIONAL_NETWORK` takes only `VIP`.",
	},
	{
		Key:        Hostname,
		PerService: true,
		Kind:       KindHost,
		Doc:        "The host name in the Service's status, in place of the addresses (for the type `REGIONAL_NETWORK` beside them). No DNS record is made: the name must resolve to the load balancer's address.",
	},
}

func sizeSlugNames() []string {
	names := make([]string, len(sizeSlugs))
	for i, slug := range sizeSlugs {
		names[i] = slug.name
	}
	return names
}

// UnitsOf is the number of nodes of a size slug; 0 for none.
func UnitsOf(slug string) int {
	for _, s := range sizeSlugs {
		if s.name == slug {
			return s.units
		}
	}
	return 0
}
