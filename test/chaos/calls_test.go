package chaos

import (
	"fmt"
	"net/http"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"digitalocean-cloud-controller-manager/simulator"
)

// The quota of a token.
const perHour, perMinute = 5000, 250

// refusedPerStart is how many requests a manager may have refused for the
// minute's limit: one that was just started can't know what was sent before, and
// what it has under way when it learns of it is refused as well.
const refusedPerStart = 20

// writable are the writes that the manager ever makes.
var writable = regexp.MustCompile(`^(POST /v2/load_balancers|(PUT|DELETE) /v2/load_balancers/[^/]+|(POST|DELETE) /v2/load_balancers/[^/]+/droplets|` +
	`POST /v2/firewalls|PUT /v2/firewalls/[^/]+|POST /v2/tags|DELETE /v2/tags/[^/]+|(POST|DELETE) /v2/tags/[^/]+/resources)$`)

var onBalancer = regexp.MustCompile(`^/v2/load_balancers/([^/]+)`)

// misdirected lists writes that aren't the manager's to make.
func misdirected(requests []simulator.Request, born map[string]types.UID) []string {
	var bad []string
	for _, r := range requests {
		if r.Method == http.MethodGet {
			continue
		}
		what := fmt.Sprintf("%s %s %s, answered %d", r.Method, r.Path, r.Body, r.Status)
		if !writable.MatchString(r.Method + " " + r.Path) {
			bad = append(bad, "the manager doesn't make such a write: "+what)
		}
		if id := onBalancer.FindStringSubmatch(r.Path); id != nil && born[id[1]] == "" {
			bad = append(bad, "this load balancer was not made by us: "+what)
		}
	}
	return bad
}

// overQuota tells how the quota was not respected. The simulator refuses what is
// over it: to have been refused again and again is not to respect it.
func overQuota(requests []simulator.Request, starts int) []string {
	refused := 0
	for _, r := range requests {
		if r.Status == http.StatusTooManyRequests && r.Cost == 0 {
			refused++
		}
	}
	var bad []string
	if refused > refusedPerStart*starts {
		bad = append(bad, fmt.Sprintf("%d requests were refused for the quota, in %d starts of managers", refused, starts))
	}
	if most := busiest(requests, time.Minute); most > perMinute {
		bad = append(bad, fmt.Sprintf("%d requests counted within a minute", most))
	}
	if most := busiest(requests, time.Hour); most > perHour {
		bad = append(bad, fmt.Sprintf("%d requests counted within an hour", most))
	}
	return bad
}

// busiest is how many requests counted at most within any span of that length.
func busiest(requests []simulator.Request, length time.Duration) int {
	most, first, inside := 0, 0, 0
	for _, r := range requests {
		inside += r.Cost
		for ; !requests[first].Time.After(r.Time.Add(-length)); first++ {
			inside -= requests[first].Cost
		}
		most = max(most, inside)

	}
	return most
}

// writesIn are the writes among requests, for people.
func writesIn(requests []simulator.Request) []string {
	var writes []string
	for _, r := range requests {
		if r.Method != http.MethodGet {
			writes = append(writes, fmt.Sprintf("%s %s %s, answered %d", r.Method, r.Path, r.Body, r.Status))
		}
	}
	return writes
}
