package e2e

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// expectations are what a test has named: no other writes to DigitalOcean may be
// made, and no other warnings told of Services or the manager as a whole. What a test does by the environment's helpers
// names what must come of it.
type expectations struct {
	mu                       sync.Mutex
	writes, warnings, denied map[string]bool
	// down and up are when the test took the API server away and gave it back.
	down, up time.Time
}

// Kinds of writes, as [kindOf] gives them.
const (
	createLB       = "POST /v2/load_balancers"
	updateLB       = "PUT /v2/load_balancers/*"
	deleteLB       = "DELETE /v2/load_balancers/*"
	addDroplets    = "POST /v2/load_balancers/*/droplets"
	removeDroplets = "DELETE /v2/load_balancers/*/droplets"
	createFirewall = "POST /v2/firewalls"
	updateFirewall = "PUT /v2/firewalls/*"
	createTag      = "POST /v2/tags"
	deleteTag      = "DELETE /v2/tags/*"
	tagResources   = "POST /v2/tags/*/resources"
	untagResources = "DELETE /v2/tags/*/resources"
)

// mayWrite names kinds of writes.
func (e *environment) mayWrite(kinds ...string) { e.expected.add(&e.expected.writes, kinds) }

// mayWarn names reasons of Warning events.
func (e *environment) mayWarn(reasons ...string) { e.expected.add(&e.expected.warnings, reasons) }

func (x *expectations) add(set *map[string]bool, names []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if *set == nil {
		*set = map[string]bool{}
	}
	for _, name := range names {
		(*set)[name] = true
	}
}

var onePlace = regexp.MustCompile(`^/v2/([a-z_]+)/[^/]+`)

// kindOf is a request without what tells one object from another.
func kindOf(method, path string) string {
	return method + " " + onePlace.ReplaceAllString(path, "/v2/$1/*")
}

// checkUnnamed fails the test for what it did not name.
func (e *environment) checkUnnamed() {
	e.expected.mu.Lock()
	defer e.expected.mu.Unlock()
	unnamed := map[string]string{}
	for _, r := range e.sim.Requests() {
		kind := kindOf(r.Method, r.Path)
		if r.Method != "GET" && strings.Contains(r.UserAgent, managerAgent) && !e.expected.writes[kind] {
			unnamed["write "+kind] = fmt.Sprintf("%s %s answered %d", r.Method, r.Path, r.Status)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	events, err := e.kube.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return // the test took the API server away
	}
	for _, event := range events.Items {
		if event.Type == v1.EventTypeWarning && event.InvolvedObject.Kind != "Node" && !slices.Contains(others, event.Reason) && !e.expected.warnings[event.Reason] {
			unnamed["warning "+event.Reason] = event.InvolvedObject.Name + ": " + event.Message
		}
	}
	for _, what := range slices.Sorted(maps.Keys(unnamed)) {
		e.t.Errorf("the test did not name this %s: %s", what, unnamed[what])
	}
}

// others are reasons of warnings that aren't the manager's: the framework's, which
// repeats what the manager told in its own, and the API server's.
var others = []string{"SyncLoadBalancerFailed", "ClusterIPNotAllocated", "KubernetesDefaultServiceCIDRInconsistent"}

// managerAgent is in the user agent of the manager's requests.
const managerAgent = "digitalocean-cloud-controller-manager"
