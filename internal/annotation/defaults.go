package annotation

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/nearest"
)

// Defaults are the cluster-wide values of annotations that a Service lacks. In
// effect is the Service's own value, else that of the class it chose, else the
// cluster's, else the built-in default.
type Defaults struct {
	// Type is the type of load balancers for which nothing else says one.
	Type string
	// Values are the cluster's, by the annotation's key.
	Values map[string]string
	// Classes are further values by the name of a class, and then by key. A
	// Service chooses one by the annotation [Class].
	Classes map[string]map[string]string
}

// DefaultKey returns the key of the annotation of which suffix is the last part,
// after checking that value can be its default for a whole cluster. The error
// says what is allowed.
func DefaultKey(suffix, value string) (key string, err error) {
	i := slices.IndexFunc(Registry, func(d Definition) bool { return Suffix(d.Key) == suffix })
	if base, port, ok := SplitPort(suffix); ok && i < 0 {
		if d, known := Lookup(portKey(prefixLoadBalancer+base, port)); known {
			return "", fmt.Errorf("must be %s here: which ports there are is a matter of each Service", Suffix(d.base()))
		}
	}
	if d, known := Lookup(suffix); known && i < 0 {
		return "", fmt.Errorf("must be the last part of the annotation alone: %s", Suffix(d.Key))
	}
	if i < 0 {
		var known []string
		for _, d := range Registry {
			if !d.PerService {
				known = append(known, Suffix(d.Key))
			}
		}
		if near := nearest.Of(suffix, known); near != "" {
			return "", fmt.Errorf("there is no such annotation; is %s meant?", near)
		}
		return "", fmt.Errorf("must be the last part of an annotation: %s", strings.Join(known, ", "))
	}
	d := Registry[i]
	if d.PerService {
		return "", fmt.Errorf("must not be set here: it is a matter of each Service")
	}
	if allowed := d.check(value); value != "" && allowed != "" {
		return "", fmt.Errorf("%s", allowed)
	}
	return d.Key, nil
}

// Suffix is an annotation's name without what all of them begin with, such as
// size-unit.
func Suffix(key string) string {
	for _, prefix := range []string{prefixLoadBalancer, prefixDisown, prefixIdentity} {
		if suffix, ok := strings.CutPrefix(key, prefix); ok {
			return suffix
		}
	}
	return key
}

// inherited are the annotations in effect that are not the Service's own, by
// key, with whose they are for people.
type inherited map[string]string

// inEffect returns the Service with the annotations that are in effect for it,
// and which of them are inherited. It leaves svc as it is.
func (d Defaults) inEffect(svc *v1.Service) (*v1.Service, inherited) {
	from := inherited{}
	all := maps.Clone(svc.Annotations)
	if all == nil {
		all = map[string]string{}
	}
	inherit := func(values map[string]string, whose string) {
		decided := maps.Clone(all)
		for key, value := range values {
			// An empty annotation counts as absent.
			if all[key] == "" && value != "" && !decidesInstead(decided, key) {
				all[key], from[key] = value, whose
			}
		}
	}
	class := svc.Annotations[Class]
	inherit(d.Classes[class], fmt.Sprintf("the class %q", class))
	inherit(d.Values, "the cluster's default")
	if len(from) == 0 {
		return svc, nil
	}
	effective := *svc
	effective.Annotations = all
	return &effective, from
}

// decidesInstead tells whether annotations that come first decide what the one of
// this key is about by another one, beside which it must not be: a default must
// not make a Service invalid that is valid by itself.
func decidesInstead(annotations map[string]string, key string) bool {
	switch key {
	case SizeUnit:
		return annotations[SizeSlug] != ""
	case SizeSlug:
		return annotations[SizeUnit] != ""
	case CertificateName:
		through, err := strconv.ParseBool(annotations[TLSPassthrough])
		return err == nil && through
	case TLSPassthrough:
		for other, value := range annotations {
			if value != "" && NamesCertificate(other) {
				return true
			}
		}
	}
	return false
}

// Existing are the defaults for a Service whose load balancer exists: they don't
// change what can't be changed on it. Its type holds where the Service names
// none; its network does where a default would decide.
func (d Defaults) Existing(balancerType, network string) Defaults {
	actual := map[string]string{Network: network}
	fix := func(values map[string]string) map[string]string {
		fixed := make(map[string]string, len(values))
		for key, value := range values {
			definition, _ := Lookup(key)
			switch {
			case !definition.Immutable:
				fixed[key] = value
			case actual[key] != "":
				fixed[key] = actual[key]
			}
		}
		return fixed
	}
	classes := make(map[string]map[string]string, len(d.Classes))
	for name, values := range d.Classes {
		classes[name] = fix(values)
	}
	return Defaults{Type: balancerType, Values: fix(d.Values), Classes: classes}
}

// knowsClass tells whether the class is there, or none is asked for.
func (d Defaults) knowsClass(class string) bool {
	_, known := d.Classes[class]
	return class == "" || known
}

// checkClass refuses a class that isn't there.
func (d Defaults) checkClass(p *parser) {
	class := p.text(Class)
	if d.knowsClass(class) {
		return
	}
	names := slices.Sorted(maps.Keys(d.Classes))
	allowed := "must be absent, as the manager's configuration has no classes"
	if len(names) > 0 {
		allowed = "must be one of the classes that the manager's configuration has: " + strings.Join(names, ", ")
	}
	p.refuse(Class, class, allowed)
}
