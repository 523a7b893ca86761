package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
)

// secondToken is the second replica's, so that the simulator's log tells the two
// apart.
var secondToken = strings.TrimSuffix(token, "cdef") + "beef"

// shortLease has a replica take over sooner than by default.
var shortLease = []string{"--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms"}

// startTwo starts a cluster with a Node and two replicas, of which e.manager
// leads. The second one is returned.
func startTwo(t *testing.T, args ...string) (*environment, *sandbox.Manager) {
	t.Helper()
	e := prepare(t, []simulator.Option{simulator.WithToken(secondToken, team)})
	e.args = args
	e.startManager()
	e.addNode(simulator.DropletSpec{Name: "w"}, sandbox.NodeOptions{})
	e.eventually(60*time.Second, "w", e.initialized("w"))
	e.variables["DO_ACCESS_TOKEN"] = secondToken
	second, err := sandbox.StartManager(e.ctx, sandbox.ManagerOptions{
		Binary: programs.Manager, Kubeconfig: e.kubeconfig, Env: e.env(), Args: append([]string{"--v=4"}, args...), Log: &e.log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Kill() })
	e.eventually(30*time.Second, "the second replica", func() error {
		if len(e.requestsOf(secondToken)) == 0 {
			return fmt.Errorf("it has asked for nothing yet")
		}
		return nil
	})
	return e, second
}

// requestsOf are the requests with a token.
func (e *environment) requestsOf(token string) (requests []simulator.Request) {
	for _, r := range e.sim.Requests() {
		if strings.HasSuffix(token, r.Token) {
			requests = append(requests, r)
		}
	}
	return requests
}

func (e *environment) writesOf(token string) (writes []string) {
	for _, r := range e.requestsOf(token) {
		if r.Method != "GET" {
			writes = append(writes, r.Method+" "+r.Path)
		}
	}
	return writes
}

// madeOnce checks that each Service had one load balancer made, by whomever.
func (e *environment) madeOnce(services int) {
	e.t.Helper()
	made := 0
	for _, r := range e.sim.Requests() {
		if r.Method == "POST" && r.Path == "/v2/load_balancers" {
			made++
		}
	}
	if have := len(e.sim.LoadBalancers()); made != services || have != services {
		e.t.Errorf("%d load balancers were made and %d exist for %d Services", made, have, services)
	}
}

// leader is the holder of the lease; empty for nobody.
func (e *environment) leader() string {
	lease, err := e.kube.CoordinationV1().Leases("kube-system").Get(e.ctx, "cloud-controller-manager", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func TestALeaderThatIsStoppedHandsOverAtOnce(t *testing.T) {
	e, _ := startTwo(t)
	e.addService("web", nil)
	e.balanced("web")
	first := e.leader()
	if err := e.manager.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := e.manager.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	stopped := e.sim.Requests()
	// The lease would hold for 15 s more.
	e.eventually(8*time.Second, "the other one leads", func() error {
		if now := e.leader(); now == "" || now == first {
			return fmt.Errorf("%q leads", now)
		}
		return nil
	})
	e.addService("late", nil)
	e.balanced("late")
	e.madeOnce(2)
	for _, r := range e.sim.Requests()[len(stopped):] {
		if r.Method == "GET" && r.Path != "/v2/droplets" || strings.HasSuffix(secondToken, r.Token) {
			continue
		}
		t.Errorf("the first replica still sent %s %s", r.Method, r.Path)
	}
}

func TestAKilledLeaderIsReplacedAndNothingIsMadeTwice(t *testing.T) {
	e, _ := startTwo(t, shortLease...)
	// It dies between the request and its answer.
	e.sim.AddFault(simulator.Fault{Method: "POST", Path: "/v2/load_balancers", Count: 1, AfterActing: true, Delay: time.Minute})
	e.addService("web", nil)
	e.eventually(20*time.Second, "the request is on its way", func() error {
		if len(e.sim.LoadBalancers()) != 1 {
			return fmt.Errorf("there is no load balancer")
		}
		return nil
	})
	if err := e.manager.Kill(); err != nil {
		t.Fatal(err)
	}
	e.balanced("web")
	e.madeOnce(1)
}

func TestALeaderThatWasPausedDoesNoHarm(t *testing.T) {
	e, _ := startTwo(t, shortLease...)
	e.addService("web", nil)
	_, lb := e.balanced("web")
	first := e.leader()
	pause := func(signal syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(e.manager.PID(), signal); err != nil {
			t.Fatal(err)
		}
	}
	pause(syscall.SIGSTOP)
	before := len(e.writesOf(token))
	e.eventually(30*time.Second, "the other one leads", func() error {
		if now := e.leader(); now == first {
			return fmt.Errorf("%q leads", now)
		}
		return nil
	})
	// What the first would undo if it acted by what it knows.
	e.annotate("web", "size-unit", "2")
	e.becomes(lb.ID, "larger", func(lb simulator.LoadBalancer) bool { return lb.SizeUnit == 2 })
	e.addNode(simulator.DropletSpec{Name: "w2"}, sandbox.NodeOptions{})
	e.becomes(lb.ID, "wider", func(lb simulator.LoadBalancer) bool { return len(lb.DropletIDs) == 2 })
	e.addService("late", nil)
	e.balanced("late")
	pause(syscall.SIGCONT)
	select {
	case <-e.manager.Done():
	case <-time.After(30 * time.Second):
		t.Error("it goes on without the lease")
	}
	if after := e.writesOf(token); len(after) > before {
		t.Errorf("after it woke up, it sent %v", after[before:])
	}
	e.madeOnce(2)
}
