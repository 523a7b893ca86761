package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The programs run under the roles that are shipped, and the API server logs what
// they ask of it: no test may have a request denied, and the suite as a whole uses
// every right that is granted.

// serviceAccounts is how the names of the programs' identities begin.
const serviceAccounts = "system:serviceaccount:kube-system:"

// right is a verb that a user may use on a resource.
type right struct{ user, group, resource, verb string }

func (r right) String() string {
	return fmt.Sprintf("%s: %s %s", strings.TrimPrefix(r.user, serviceAccounts), r.verb, strings.Trim(r.group+"/"+r.resource, "/"))
}

// withVerb is another verb on the same.
func (r right) withVerb(verb string) right {
	r.verb = verb
	return r
}

// rights are what all tests saw, by role what is granted.
var rights struct {
	sync.Mutex
	used    map[right]bool
	granted map[string]map[right]bool
}

// mayBeDenied names a request of the manager's that the test's roles don't allow.
func (e *environment) mayBeDenied(verb, resource string) {
	e.expected.add(&e.expected.denied, []string{right{serviceAccounts + "cloud-controller-manager", "", resource, verb}.String()})
}

// checkRights fails the test for what was denied, and notes what was used.
func (e *environment) checkRights() {
	text, err := e.plane.Audit()
	if err != nil {
		e.t.Error(err)
	}
	used, denied := readAudit(text, e.unsettled)
	slices.Sort(denied)
	for _, request := range slices.Compact(denied) {
		if !e.expected.denied[request] {
			e.t.Errorf("denied: %s, which the test did not name", request)
		}
	}
	rights.Lock()
	defer rights.Unlock()
	if rights.used == nil {
		rights.used, rights.granted = map[right]bool{}, map[string]map[right]bool{}
	}
	maps.Copy(rights.used, used)
	e.noteGranted(rights.granted)
}

// unsettled tells whether the API server was just starting again: it may not have
// read all roles yet.
func (e *environment) unsettled(at time.Time) bool {
	e.expected.mu.Lock()
	defer e.expected.mu.Unlock()
	return at.After(e.expected.down) && at.Before(e.expected.up.Add(time.Second))
}

// readAudit returns the rights that requests used, and those that were denied at
// a time when they had to be known.
func readAudit(text []byte, unsettled func(time.Time) bool) (used map[right]bool, denied []string) {
	used = map[right]bool{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb        string
			User        struct{ Username string }
			At          time.Time `json:"requestReceivedTimestamp"`
			ObjectRef   *struct{ APIGroup, Resource, Subresource string }
			Annotations map[string]string
		}
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			continue // a line that was being written when the API server ended
		}
		ref := event.ObjectRef
		if ref == nil {
			continue // no resource, such as /version
		}
		r := right{event.User.Username, ref.APIGroup, strings.TrimSuffix(ref.Resource+"/"+ref.Subresource, "/"), event.Verb}
		switch {
		case event.Annotations["authorization.k8s.io/decision"] != "forbid":
			used[r] = true
		case !unsettled(event.At):
			denied = append(denied, r.String())
		}
	}
	return used, denied
}

// noteGranted adds the rights of all roles that the programs are bound to.
func (e *environment) noteGranted(granted map[string]map[right]bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	clusterBindings, err := e.kube.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return // the test took the API server away
	}
	bindings, err := e.kube.RbacV1().RoleBindings(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, b := range clusterBindings.Items {
		if user := boundProgram(b.Subjects); user != "" {
			e.noteRole(ctx, granted, user, b.RoleRef, "")
		}
	}
	for _, b := range bindings.Items {
		if user := boundProgram(b.Subjects); user != "" {
			e.noteRole(ctx, granted, user, b.RoleRef, b.Namespace)
		}
	}
}

// boundProgram is the user of the program among subjects. Kubernetes' own
// controllers in kube-system are none.
func boundProgram(subjects []rbacv1.Subject) string {
	for _, s := range subjects {
		if s.Kind == rbacv1.ServiceAccountKind && s.Namespace == "kube-system" && (s.Name == "cloud-controller-manager" || s.Name == admissionName) {
			return serviceAccounts + s.Name
		}
	}
	return ""
}

func (e *environment) noteRole(ctx context.Context, granted map[string]map[right]bool, user string, ref rbacv1.RoleRef, namespace string) {
	var rules []rbacv1.PolicyRule
	if ref.Kind == "ClusterRole" {
		if role, err := e.kube.RbacV1().ClusterRoles().Get(ctx, ref.Name, metav1.GetOptions{}); err == nil {
			rules = role.Rules
		}
	} else if role, err := e.kube.RbacV1().Roles(namespace).Get(ctx, ref.Name, metav1.GetOptions{}); err == nil {
		rules = role.Rules
	}
	name := user + " by " + ref.Name
	if granted[name] == nil {
		granted[name] = map[right]bool{}
	}
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					granted[name][right{user, group, resource, verb}] = true
				}
			}
		}
	}
}

// kubernetesRoles are roles of Kubernetes, which aren't ours to make smaller: one
// right of theirs that is used is reason enough for the binding.
var kubernetesRoles = []string{"system:auth-delegator", "extension-apiserver-authentication-reader"}

// unusedRights lists what is granted and no test used. Who watches may list: this
// API server streams the list with the watch, older ones don't.
func unusedRights() []string {
	rights.Lock()
	defer rights.Unlock()
	var unused []string
	for name, granted := range rights.granted {
		isUsed := func(r right) bool { return rights.used[r] || r.verb == "list" && rights.used[r.withVerb("watch")] }
		if slices.ContainsFunc(kubernetesRoles, func(role string) bool { return strings.HasSuffix(name, " by "+role) }) {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(granted)), isUsed) {
				unused = append(unused, name+": all of it")
			}
			continue
		}
		for r := range granted {
			if !isUsed(r) {
				unused = append(unused, r.String())
			}
		}
	}
	slices.Sort(unused)
	return unused
}

// ranAll tells whether no test was left out by a flag.
func ranAll() bool {
	return flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == "" &&
		flag.Lookup("test.list").Value.String() == "" && !testing.Short()
}

func TestAuditLogsAreRead(t *testing.T) {
	used, denied := readAudit([]byte(`{"verb":"patch","user":{"username":"u"},"objectRef":{"resource":"nodes","subresource":"status"},"annotations":{"authorization.k8s.io/decision":"allow"}}
{"verb":"list","user":{"username":"u"},"objectRef":{"resource":"secrets"},"annotations":{"authorization.k8s.io/decision":"forbid"}}
{"verb":"list","user":{"username":"u"},"objectRef":{"resource":"pods"},"requestReceivedTimestamp":"2026-01-02T03:04:05.000000Z","annotations":{"authorization.k8s.io/decision":"forbid"}}
{"verb":"li`), func(at time.Time) bool { return at.Year() == 2026 })
	if len(used) != 1 || !used[right{"u", "", "nodes/status", "patch"}] {
		t.Errorf("used %v", used)
	}
	if len(denied) != 1 || !strings.Contains(denied[0], "u: list secrets") {
		t.Errorf("denied %q", denied)
	}
}
