package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// The secure port tells its health to everybody, and the rest to whom RBAC lets.
func TestTheSecurePortAnswersWhomRBACLets(t *testing.T) {
	e := start(t, nil)
	e.eventually(30*time.Second, "healthz", e.answers(e.manager.URL()+"/healthz", http.StatusOK))
	e.mayRead("prometheus", "/metrics")
	for _, test := range []struct {
		user, path string
		want       int
	}{
		{"prometheus", "/metrics", http.StatusOK},
		{"prometheus", "/debug/pprof/heap", http.StatusForbidden},
		{"stranger", "/metrics", http.StatusForbidden},
		{"stranger", "/configz", http.StatusForbidden},
	} {
		client := e.managersClient(test.user)
		e.eventually(20*time.Second, test.user+" asks for "+test.path, func() error {
			return statusIs(client, e.manager.URL()+test.path, test.want)
		})
	}
	if err := e.answers(e.manager.URL()+"/metrics", http.StatusForbidden)(); err != nil {
		t.Error("without credentials:", err)
	}
}

// mayRead lets a user read a path that is no resource, as the chart does with
// monitoring.readers.
func (e *environment) mayRead(user, path string) {
	e.t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{path}, Verbs: []string{"get"}}}}
	if _, err := e.kube.RbacV1().ClusterRoles().Create(e.ctx, role, metav1.CreateOptions{}); err != nil {
		e.t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}
	if _, err := e.kube.RbacV1().ClusterRoleBindings().Create(e.ctx, binding, metav1.CreateOptions{}); err != nil {
		e.t.Fatal(err)
	}
}

// managersClient asks the manager as a user whom the cluster's authority vouches for.
func (e *environment) managersClient(user string) *http.Client {
	e.t.Helper()
	added, err := e.plane.AddUser(user, "system:authenticated")
	if err != nil {
		e.t.Fatal(err)
	}
	config := rest.CopyConfig(added.Config)
	// The manager signs its certificate itself.
	config.CAData, config.Insecure = nil, true
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		e.t.Fatal(err)
	}
	return client
}

func statusIs(client *http.Client, url string, want int) error {
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode != want {
		return fmt.Errorf("answered %d, want %d", response.StatusCode, want)
	}
	return nil
}
