package simulator_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"digitalocean-cloud-controller-manager/simulator"
)

const (
	manyDroplets  = 10_000
	manyBalancers = 1_000
)

// largeWorld has 10,000 droplets and 1,000 load balancers, and no limits.
func largeWorld(b *testing.B) *simulator.Simulator {
	b.Helper()
	sim := simulator.New(simulator.WithRateLimit(0, 0))
	var balancers strings.Builder
	for i := range manyBalancers {
		fmt.Fprintf(&balancers, `
  - {name: lb-%d, region: nyc3, droplets: [node-%d, node-%d], forwarding_rules: [{entry_protocol: tcp, entry_port: 80, target_protocol: tcp, target_port: 80}]}`,
			i, i+1, i+2)
	}
	err := sim.Load(strings.NewReader(fmt.Sprintf(`
teams:
- droplets: [{name: node, count: %d, tags: [workers]}]
  load_balancers:%s
`, manyDroplets, balancers.String())))
	if err != nil {
		b.Fatal(err)
	}
	return sim
}

// ask is one request without a network, that has to be answered with the status.
func ask(b *testing.B, sim *simulator.Simulator, method, path, body string, want int) {
	b.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+token)
	rec := httptest.NewRecorder()
	sim.ServeHTTP(rec, req)
	if rec.Code != want {
		b.Fatalf("%s %s: %d %s", method, path, rec.Code, rec.Body)
	}
}

func BenchmarkLargeWorld(b *testing.B) {
	sim := largeWorld(b)
	first, balancer := sim.Droplets()[0].ID, sim.LoadBalancers()[0].ID
	for _, op := range []struct{ name, path string }{
		{"droplets-page", "/v2/droplets?per_page=200&page=25"},
		{"droplets-by-tag", "/v2/droplets?per_page=200&tag_name=workers"},
		{"droplet-by-name", "/v2/droplets?name=node-5000"},
		{"droplet", fmt.Sprintf("/v2/droplets/%d", first)},
		{"balancers-page", "/v2/load_balancers?per_page=200&page=3"},
		{"balancer-by-name", "/v2/load_balancers?names=lb-500"},
		{"balancer", "/v2/load_balancers/" + balancer},
	} {
		b.Run("get-"+op.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ask(b, sim, http.MethodGet, op.path, "", http.StatusOK)
			}
		})
	}
	made := 0
	b.Run("create-balancer", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			made++
			ask(b, sim, http.MethodPost, "/v2/load_balancers", fmt.Sprintf(`{"name":"new-%d","region":"nyc3","droplet_ids":[%d],
				"forwarding_rules":[{"entry_protocol":"tcp","entry_port":80,"target_protocol":"tcp","target_port":80}]}`, made, first), http.StatusAccepted)
			b.StopTimer()
			// As many as before, so that every round means the same.
			all := sim.LoadBalancers()
			if err := sim.DeleteLoadBalancer(all[len(all)-1].ID); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	})
}

// A list that lags has to notice what has changed among all objects.
func BenchmarkWriteWhileListsLag(b *testing.B) {
	sim := largeWorld(b)
	sim.ChangeSettings(simulator.SettingsPatch{ListLag: map[string]simulator.Duration{"*": 5e9}})
	path := fmt.Sprintf("/v2/droplets/%d/actions", sim.Droplets()[0].ID)
	b.ReportAllocs()
	for b.Loop() {
		ask(b, sim, http.MethodPost, path, `{"type":"power_cycle"}`, http.StatusCreated)
	}
}
