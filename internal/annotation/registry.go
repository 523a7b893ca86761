// Package annotation knows every annotation that the manager reads or writes
// on a Service. Each is declared once, in [Registry], with its type, bounds,
// default and documentation; [Parse] turns a Service's annotations into a
// typed [Spec] and reports everything that is wrong with them at once.
//
// The package is pure: Kubernetes' API types in, values out.
package annotation

// Prefixes of the keys.
const (
	prefixLoadBalancer = "service.beta.kubernetes.io/do-loadbalancer-"
	prefixIdentity     = "kubernetes.digitalocean.com/"
)

// Keys of the annotations.
const (
	LoadBalancerID = prefixIdentity + "load-balancer-id"
	Disown         = "service.kubernetes.io/do-loadbalancer-disown"
	Name           = prefixLoadBalancer + "name"
	Type           = prefixLoadBalancer + "type"
	Network        = prefixLoadBalancer + "network"
	SizeUnit       = prefixLoadBalancer + "size-unit"
)

// Load balancer types.
const (
	TypeRegional        = "REGIONAL"
	TypeRegionalNetwork = "REGIONAL_NETWORK"
)

// Networks of a load balancer.
const (
	NetworkExternal = "EXTERNAL"
	NetworkInternal = "INTERNAL"
)

// Kind is the type of an annotation's value.
type Kind string

// Kinds of values.
const (
	KindText Kind = "text"
	KindUUID Kind = "UUID"
	KindName Kind = "name"
	KindEnum Kind = "one of"
	KindBool Kind = "boolean"
	KindInt  Kind = "integer"
)

// Definition declares one annotation.
type Definition struct {
	// Key is the annotation's full key.
	Key string
	// Kind is the type of its value.
	Kind Kind
	// Values are what a KindEnum takes.
	Values []string
	// Min and Max bound a KindInt, both inclusive.
	Min, Max int
	// Default says what holds when the annotation is absent or empty.
	Default string
	// Immutable is true where DigitalOcean can't change it on a load balancer
	// that exists.
	Immutable bool
	// Written is true where the manager writes the annotation itself.
	Written bool
	// FailSafe is true for a boolean of safety: a value that is not a boolean
	// is a problem, and counts as true until it is mended.
	FailSafe bool
	// Doc explains the annotation to a user, in Markdown.
	Doc string
}

// maxSizeUnit is the number of nodes that DigitalOcean gives a load balancer
// at most (its product page; the published API description says 100).
const maxSizeUnit = 200

// Registry declares every annotation, in the order of the documentation.
var Registry = []Definition{
	{
		Key:     LoadBalancerID,
		Kind:    KindUUID,
		Written: true,
		Doc:     "The id of the Service's load balancer. The manager writes it after creation. Set it on a new Service to take over a load balancer that exists.",
	},
	{
		Key:      Disown,
		Kind:     KindBool,
		Default:  "false",
		FailSafe: true,
		Doc:      "With `true` the manager neither creates, changes nor deletes the Service's load balancer. A value that is not a boolean counts as `true`.",
	},
	{
		Key:     Name,
		Kind:    KindName,
		Default: "`a` and the Service's UID without dashes, cut to 32 characters",
		Doc:     "The load balancer's name in DigitalOcean; must be unique in the account. A changed name renames the load balancer.",
	},
	{
		Key:       Type,
		Kind:      KindEnum,
		Values:    []string{TypeRegionalNetwork, TypeRegional},
		Default:   "`REGIONAL_NETWORK`, or `DEFAULT_LB_TYPE` of the manager",
		Immutable: true,
		Written:   true,
		Doc:       "`REGIONAL_NETWORK` forwards packets unchanged (layer 4); `REGIONAL` is a proxy (layer 4 and 7). The manager writes the type it used after creation, so that a changed default never alters a load balancer that exists.",
	},
	{
		Key:       Network,
		Kind:      KindEnum,
		Values:    []string{NetworkExternal, NetworkInternal},
		Default:   "`EXTERNAL`",
		Immutable: true,
		Doc:       "`EXTERNAL` has a public address; `INTERNAL` only one in the VPC.",
	},
	{
		Key:     SizeUnit,
		Kind:    KindInt,
		Min:     1,
		Max:     maxSizeUnit,
		Default: "1",
		Doc:     "The number of nodes that the load balancer runs on.",
	},
}

// Lookup returns the declaration of key.
func Lookup(key string) (Definition, bool) {
	for _, d := range Registry {
		if d.Key == key {
			return d, true
		}
	}
	return Definition{}, false
}
