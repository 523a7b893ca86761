package annotation

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/nearest"
)

// ownPrefixes begin keys that are surely meant for us; nothing else has them.
var ownPrefixes = []string{"service.beta.kubernetes.io/do-", "service.kubernetes.io/do-"}

// Unknown returns the keys that look as if they were meant for the manager and
// that it doesn't know, sorted. Under kubernetes.digitalocean.com/ other software
// has annotations too: there only keys that speak of load balancers or firewalls,
// or that nearly are one of ours, count.
func Unknown(svc *v1.Service) []string {
	var unknown []string
	for key := range svc.Annotations {
		if _, known := Lookup(key); !known && meantForUs(key) {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	return unknown
}

func meantForUs(key string) bool {
	if slices.ContainsFunc(ownPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
		return true
	}
	name, ok := strings.CutPrefix(key, prefixIdentity)
	if !ok {
		return false
	}
	for _, word := range []string{"load-balancer", "loadbalancer", "firewall"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return nearestKey(key) != ""
}

// nearestKey returns the known key that the user may have meant, or "". Names
// are compared without prefixes, so that the right name under a wrong prefix is
// near.
func nearestKey(key string) string {
	keys := make([]string, len(Registry))
	for i, d := range Registry {
		keys[i] = d.Key
	}
	if base, port, ok := SplitPort(key); ok && strings.Contains(base, "/") {
		perPort := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { d, _ := Lookup(key); return !d.PerPort })
		if near := nearest.By(base, perPort, bareName); near != "" {
			return portKey(near, port)
		}
	}
	return nearest.By(key, keys, bareName)
}

// bareName is a key without what only tells whose it is.
func bareName(key string) string {
	_, name, found := strings.Cut(key, "/")
	if !found {
		name = key
	}
	name = strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	for _, prefix := range []string{"do-", "loadbalancer-", "load-balancer-"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}
