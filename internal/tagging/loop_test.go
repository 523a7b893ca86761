package tagging

import (
	"errors"
	"testing"
	"testing/synctest"

	"digitalocean-cloud-controller-manager/internal/loadbalancer"
)

func TestTheStartIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.add(service("svc", r.balancer("lb")))
		r.controller.options.Cluster = func() (loadbalancer.Cluster, error) { return loadbalancer.Cluster{}, errors.New("not started") }
		if calls := r.pass(); len(calls) > 0 {
			t.Errorf("calls %v", calls)
		}
	})
}
