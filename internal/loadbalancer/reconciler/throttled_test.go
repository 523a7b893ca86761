package reconciler

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/targets"
	"digitalocean-cloud-controller-manager/simulator"
)

// useUp leaves of the minute's quota what is kept for more urgent calls.
func (s *stand) useUp(p doapi.Priority) {
	s.t.Helper()
	ctx := doapi.WithoutWaiting(doapi.WithPriority(s.t.Context(), p))
	for {
		if _, _, err := s.digitalOcean.Account.Get(ctx); err != nil {
			break
		}
	}
	s.calls()
}

// impatient changes the Service "web" and has the framework sync it.
func (s *stand) impatient(pairs ...string) (*v1.LoadBalancerStatus, error) {
	s.t.Helper()
	svc := s.web()
	for i := 0; i < len(pairs); i += 2 {
		svc.Annotations[pairs[i]] = pairs[i+1]
	}
	if _, err := s.kube.CoreV1().Services("default").Update(s.t.Context(), svc, metav1.UpdateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.refresh()
	begun := time.Now()
	status, err := s.EnsureLoadBalancer(s.t.Context(), "", svc, nil)
	if took := time.Since(begun); took > 0 {
		s.t.Errorf("the framework's worker was kept for %s", took)
	}
	return status, err
}

// Whatever a change waits for the quota for, it is no error, and keeps nobody.
func TestAChangeThatWaitsForTheQuotaIsNoError(t *testing.T) {
	tests := map[string]time.Duration{
		"to be written":                       time.Minute,
		"until its load balancer can be read": 6 * time.Minute,
		"until backends can be looked up":     11 * time.Minute,
	}
	for name, idle := range tests {
		t.Run(name, func(t *testing.T) {
			inStand(t, nil, func(s *stand) {
				s.ready()
				s.later(idle)
				s.calls()
				s.useUp(doapi.Normal)
				if _, err := s.impatient(annotation.SizeUnit, "3"); err != nil {
					t.Error(err)
				}
				// A new one isn't held up by what the other lacks.
				s.made("new", 0)
				s.served("new")
				if n := s.mine().SizeUnit; n != 3 {
					t.Errorf("size %d in the end", n)
				}
				s.wantNoWarnings()
			})
		})
	}
}

// What serves all Services doesn't wait with the changes of one, and has not
// failed where it waits.
func TestTheTagOfBackendsAndTheQuota(t *testing.T) {
	tests := map[string]struct {
		used   doapi.Priority
		tagged bool // at once
	}{
		"used up but for urgent calls": {doapi.Normal, true},
		"used up":                      {doapi.Urgent, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s *stand
				s = newStand(t, func(o *Options) {
					o.Target = Target{Tag: targets.New("backends", s.digitalOcean.Tags, s.digitalOcean.Droplets, o.Clock), Wanted: true}
				})
				s.start()
				defer s.end()
				s.ready()
				s.later(30 * time.Second)
				b := s.addNode(simulator.DropletSpec{Name: "b"})
				// The controllers of Nodes know it already.
				if _, err := s.droplets.Get(t.Context(), b.ID, 0, func() []int { return nil }); err != nil {
					t.Fatal(err)
				}
				s.useUp(test.used)
				isTagged := func() bool {
					d, _ := s.sim.Droplet(b.ID)
					return slices.Contains(d.Tags, "backends")
				}
				s.later(time.Second) // others' knowledge of the Nodes is of before
				if _, err := s.impatient(annotation.SizeUnit, "3"); err != nil {
					t.Error(err)
				}
				if isTagged() != test.tagged {
					t.Errorf("tagged at once: %t", isTagged())
				}
				s.made("new", 0)
				s.later(time.Minute)
				if lb := s.balancer(s.named("new").Annotations[annotation.LoadBalancerID]); lb.Tag != "backends" {
					t.Errorf("the new load balancer was not made to target the tag: %v", s.calls())
				}
				s.wantNoWarnings()
				if n := s.mine().SizeUnit; n != 3 || !isTagged() {
					t.Errorf("size %d and tagged %t in the end", n, isTagged())
				}
			})
		})
	}
}

func (s *stand) wantNoWarnings() {
	s.t.Helper()
	for _, told := range s.news() {
		if strings.HasPrefix(told, v1.EventTypeWarning) {
			s.t.Error(told)
		}
	}
}

// Only a request that was sent may have made a load balancer, which is looked for
// in a list before another is made.
func TestARequestThatWasNotSentMadeNothing(t *testing.T) {
	tests := map[string]struct {
		prepare func(*stand)
		doubt   bool
	}{
		"no quota":      {func(s *stand) { s.useUp(doapi.Urgent) }, false},
		"answered 500":  {func(s *stand) { s.sim.AddFault(simulator.Fault{Method: "POST", Status: 500}) }, true},
		"answer broken": {func(s *stand) { s.sim.AddFault(simulator.Fault{Method: "POST", Malformed: true}) }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inStand(t, nil, func(s *stand) {
				test.prepare(s)
				svc := webService(nil)
				if _, err := s.create(doapi.WithoutWaiting(s.t.Context()), svc, loadbalancer.Desired{}); err == nil {
					t.Fatal("no error")
				}
				if s.hasDoubt(svc) != test.doubt {
					t.Errorf("doubt: %t", !test.doubt)
				}
			})
		})
	}
}
