package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
)

const targetTag = "k8s-backends:" + clusterID

func targetsTag(e *environment) {
	e.variables["LOAD_BALANCER_TARGETS"] = "tag"
	e.mayWrite(createTag, tagResources, untagResources)
}

// carriers are the names of droplets with a tag, sorted.
func (e *environment) carriers(tag string) []string {
	var names []string
	for _, d := range e.sim.Droplets() {
		if slices.Contains(d.Tags, tag) {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return names
}

// writes are the calls since a number of requests that change something, as
// "method path", without those of a Service's own mark.
func (e *environment) writesSince(since int) []string {
	var writes []string
	for _, r := range e.sim.Requests()[since:] {
		// The marks go at the next pass after their Service names its load balancer.
		if r.Method != "GET" && !strings.HasPrefix(r.Path, "/v2/tags/k8s-svc:") {
			writes = append(writes, r.Method+" "+r.Path)
		}
	}
	return writes
}

func TestANodeThatJoinsCostsOneCallWithTargetingByTag(t *testing.T) {
	e, _ := startWithNode(t, nil, targetsTag)
	const services = 5
	for i := range services {
		e.addService(fmt.Sprint("web-", i), annotated("type", []string{"REGIONAL", "REGIONAL_NETWORK"}[i%2]))
	}
	for i := range services {
		_, lb := e.balanced(fmt.Sprint("web-", i))
		e.becomes(lb.ID, "targets the tag", func(lb simulator.LoadBalancer) bool { return lb.Tag == targetTag })
	}
	since := len(e.sim.Requests())
	e.addNode(simulator.DropletSpec{Name: "w2"}, sandbox.NodeOptions{})
	e.eventually(40*time.Second, "w2 carries the tag", func() error {
		if got := e.carriers(targetTag); !slices.Equal(got, []string{"w", "w2"}) {
			return fmt.Errorf("the tag is on %v", got)
		}
		return nil
	})
	time.Sleep(5 * time.Second) // for more than what must come
	if writes := e.writesSince(since); !slices.Equal(writes, []string{"POST /v2/tags/" + targetTag + "/resources"}) {
		t.Errorf("a Node that joins cost %v", writes)
	}
	for _, lb := range e.sim.LoadBalancers() {
		if len(lb.DropletIDs) != 2 {
			t.Errorf("load balancer %s has backends %v", lb.Name, lb.DropletIDs)
		}
	}
	since = len(e.sim.Requests())
	e.labelNode("w2", v1.LabelNodeExcludeBalancers, "true")
	e.eventually(20*time.Second, "w2 loses the tag", func() error {
		if got := e.carriers(targetTag); !slices.Equal(got, []string{"w"}) {
			return fmt.Errorf("the tag is on %v", got)
		}
		return nil
	})
	time.Sleep(3 * time.Second)
	if writes := e.writesSince(since); len(writes) != 1 {
		t.Errorf("an excluded Node cost %v", writes)
	}
	for i := range services {
		if got := e.warnings(fmt.Sprint("web-", i)); len(got) > 0 {
			t.Errorf("warnings: %v", got)
		}
	}
}

func TestTargetingByTagGoesOnAndOffWithoutAGap(t *testing.T) {
	e, _ := startWithNode(t, nil)
	e.mayWrite(createTag, deleteTag, tagResources, updateLB)
	e.addService("web", nil)
	_, lb := e.balanced("web")
	gaps := e.watchForGaps(lb.ID)
	for _, step := range []struct{ targets, tag string }{{"tag", targetTag}, {"droplets", ""}} {
		e.stopManager()
		e.variables["LOAD_BALANCER_TARGETS"] = step.targets
		e.startManager()
		e.becomes(lb.ID, "targets "+step.targets, func(lb simulator.LoadBalancer) bool { return lb.Tag == step.tag && len(lb.DropletIDs) == 1 })
	}
	e.eventually(10*time.Second, "the tag goes with its last load balancer", func() error {
		if got := e.carriers(targetTag); len(got) > 0 {
			return fmt.Errorf("the tag is on %v", got)
		}
		return nil
	})
	if n := gaps(); n > 0 {
		t.Errorf("the load balancer had no backends %d times", n)
	}
	if got := e.warnings("web"); len(got) > 0 {
		t.Errorf("warnings: %v", got)
	}
}

// watchForGaps looks whether the load balancer lacks backends, until the
// returned function is called, which tells how often it did.
func (e *environment) watchForGaps(id string) (stop func() int) {
	end, gaps := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-end:
				gaps <- n
				return
			case <-time.After(5 * time.Millisecond):
				if lb, err := e.loadBalancer(id); err != nil || len(lb.DropletIDs) == 0 {
					n++
				}
			}
		}
	}()
	return func() int { close(end); return <-gaps }
}

func TestATagThatCanNotBeWrittenFallsBackToDroplets(t *testing.T) {
	e, _ := startWithNode(t, []simulator.Option{simulator.WithFault(simulator.Fault{Method: "POST", Path: "/v2/tags", Status: 403})}, targetsTag)
	e.mayWrite(updateLB)
	e.mayWarn("TargetTagFailed")
	e.addService("web", nil)
	svc, err := e.service("web")
	if err != nil {
		t.Fatal(err)
	}
	e.eventually(30*time.Second, "backends by id", func() error {
		lbs := e.sim.LoadBalancers()
		if len(lbs) != 1 || len(lbs[0].DropletIDs) != 1 || lbs[0].Tag != "" {
			return fmt.Errorf("load balancers %+v", lbs)
		}
		return nil
	})
	e.eventually(30*time.Second, "it is told, and the address is shown", func() error {
		if got := e.warnings(svc.Name); !slices.ContainsFunc(got, func(w string) bool { return strings.HasPrefix(w, "TargetTagFailed") }) {
			return fmt.Errorf("warnings %v", got)
		}
		now, err := e.service("web")
		if err == nil && len(now.Status.LoadBalancer.Ingress) == 0 {
			err = errors.New("no address")
		}
		return err
	})
	e.sim.ClearFaults()
	lb := e.sim.LoadBalancers()[0]
	e.eventually(90*time.Second, "targets the tag later", func() error {
		if now, err := e.loadBalancer(lb.ID); err != nil || now.Tag != targetTag {
			return fmt.Errorf("%+v, %v", now.Tag, err)
		}
		return nil
	})
}

func (e *environment) labelNode(name, key, value string) {
	e.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value)
	if _, err := e.kube.CoreV1().Nodes().Patch(e.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		e.t.Fatal(err)
	}
}
