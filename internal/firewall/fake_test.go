package firewall

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/digitalocean/godo"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"digitalocean-cloud-controller-manager/internal/doapi"
)

// afterGet does something right after a firewall was read.
type afterGet struct {
	FirewallAPI
	hook *atomic.Pointer[func()]
}

func (g afterGet) Get(ctx context.Context, id string) (*godo.Firewall, *godo.Response, error) {
	fw, resp, err := g.FirewallAPI.Get(ctx, id)
	if hook := g.hook.Load(); hook != nil {
		(*hook)()
	}
	return fw, resp, err
}

// throttledOnce refuses the next reading, as the client does for want of quota.
type throttledOnce struct {
	FirewallAPI
	refuse *atomic.Bool
}

func (a throttledOnce) Get(ctx context.Context, id string) (*godo.Firewall, *godo.Response, error) {
	if a.refuse.CompareAndSwap(true, false) {
		return nil, nil, &doapi.ThrottledError{Priority: doapi.Background, Until: time.Now().Add(10 * time.Minute)}
	}
	return a.FirewallAPI.Get(ctx, id)
}

func forbidden(clienttesting.Action) (bool, runtime.Object, error) {
	return true, nil, errors.New("services is forbidden")
}

// post makes an object as a person would.
func (c *cluster) post(path, body string) {
	c.t.Helper()
	c.send(http.MethodPost, path, body)
}

// send asks the API for what a person would.
func (c *cluster) send(method, path, body string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, "http://api.test"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer dop_v1_test")
	resp, err := c.sim.Transport().RoundTrip(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		c.t.Fatalf("%s %s: %s", method, path, resp.Status)
	}
}

// addLoadBalancer makes a load balancer and returns its id.
func (c *cluster) addLoadBalancer() string {
	c.t.Helper()
	c.post("/v2/load_balancers", `{"name":"edge","region":"nyc3","type":"REGIONAL_NETWORK","forwarding_rules":[{"entry_protocol":"tcp","entry_port":443,"target_protocol":"tcp","target_port":443}]}`)
	all := c.sim.LoadBalancers()
	return all[len(all)-1].ID
}

// wantMetric checks the sum of a metric's samples with the labels; -1 wants any
// value above 0.
func (c *cluster) wantMetric(name string, want float64, labels ...string) {
	c.t.Helper()
	got := sampleOf(c.t, c.registry, name, labels...)
	if want == -1 && got > 0 || got == want {
		return
	}
	c.t.Errorf("metric %s%v is %v, want %v", name, labels, got, want)
}
