package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/simulator"
)

const clusterTag = "k8s:" + clusterID

func TestTheClustersTagIsPutBackAndOnNothingElse(t *testing.T) {
	e, _ := startWithNode(t, nil, driftEvery("2s"))
	e.mayWrite(tagResources)
	stranger, _, err := e.client().LoadBalancers.Create(e.ctx, &godo.LoadBalancerRequest{
		Name: "strangers", Region: "nyc3",
		ForwardingRules: []godo.ForwardingRule{{EntryProtocol: "tcp", EntryPort: 80, TargetProtocol: "tcp", TargetPort: 80}},
	})
	if err != nil {
		t.Fatal(err)
	}
	e.addService("web", nil)
	_, lb := e.balanced("web")
	e.becomes(lb.ID, "the cluster's tag alone", func(lb simulator.LoadBalancer) bool { return slices.Equal(lb.Tags, []string{clusterTag}) })
	if err := e.sim.EditLoadBalancer(lb.ID, func(lb *simulator.LoadBalancer) { lb.Tags = nil }); err != nil {
		t.Fatal(err)
	}
	since := len(e.sim.Requests())
	// For a minute after its creation the manager believes its own write.
	e.eventually(2*lag, "tagged again", func() error {
		now, err := e.loadBalancer(lb.ID)
		if err == nil && !slices.Contains(now.Tags, clusterTag) {
			err = fmt.Errorf("it has the tags %v", now.Tags)
		}
		return err
	})
	e.never(10*time.Second, "a stranger's load balancer is tagged", func() error {
		now, err := e.loadBalancer(stranger.ID)
		if err == nil && len(now.Tags) > 0 {
			err = fmt.Errorf("it has the tags %v", now.Tags)
		}
		return err
	})
	if writes := e.writesSince(since); len(writes) != 1 {
		t.Errorf("tagging once cost %v", writes)
	}
}
