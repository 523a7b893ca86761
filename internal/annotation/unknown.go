package annotation

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
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
	return nearest(key) != ""
}

// nearest returns the known key that the user may have meant, or "". Names are
// compared without prefixes, so that the right name under a wrong prefix is near.
func nearest(key string) string {
	name := bareName(key)
	// A short name is near to anything: a slip in three letters is none.
	best, least := "", len(name)/4+1
	for _, d := range Registry {
		distance := editDistance(name, bareName(d.Key), least)
		if distance < least || best == "" && distance == least {
			best, least = d.Key, distance
		}
	}
	return best
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

// editDistance counts the bytes to insert, remove or replace to turn a into b
// (Levenshtein). Above most it is only known to be above most: keys may be long.
func editDistance(a, b string, most int) int {
	if difference := len(a) - len(b); difference > most || -difference > most {
		return most + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
