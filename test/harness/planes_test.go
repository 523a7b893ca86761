package harness

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"digitalocean-cloud-controller-manager/deploy"
	"digitalocean-cloud-controller-manager/internal/controlplane"
)

// stage has control planes, and tests that take them.
type stage struct {
	*testing.T
	ctx    context.Context
	assets controlplane.Assets
	planes Planes
}

func newStage(t *testing.T) *stage {
	t.Helper()
	t.Parallel()
	assets, err := controlplane.Ensure(t.Context(), controlplane.Options{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{T: t, ctx: t.Context(), assets: assets}
	t.Cleanup(func() {
		if err := s.planes.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// with runs a test that has a control plane.
func (s *stage) with(name string, test func(t *testing.T, p *Plane, kube kubernetes.Interface)) {
	s.Helper()
	s.Run(name, func(t *testing.T) {
		p := s.planes.Take(s.ctx, t, s.assets)
		kube, err := kubernetes.NewForConfig(p.Config())
		if err != nil {
			t.Fatal(err)
		}
		test(t, p, kube)
	})
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestTheNextTestSeesNothingOfTheLast(t *testing.T) {
	s := newStage(t)
	var first *Plane
	var before map[object]bool
	var formerClient kubernetes.Interface
	var formerVersion int
	s.with("first", func(t *testing.T, p *Plane, kube kubernetes.Interface) {
		first, formerClient = p, kube
		before, _, _ = p.caches.read(s.ctx)
		formerVersion = litter(s.ctx, t, p, kube)
	})
	s.with("second", func(t *testing.T, p *Plane, kube kubernetes.Interface) {
		if p != first {
			t.Fatal("it has another control plane")
		}
		after, _, err := p.caches.read(s.ctx)
		if err != nil || !maps.Equal(before, after) {
			t.Errorf("%v: its objects are %v, were %v", err, after, before)
		}
		if _, err := formerClient.CoreV1().Nodes().List(s.ctx, metav1.ListOptions{}); !errors.Is(err, errTestIsOver) {
			t.Errorf("a client of the first test: %v", err)
		}
		namespace := must[*v1.Namespace](t)(kube.CoreV1().Namespaces().Get(s.ctx, "default", metav1.GetOptions{}))
		if namespace.Labels["tenant"] != "" {
			t.Errorf("the labels of the namespace are %v", namespace.Labels)
		}
		must[*rbacv1.ClusterRole](t)(kube.RbacV1().ClusterRoles().Get(s.ctx, "system:auth-delegator", metav1.GetOptions{}))
		// The same address, port and names are free again.
		if version := litter(s.ctx, t, p, kube); version <= formerVersion {
			t.Errorf("a Node is of version %d, after %d", version, formerVersion)
		}
		if text, err := p.Audit(); err != nil || strings.Count(string(text), "\n") != 1 {
			t.Errorf("the requests of the programs: %v\n%s", err, text)
		}
	})
}

// litter leaves all sorts of things, of which some have names and numbers that only
// one can have. It returns the version of one.
func litter(ctx context.Context, t *testing.T, p *Plane, kube kubernetes.Interface) (version int) {
	t.Helper()
	create := metav1.CreateOptions{}
	user, err := p.AddManager(ctx, deploy.RBAC)
	if err != nil {
		t.Fatal(err)
	}
	must[*v1.NodeList](t)(kubernetes.NewForConfigOrDie(user.Config).CoreV1().Nodes().List(ctx, metav1.ListOptions{}))
	must[*v1.Namespace](t)(kube.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, create))
	must[*v1.Service](t)(kube.CoreV1().Services("shop").Create(ctx, &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Finalizers: []string{"service.kubernetes.io/load-balancer-cleanup"}},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, ClusterIP: "10.0.0.99", Ports: []v1.ServicePort{{
			Port: 80, NodePort: 30123,
		}}},
	}, create))
	must[*v1.Event](t)(kube.CoreV1().Events("shop").Create(ctx, &v1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "event"}, InvolvedObject: v1.ObjectReference{Namespace: "shop"},
	}, create))
	must[*coordinationv1.Lease](t)(kube.CoordinationV1().Leases("kube-system").Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "lease"}}, create))
	must[*v1.Namespace](t)(kube.CoreV1().Namespaces().Patch(ctx, "default", types.MergePatchType, []byte(`{"metadata":{"labels":{"tenant":"a"}}}`), metav1.PatchOptions{}))
	if err := kube.RbacV1().ClusterRoles().Delete(ctx, "system:auth-delegator", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := kube.CoreV1().Namespaces().Delete(ctx, "shop", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	node := must[*v1.Node](t)(kube.CoreV1().Nodes().Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Finalizers: []string{"example.com/stays"}}}, create))
	return must[int](t)(strconv.Atoi(node.ResourceVersion))
}

func TestANodeIsMadeOlder(t *testing.T) {
	s := newStage(t)
	s.with("aged", func(t *testing.T, p *Plane, kube kubernetes.Interface) {
		nodes := kube.CoreV1().Nodes()
		young := must[*v1.Node](t)(nodes.Create(s.ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{"a": "b"}}}, metav1.CreateOptions{}))
		if err := p.AgeNode(s.ctx, "node", time.Hour); err != nil {
			t.Fatal(err)
		}
		want := young.DeepCopy()
		want.CreationTimestamp = metav1.NewTime(young.CreationTimestamp.Add(-time.Hour))
		// It can be written on, as any other.
		old := must[*v1.Node](t)(nodes.Get(s.ctx, "node", metav1.GetOptions{}))
		old = must[*v1.Node](t)(nodes.Update(s.ctx, old, metav1.UpdateOptions{}))
		want.ResourceVersion, old.ManagedFields, want.ManagedFields = old.ResourceVersion, nil, nil
		if diff := cmp.Diff(want, old); diff != "" {
			t.Error(diff)
		}
		if err := p.AgeNode(s.ctx, "nobody", time.Hour); err == nil {
			t.Error("a Node is aged that isn't there")
		}
	})
}

func TestAControlPlaneWithTracesIsNotUsedAgain(t *testing.T) {
	s := newStage(t)
	var last *Plane
	another := func(t *testing.T, p *Plane) {
		t.Helper()
		if p == last {
			t.Error("it is that of the test before")
		}
		last = p
	}
	s.with("a webhook", func(t *testing.T, p *Plane, kube kubernetes.Interface) {
		another(t, p)
		must[*admissionregistrationv1.ValidatingWebhookConfiguration](t)(kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(s.ctx,
			&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "hook"}}, metav1.CreateOptions{}))
	})
	s.with("etcd paused", func(t *testing.T, p *Plane, _ kubernetes.Interface) {
		another(t, p)
		if err := errors.Join(p.PauseEtcd(), p.ResumeEtcd()); err != nil {
			t.Fatal(err)
		}
	})
	s.with("nothing", func(t *testing.T, p *Plane, _ kubernetes.Interface) { another(t, p) })
	if err := s.planes.giveBack(s, s.planes.pop(), true); err != nil {
		t.Fatal(err)
	}
	if p := s.planes.pop(); p != nil {
		t.Error("that of a failed test is used again")
	}
}

func TestRequestsOfAnotherTestAreTold(t *testing.T) {
	const log = `{"requestURI":"/early","user":{"groups":["other"]},"requestReceivedTimestamp":"2026-01-02T03:04:04.000000Z"}
{"requestURI":"/mine","user":{"groups":["g","mine"]},"requestReceivedTimestamp":"2026-01-02T03:04:06.000000Z"}
{"requestURI":"/theirs","user":{"groups":["g","other"]},"requestReceivedTimestamp":"2026-01-02T03:04:07.000000Z"}
{"requestURI":"/ha`
	own, err := ownRequests([]byte(log), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "mine")
	if err == nil || !strings.Contains(err.Error(), "/theirs") || strings.Contains(err.Error(), "/early") {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(string(own), "/mine") || strings.Count(string(own), "\n") != 1 {
		t.Errorf("own requests: %s", own)
	}
}

func TestChangesAreFoundByValue(t *testing.T) {
	want := map[string]entry{"same": {[]byte("a"), 1}, "touched": {[]byte("a"), 1}, "changed": {[]byte("a"), 1}, "gone": {[]byte("a"), 1}}
	have := map[string]entry{"same": {[]byte("a"), 1}, "touched": {[]byte("a"), 2}, "changed": {[]byte("b"), 2}, "new": {[]byte("a"), 2}}
	if got := changes(have, want); !slices.Equal(got, []string{"changed", "gone", "new"}) {
		t.Errorf("changed %q", got)
	}
}
