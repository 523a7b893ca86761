package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
	"digitalocean-cloud-controller-manager/test/harness"
)

// answerDelay is how late DigitalOcean's answers come that meet an outage of the
// cluster's.
const answerDelay = 3 * time.Second

// replica starts a manager with a token, which is started again when it ends.
func (e *environment) replica(token string, args ...string) *harness.Replica {
	e.t.Helper()
	e.variables["DO_ACCESS_TOKEN"] = token
	r := harness.StartReplica(e.ctx, sandbox.ManagerOptions{
		Binary: programs.Manager, Kubeconfig: e.kubeconfig, Env: e.env(), Args: append([]string{"--v=4"}, args...),
	})
	e.t.Cleanup(func() {
		r.Stop()
		text := r.Log.String()
		for _, fault := range harness.Faults(text, token) {
			e.t.Error(fault)
		}
		if e.t.Failed() {
			e.t.Logf("the end of the replica's log:\n%s", harness.Tail(text, 60))
		}
	})
	return r
}

// settled waits for two Nodes, old enough to be called gone, and two Services.
// It returns what must stay of the Nodes.
func (e *environment) settled() (uids map[string]string) {
	e.t.Helper()
	uids = map[string]string{}
	for _, name := range []string{"w1", "w2"} {
		e.addNode(simulator.DropletSpec{Name: name}, sandbox.NodeOptions{})
		e.eventually(60*time.Second, name, e.initialized(name))
		e.old(name)
		node, err := e.node(name)
		if err != nil {
			e.t.Fatal(err)
		}
		uids[name] = string(node.UID)
	}
	for _, name := range []string{"kept", "gone"} {
		e.addService(name, nil)
		e.balanced(name)
	}
	// Its kubelet is silent and its droplet lives.
	e.ready("w2", false)
	return uids
}

// interrupted has a load balancer being made, and one being deleted: both are
// done, and the answers are on their way.
func (e *environment) interrupted() (deleted string) {
	e.t.Helper()
	_, gone := e.balanced("gone")
	e.mayWrite(deleteLB)
	for _, f := range []simulator.Fault{{Method: "POST", Path: "/v2/load_balancers"}, {Method: "DELETE", Path: "/v2/load_balancers/" + gone.ID}} {
		f.Count, f.AfterActing, f.Delay = 1, true, answerDelay
		e.sim.AddFault(f)
	}
	if err := e.kube.CoreV1().Services("default").Delete(e.ctx, "gone", metav1.DeleteOptions{}); err != nil {
		e.t.Fatal(err)
	}
	e.addService("midway", nil)
	e.eventually(20*time.Second, "both requests are on their way", func() error {
		ids := map[string]bool{}
		for _, lb := range e.sim.LoadBalancers() {
			ids[lb.ID] = true
		}
		// Those of "kept" and "midway".
		if len(ids) != 2 || ids[gone.ID] {
			return fmt.Errorf("there are %v", ids)
		}
		return nil
	})
	return gone.ID
}

// changed makes what the manager finds when it sees the cluster again. Kubernetes
// may be away yet.
func (e *environment) changed() {
	e.t.Helper()
	e.mayWrite(updateLB)
	e.eventually(60*time.Second, "a change", func() error {
		svc, err := e.service("kept")
		if err != nil {
			return err
		}
		svc.Annotations[annotationPrefix+"size-unit"] = "2"
		_, err = e.kube.CoreV1().Services("default").Update(e.ctx, svc, metav1.UpdateOptions{})
		return err
	})
	e.addNode(simulator.DropletSpec{Name: "w3"}, sandbox.NodeOptions{})
	e.addService("late", nil)
}

// converged checks that everything became as it should be, by one write each, and
// that the Nodes are the same ones.
func (e *environment) converged(deleted string, uids map[string]string) {
	e.t.Helper()
	e.eventually(60*time.Second, "w3", e.initialized("w3"))
	for _, name := range []string{"kept", "midway", "late"} {
		_, lb := e.balanced(name)
		e.becomes(lb.ID, "all droplets", func(lb simulator.LoadBalancer) bool { return len(lb.DropletIDs) == 3 })
	}
	svc, lb := e.balanced("kept")
	e.becomes(lb.ID, "larger", func(lb simulator.LoadBalancer) bool { return lb.SizeUnit == 2 })
	e.eventually(60*time.Second, "the deleted Service goes", func() error {
		if _, err := e.service("gone"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	if len(svc.Status.LoadBalancer.Ingress) == 0 {
		e.t.Error("the address was taken from a Service")
	}
	e.writtenOnce(4, deleted) // kept, gone, midway and late
	for name, uid := range uids {
		node, err := e.node(name)
		if err != nil || string(node.UID) != uid {
			e.t.Errorf("Node %s was deleted: %v", name, err)
		}
	}
}

// writtenOnce checks that so many load balancers were made and one was deleted,
// each by one request.
func (e *environment) writtenOnce(made int, deleted string) {
	e.t.Helper()
	counts := map[string]int{}
	for _, r := range e.sim.Requests() {
		counts[r.Method+" "+r.Path]++
	}
	if got := counts[createLB]; got != made || len(e.sim.LoadBalancers()) != made-1 {
		e.t.Errorf("%d load balancers were made and %d exist, want %d and %d", got, len(e.sim.LoadBalancers()), made, made-1)
	}
	if got := counts["DELETE /v2/load_balancers/"+deleted]; got != 1 {
		e.t.Errorf("the load balancer was deleted %d times", got)
	}
}

func TestAnAPIServerThatRestartsIsWaitedFor(t *testing.T) {
	tests := []struct {
		name string
		args []string
		// away is how long there is no API server, beside its start.
		away time.Duration
		// again: the lease ends meanwhile, and with it the process.
		again bool
	}{
		{"within the lease", []string{"--leader-elect-lease-duration=90s", "--leader-elect-renew-deadline=60s"}, answerDelay + time.Second, false},
		{"beyond the lease", shortLease, 8 * time.Second, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := prepare(t, nil)
			r := e.replica(token, test.args...)
			uids := e.settled()
			deleted := e.interrupted()
			e.withoutAPIServer(test.away)
			e.changed()
			e.converged(deleted, uids)
			if again := r.Starts() > 1; again != test.again {
				t.Errorf("the process was started %d times", r.Starts())
			}
		})
	}
}

// withoutAPIServer restarts the API server, which is away for a while.
func (e *environment) withoutAPIServer(away time.Duration) {
	e.t.Helper()
	e.expected.mu.Lock()
	defer e.expected.mu.Unlock()
	e.expected.down = time.Now()
	if err := e.plane.StopAPIServer(); err != nil {
		e.t.Fatal(err)
	}
	time.Sleep(away)
	if err := e.plane.StartAPIServer(); err != nil {
		e.t.Fatal(err)
	}
	e.expected.up = time.Now()
}

func TestALeaderGivesUpWhenEtcdHangs(t *testing.T) {
	e := prepare(t, []simulator.Option{simulator.WithToken(secondToken, team)})
	replicas := map[string]*harness.Replica{token: e.replica(token, shortLease...)}
	uids := e.settled()
	replicas[secondToken] = e.replica(secondToken, shortLease...)
	e.eventually(60*time.Second, "the second replica", func() error {
		if len(e.requestsOf(secondToken)) == 0 {
			return errors.New("it has asked for nothing yet")
		}
		return nil
	})
	deleted := e.interrupted()
	if err := e.plane.PauseEtcd(); err != nil {
		t.Fatal(err)
	}
	paused := time.Now()
	e.eventually(15*time.Second, "the leader gives up", func() error {
		if !strings.Contains(replicas[token].Log.String(), "===== ended") {
			return errors.New("it goes on")
		}
		return nil
	})
	// The lease lasts 4 s. Nobody writes to DigitalOcean who can't have it.
	written := len(e.writes())
	time.Sleep(max(0, time.Until(paused.Add(12*time.Second))))
	if all := e.writes(); len(all) > written {
		t.Errorf("without a leader there was written: %v", all[written:])
	}
	if err := e.writeToEtcd(); err == nil {
		t.Error("etcd was not away")
	}
	if err := e.plane.ResumeEtcd(); err != nil {
		t.Fatal(err)
	}
	e.changed()
	e.converged(deleted, uids)
	if e.leader() == "" {
		t.Error("nobody leads")
	}
}

// writeToEtcd changes a Service.
func (e *environment) writeToEtcd() error {
	ctx, cancel := context.WithTimeout(e.ctx, 2*time.Second)
	defer cancel()
	_, err := e.kube.CoreV1().Services("default").Patch(ctx, "kept", "application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	return err
}
