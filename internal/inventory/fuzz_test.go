package inventory_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/inventory"
	"digitalocean-cloud-controller-manager/simulator"
)

// parrot answers everything alike.
type parrot struct {
	status int
	body   []byte
}

func (p parrot) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: p.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(p.body)), ContentLength: int64(len(p.body)),
	}, nil
}

// answersOf are the simulator's real answers to what is read.
func answersOf(f *testing.F) [][]byte {
	sim := simulator.New(simulator.WithToken(ours, "ours"))
	sim.AddDroplet(simulator.DropletSpec{Team: "ours", Name: "node"})
	var bodies [][]byte
	for _, path := range []string{"/v2/account", "/v2/droplets", "/v2/droplets/1", "/v2/load_balancers"} {
		req, err := http.NewRequest(http.MethodGet, "http://api.test"+path, nil)
		if err != nil {
			f.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+ours)
		resp, err := sim.Transport().RoundTrip(req)
		if err != nil {
			f.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			f.Fatal(err)
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// Whatever the API answers, nothing panics, what is returned is what was asked
// for, and a droplet is gone on a 404 only.
func FuzzAnswers(f *testing.F) {
	for _, body := range answersOf(f) {
		f.Add(200, body)
	}
	f.Add(404, []byte(`{"id":"not_found","message":"no"}`))
	f.Add(200, []byte(`{"droplet":{"id":5},"droplets":[{"id":5},{"id":6}],"load_balancer":{"id":"a"},"load_balancers":[{"id":"a"},null],"account":{"uuid":"u","team":null},"meta":{"total":2},"links":{}}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		status = 200 + int(uint(status)-200)%400
		synctest.Test(t, func(t *testing.T) {
			client, err := doapi.New(doapi.Options{TokenSource: &token{ours}, Version: "test", Transport: parrot{status, body}})
			if err != nil {
				t.Fatal(err)
			}
			cluster := inventory.Cluster{
				Known: func() []int { return []int{5, 6, 7} }, Unready: func() []int { return []int{5} }, Unnamed: func() int { return 1 },
			}
			d := inventory.NewDroplets(client.Droplets, client.Account, cluster, clock.RealClock{})
			for range 2 {
				look(t, d, status)
				time.Sleep(time.Minute)
			}
			lookAtBalancers(t, inventory.NewLoadBalancers(client.LoadBalancers, clock.RealClock{}))
		})
	})
}

func look(t *testing.T, d *inventory.Droplets, status int) {
	t.Helper()
	ctx := context.Background()
	_, _ = d.Identify(ctx) // its error is another test's
	for id := 5; id <= 6; id++ {
		got, err := d.Get(ctx, id, time.Second, func() []int { return []int{5, 6, 7} })
		if err == nil && got.ID != id {
			t.Errorf("droplet %d for %d", got.ID, id)
		}
		if _, watched := d.Watch(ctx, id); (inventory.IsGone(err) || inventory.IsGone(watched)) && status != http.StatusNotFound {
			t.Errorf("status %d says that it is gone: %v, %v", status, err, watched)
		}
	}
	if found, err := d.Find(ctx, inventory.Query{Name: "node", Addresses: []string{"10.0.0.1"}, Since: time.Now()}); err == nil && found.ID <= 0 {
		t.Errorf("found droplet %d", found.ID)
	}
}

func lookAtBalancers(t *testing.T, l *inventory.LoadBalancers) {
	t.Helper()
	ctx := context.Background()
	if lb, err := l.Get(ctx, "a", time.Minute, func() []string { return []string{"a", "b", "c"} }); err == nil && lb.ID != "a" {
		t.Errorf("load balancer %q", lb.ID)
	}
	all, err := l.All(ctx, 0)
	for _, lb := range all {
		if err == nil && lb.ID == "" {
			t.Error("a load balancer without an id")
		}
	}
}
