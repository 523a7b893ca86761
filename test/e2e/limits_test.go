package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"digitalocean-cloud-controller-manager/internal/sandbox"
	"digitalocean-cloud-controller-manager/simulator"
)

// configFile gives the manager a configuration file.
func configFile(text string) option {
	return func(e *environment) {
		e.t.Helper()
		file := filepath.Join(e.t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte("version: 1\n"+text), 0o600); err != nil {
			e.t.Fatal(err)
		}
		e.args = append(e.args, "--cloud-config="+file)
	}
}

// watchNamespaces lets the manager know the labels of namespaces, as the chart does
// where limits select them.
func watchNamespaces(e *environment) { e.letWatchNamespaces("cloud-controller-manager") }

func (e *environment) letWatchNamespaces(serviceAccount string) {
	e.t.Helper()
	const name = "namespaces-for-limits"
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list", "watch"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "kube-system", Name: serviceAccount}},
	}
	if _, err := e.kube.RbacV1().ClusterRoles().Create(e.ctx, role, metav1.CreateOptions{}); err != nil {
		e.t.Fatal(err)
	}
	if _, err := e.kube.RbacV1().ClusterRoleBindings().Create(e.ctx, binding, metav1.CreateOptions{}); err != nil {
		e.t.Fatal(err)
	}
}

// tenant is a user who may do what they like with the Services of one namespace,
// and nothing else.
type tenant struct {
	e         *environment
	namespace string
	kube      kubernetes.Interface
}

func (e *environment) addTenant(name string, labels map[string]string) *tenant {
	e.t.Helper()
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "services", Namespace: name},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"services"},
			Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"},
		}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "services", Namespace: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "services"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "user-of-" + name}},
	}
	_, namespaceErr := e.kube.CoreV1().Namespaces().Create(e.ctx, namespace, metav1.CreateOptions{})
	_, roleErr := e.kube.RbacV1().Roles(name).Create(e.ctx, role, metav1.CreateOptions{})
	_, bindingErr := e.kube.RbacV1().RoleBindings(name).Create(e.ctx, binding, metav1.CreateOptions{})
	user, userErr := e.plane.AddUser("user-of-"+name, "system:authenticated")
	if err := errors.Join(namespaceErr, roleErr, bindingErr, userErr); err != nil {
		e.t.Fatal(err)
	}
	kube, err := kubernetes.NewForConfig(user.Config)
	if err != nil {
		e.t.Fatal(err)
	}
	u := &tenant{e: e, namespace: name, kube: kube}
	e.eventually(10*time.Second, "the user's rights", func() error {
		_, err := kube.CoreV1().Services(name).List(e.ctx, metav1.ListOptions{})
		return err
	})
	return u
}

// create makes a Service as the user; the status is what an attacker would like
// it to be.
func (u *tenant) create(name, address string, annotations ...string) {
	u.e.t.Helper()
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}},
		Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": name},
			Ports: []v1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080), Protocol: v1.ProtocolTCP}},
		},
	}
	for i := 0; i < len(annotations); i += 2 {
		svc.Annotations[annotations[i]] = annotations[i+1]
	}
	if address != "" {
		svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: address}}
	}
	if _, err := u.kube.CoreV1().Services(u.namespace).Create(u.e.ctx, svc, metav1.CreateOptions{}); err != nil {
		u.e.t.Fatal(err)
	}
}

func (u *tenant) patch(name, patch string) {
	u.e.t.Helper()
	if _, err := u.kube.CoreV1().Services(u.namespace).Patch(u.e.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		u.e.t.Fatal(err)
	}
}

func (u *tenant) delete(name string) {
	u.e.t.Helper()
	api := u.kube.CoreV1().Services(u.namespace)
	if err := api.Delete(u.e.ctx, name, metav1.DeleteOptions{}); err != nil {
		u.e.t.Fatal(err)
	}
	u.e.eventually(30*time.Second, "Service "+name+" gone", func() error {
		if _, err := api.Get(u.e.ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("still there (%v)", err)
		}
		return nil
	})
}

// address waits for the Service's address.
func (u *tenant) address(name string) string {
	u.e.t.Helper()
	address := ""
	u.e.eventually(60*time.Second, "address of "+name, func() error {
		svc, err := u.kube.CoreV1().Services(u.namespace).Get(u.e.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(svc.Status.LoadBalancer.Ingress) == 0 {
			return fmt.Errorf("none, with the annotations %v", svc.Annotations)
		}
		address = svc.Status.LoadBalancer.Ingress[0].IP
		return nil
	})
	return address
}

func TestAUserOfServicesCantTakeOverALoadBalancer(t *testing.T) {
	e, _ := startWithNode(t, nil, watchNamespaces, driftEvery("5s"), configFile(`
loadBalancer:
  limits:
    tenants:
      namespaces: tenant
      forbid: [load-balancer-id]
`))
	e.mayWrite(createLB, deleteLB, updateLB)
	foreign, _, err := e.client().LoadBalancers.Create(e.ctx, &godo.LoadBalancerRequest{
		Name: "production", Region: "nyc3",
		ForwardingRules: []godo.ForwardingRule{{EntryProtocol: "tcp", EntryPort: 443, TargetProtocol: "tcp", TargetPort: 30443}},
	})
	if err != nil {
		t.Fatal(err)
	}
	// The other team's has a name of its own, and by its age no advantage.
	mallory := e.addTenant("mallory", map[string]string{"tenant": "m"})
	mallory.create("old", "")
	own := mallory.address("old")
	e.addService("web", annotated("name", "web-of-the-other-team"))
	_, web := e.balanced("web")
	web = e.unmarked(web.ID)
	before := []simulator.LoadBalancer{web, e.becomes(foreign.ID, "made", func(lb simulator.LoadBalancer) bool { return lb.Status == "active" })}

	for i, lb := range before {
		name := fmt.Sprint("new", i)
		mallory.create(name, lb.IP, idAnnotation, lb.ID, versionAnnotation, "1", "service.beta.kubernetes.io/do-loadbalancer-hostname", "x.example.com")
		e.event(30*time.Second, name, "LoadBalancerNotOwned", lb.ID)
		mallory.patch("old", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, idAnnotation, lb.ID))
	}
	untouched := func() error {
		for _, lb := range before {
			now, err := e.loadBalancer(lb.ID)
			if err != nil {
				return err
			}
			if diff := cmp.Diff(lb, now); diff != "" {
				return errors.New(diff)
			}
		}
		return nil
	}
	e.never(20*time.Second, "load balancers of others", untouched)
	if now := mallory.address("old"); now != own {
		t.Errorf("the attacker's own Service has the address %s, had %s", now, own)
	}
	for _, name := range []string{"new0", "new1", "old"} {
		mallory.delete(name)
	}
	if err := untouched(); err != nil {
		t.Error("once the attacker's Services are deleted: ", err)
	}
	if n := len(e.sim.LoadBalancers()); n != len(before) {
		t.Errorf("%d load balancers are left, want %d", n, len(before))
	}

	// The owner is not held up by anything of that.
	e.patchService("web", `{"metadata":{"annotations":{"service.beta.kubernetes.io/do-loadbalancer-size-unit":"2"}}}`)
	e.becomes(web.ID, "larger", func(lb simulator.LoadBalancer) bool { return lb.SizeUnit == 2 })
}

func TestANamespaceGetsNoMoreLoadBalancersThanItMay(t *testing.T) {
	e, _ := startWithNode(t, nil, watchNamespaces, configFile(`
loadBalancer:
  limits:
    tenants:
      namespaces: tenant
      maxLoadBalancersPerNamespace: 1
      maxSizeUnit: 2
`))
	e.mayWrite(createLB, deleteLB)
	a := e.addTenant("a", map[string]string{"tenant": "a"})
	a.create("first", "")
	a.address("first")
	a.create("second", "")
	e.event(30*time.Second, "second", "LoadBalancerConfigError", `limit "tenants"`, "at most 1 in the namespace a")
	// Kubernetes knows the age of objects to the second.
	e.eventually(5*time.Second, "another second", func() error {
		svc, err := a.kube.CoreV1().Services("a").Get(e.ctx, "second", metav1.GetOptions{})
		if err == nil && time.Since(svc.CreationTimestamp.Time) < 1100*time.Millisecond {
			err = errors.New("the next Service would be as old")
		}
		return err
	})
	a.create("third", "", idAnnotation, "5a4981aa-9653-4bd1-bef5-d6bff52042e4")
	e.event(30*time.Second, "third", "LoadBalancerConfigError", `limit "tenants"`)
	a.patch("first", `{"metadata":{"annotations":{"service.beta.kubernetes.io/do-loadbalancer-size-unit":"3"}}}`)
	e.event(30*time.Second, "first", "LoadBalancerConfigError", "at most 2 nodes", `limit "tenants"`)

	// Others are not concerned.
	b := e.addTenant("b", map[string]string{"tenant": "b"})
	b.create("other", "")
	b.address("other")
	e.addService("web", annotated("size-unit", "3"))
	e.balanced("web")
	if n := len(e.sim.LoadBalancers()); n != 3 {
		t.Fatalf("%d load balancers, want 3", n)
	}

	a.delete("first")
	a.address("second")
	if svc, err := a.kube.CoreV1().Services("a").Get(e.ctx, "third", metav1.GetOptions{}); err != nil || len(svc.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("the youngest has %+v (%v)", svc.Status.LoadBalancer, err)
	}
}

func TestLimitsWithoutTheRightToSeeNamespacesMakeNothing(t *testing.T) {
	e, _ := startWithNode(t, nil, configFile(`
loadBalancer:
  limits:
    tenants:
      namespaces: tenant
      maxSizeUnit: 2
`))
	e.mayBeDenied("list", "namespaces")
	e.mayBeDenied("watch", "namespaces")
	e.addService("web", nil)
	e.event(30*time.Second, "web", "SyncLoadBalancerFailed", "list and watch on namespaces")
	if n := len(e.sim.LoadBalancers()); n != 0 {
		t.Errorf("%d load balancers", n)
	}
	watchNamespaces(e)
	e.balanced("web")
}

func TestIgnoredNodesAreLeftAlone(t *testing.T) {
	e := start(t, nil, driftEvery("5s"), configFile("nodes:\n  ignore: node-provider=metal\n"))
	ours := e.addNode(simulator.DropletSpec{Name: "w"}, sandbox.NodeOptions{})
	e.eventually(30*time.Second, "w", e.initialized("w"))
	e.addService("web", nil)
	_, lb := e.balanced("web")

	// One that looks like a droplet of ours, one whose droplet is gone, and one
	// that is to be initialised by somebody else.
	ignored := e.sim.AddDroplet(simulator.DropletSpec{Team: team, Name: "metal", CreatedAt: time.Now().Add(-time.Hour)})
	for name, o := range map[string]sandbox.NodeOptions{
		"metal": {ProviderID: fmt.Sprintf("digitalocean://%d", ignored.ID)},
		"lost":  {ProviderID: "digitalocean://999999", NotReady: true},
		"new":   {NotReady: true},
	} {
		node := sandbox.NewNode(name, o)
		node.Labels["node-provider"] = "metal"
		if name != "new" {
			node.Spec.Taints = nil
		}
		if _, err := sandbox.RegisterNode(e.ctx, e.kube, node); err != nil {
			t.Fatal(err)
		}
	}
	e.never(20*time.Second, "ignored Nodes", func() error {
		for _, name := range []string{"metal", "lost", "new"} {
			node, err := e.node(name)
			if err != nil {
				return err
			}
			if node.Labels["digitalocean.com/droplet-id"] != "" || hasTaint(node, "node.cloudprovider.kubernetes.io/shutdown") {
				return fmt.Errorf("%s has labels %v, taints %v", name, node.Labels, node.Spec.Taints)
			}
			if name == "new" && !hasTaint(node, "node.cloudprovider.kubernetes.io/uninitialized") {
				return errors.New("it lost its taint")
			}
		}
		now, err := e.loadBalancer(lb.ID)
		if err == nil && !slices.Equal(now.DropletIDs, []int{ours.ID}) {
			err = fmt.Errorf("backends %v", now.DropletIDs)
		}
		return err
	})
	for _, r := range e.sim.Requests() {
		if strings.Contains(r.Path, "999999") || strings.HasSuffix(r.Path, fmt.Sprint("/", ignored.ID)) {
			t.Errorf("an ignored Node cost the call %s %s", r.Method, r.Path)
		}
	}
}

func TestNewLoadBalancersHaveReadableNames(t *testing.T) {
	e, _ := startWithNode(t, nil, configFile("loadBalancer:\n  nameTemplate: '{{namespace}}-{{name}}'\n"))
	if _, _, err := e.client().LoadBalancers.Create(e.ctx, &godo.LoadBalancerRequest{
		Name: "default-taken", Region: "nyc3",
		ForwardingRules: []godo.ForwardingRule{{EntryProtocol: "tcp", EntryPort: 80, TargetProtocol: "tcp", TargetPort: 80}},
	}); err != nil {
		t.Fatal(err)
	}
	e.addService("web", nil)
	if _, lb := e.balanced("web"); lb.Name != "default-web" {
		t.Errorf("name %q", lb.Name)
	}
	e.addService("taken", nil)
	e.event(30*time.Second, "taken", "LoadBalancerNameTaken", "default-taken")
	if svc, lb := e.balanced("taken"); lb.Name != "a"+strings.ReplaceAll(string(svc.UID), "-", "")[:31] {
		t.Errorf("name %q", lb.Name)
	}
}
