// Package annotation knows every annotation that the manager reads or writes
// on a Service. Each is declared once, in [Registry], with its type, bounds,
// default and documentation; [Parse] turns a Service's annotations into a
// typed [Spec] and reports everything that is wrong with them at once;
// [Warnings] tells what is right but does nothing.
//
// The package is pure: Kubernetes' API types in, values out.
package annotation

import "slices"

// Kind is the type of an annotation's value.
type Kind string

// Kinds of values.
const (
	// KindAny takes any value: presence counts, or nothing does.
	KindAny  Kind = "any value"
	KindText Kind = "text"
	KindUUID Kind = "UUID"
	KindName Kind = "name"
	KindEnum Kind = "one of"
	KindBool Kind = "boolean"
	KindInt  Kind = "integer"
	// KindPorts is a list of Service ports, separated by commas.
	KindPorts Kind = "ports"
	// KindSources is a list of "ip:" and "cidr:" entries, separated by commas.
	KindSources Kind = "sources"
	KindIPv4    Kind = "IPv4 address"
	KindHost    Kind = "host name"
	KindPath    Kind = "path"
	KindCookie  Kind = "cookie name"
	// KindSelector is a label selector.
	KindSelector Kind = "label selector"
	// KindDrift is a policy for drift, or "ignore:" and a list of fields.
	KindDrift Kind = "drift policy"
)

// Definition declares one annotation.
type Definition struct {
	// Key is the annotation's full key.
	Key string
	// Kind is the type of its value.
	Kind Kind
	// Values are what a KindEnum takes.
	Values []string
	// Min and Max bound a KindInt, and the length of a KindText or KindCookie,
	// both inclusive. A Max of 0 is no bound.
	Min, Max int
	// Unit is that of a KindInt, for people.
	Unit string
	// Default is the value that holds when the annotation is absent or empty.
	Default string
	// DefaultDoc says for people, in Markdown, what holds then where that is no
	// fixed value.
	DefaultDoc string
	// Types are the types of load balancers that the annotation acts on; empty:
	// all.
	Types []string
	// Immutable is true where DigitalOcean can't change it on a load balancer
	// that exists.
	Immutable bool
	// Deprecated says what to use instead; empty: not deprecated.
	Deprecated string
	// Written is true where the manager writes the annotation itself.
	Written bool
	// FailSafe is true for a boolean of safety: a value that is not a boolean
	// is a problem, and counts as true until it is mended.
	FailSafe bool
	// Safe is what counts then in place of true.
	Safe string
	// NotForBalancer is true where the load balancer doesn't depend on the
	// annotation: a value that can't be used doesn't hold it up.
	NotForBalancer bool
	// PerPort is true where the key with a dot and a port of the Service after it,
	// by number or by name, says the same for that port alone.
	PerPort bool
	// PerService is true where the value can't be a default for many Services.
	PerService bool
	// Hint helps with a common mistake, at the end of a refusal.
	Hint string
	// Doc explains the annotation to a user, in Markdown.
	Doc string
	// Since is the version that brought the annotation; empty: [FirstVersion].
	Since string

	// port is the port at the end of Key, of an annotation for one port.
	port string
}

// FirstVersion is the first version of the manager.
const FirstVersion = "0.1.0"

// sections order the annotations by theme.
var sections = []struct {
	title       string
	definitions []Definition
}{
	{"Which load balancer", identityAnnotations},
	{"Defaults", classAnnotations},
	{"What the manager does", careAnnotations},
	{"Type, size and addresses", shapeAnnotations},
	{"Backends", backendAnnotations},
	{"Protocols and TLS", protocolAnnotations},
	{"Health checks", healthAnnotations},
	{"Sessions and connections", trafficAnnotations},
	{"Access", accessAnnotations},
}

// Registry declares every annotation, in the order of the documentation.
var Registry = registry()

func registry() []Definition {
	var all []Definition
	for _, section := range sections {
		all = append(all, section.definitions...)
	}
	return all
}

// regionalOnly are the types of what a load balancer does only where it reads
// the traffic.
var regionalOnly = []string{TypeRegional}

// places are those of the declarations in the registry, by key.
var places = func() map[string]int {
	places := map[string]int{}
	for i, d := range Registry {
		places[d.Key] = i
	}
	return places
}()

// Lookup returns the declaration of key, also where that is for one port.
func Lookup(key string) (Definition, bool) {
	if i, ok := places[key]; ok {
		return Registry[i], true
	}
	if base, port, ok := SplitPort(key); ok {
		if i, ok := places[base]; ok && Registry[i].PerPort {
			return Registry[i].forPort(port), true
		}
	}
	return Definition{}, false
}

// actsOn tells whether the annotation has an effect on load balancers of a type.
func (d Definition) actsOn(balancerType string) bool {
	return len(d.Types) == 0 || slices.Contains(d.Types, balancerType)
}
