package simulator_test

import (
	"net/http"
	"testing"

	"digitalocean-cloud-controller-manager/simulator"
)

func TestTheRequestLogTellsWhoAskedAndWhatItCost(t *testing.T) {
	w := newWorld(t, simulator.WithRateLimit(2, 0), simulator.WithToken(token, "blue"), simulator.WithToken("green-token", "green"))
	w.do("GET", "/v2/account", "")
	w.do("GET", "/v2/nothing", "")
	w.do("GET", "/v2/account", "") // beyond the hour's two
	w.doAs("green-token", "GET", "/v2/account", "")
	w.doAs("stranger", "GET", "/v2/account", "")
	type entry struct{ status, cost int }
	want := []entry{{200, 1}, {404, 1}, {429, 0}, {200, 1}, {401, 0}}
	for i, r := range w.Requests() {
		if got := (entry{r.Status, r.Cost}); got != want[i] {
			t.Errorf("request %d: %+v, want %+v", i+1, got, want[i])
		}
	}
	for query, count := range map[string]int{
		"": 5, "team=blue": 3, "team=green": 1, "status=429": 1, "status=200&team=blue": 1, "method=POST": 0, "path=/v2/account": 4, "since=4": 1,
	} {
		var found struct{ Requests []simulator.Request }
		w.control(http.MethodGet, "requests?"+query, "", 200).decode(t, &found)
		if len(found.Requests) != count {
			t.Errorf("%s finds %d, want %d", query, len(found.Requests), count)
		}
	}
	w.control(http.MethodGet, "requests?status=x", "", 400)
}
