package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"digitalocean-cloud-controller-manager/deploy"
	"digitalocean-cloud-controller-manager/internal/controlplane"
	"digitalocean-cloud-controller-manager/simulator"
)

// programs are real ones, without which there is nothing to test here.
func programs(t *testing.T) controlplane.Assets {
	t.Helper()
	if os.Getenv(controlplane.EnvAssets) == "" {
		t.Skipf("%s is not set; ccmctl controlplane prints a folder", controlplane.EnvAssets)
	}
	assets, err := controlplane.Ensure(t.Context(), controlplane.Options{})
	must(t, err)
	return assets
}

// leavesNothing has temporary files made in a folder of the test's, and checks
// at its end that none is left.
func leavesNothing(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() {
		left, err := filepath.Glob(filepath.Join(dir, "*"))
		must(t, err)
		if len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

func TestControlPlaneThatDoesNotStart(t *testing.T) {
	leavesNothing(t)
	broken := script(t, "echo no space left on device >&2; exit 1")
	cp, err := StartControlPlane(t.Context(), controlplane.Assets{Etcd: broken, KubeAPIServer: broken}, ControlPlaneOptions{})
	if err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("%v, %v, want an error with the log", cp, err)
	}
}

func TestManagersIdentityMayDoWhatItsManifestsAllow(t *testing.T) {
	assets := programs(t)
	leavesNothing(t)
	ctx := t.Context()
	cp, err := StartControlPlane(ctx, assets, ControlPlaneOptions{Args: map[string]string{"event-ttl": "10m"}})
	must(t, err)
	admin, err := kubernetes.NewForConfig(cp.Config())
	must(t, err)
	node, err := RegisterNode(ctx, admin, NewNode("node-1", NodeOptions{}))
	must(t, err)
	if got := seeNode(node).text; got != "registered; tainted until it is initialised" {
		t.Errorf("the registered Node is %s", got)
	}
	if !nodeIsReady(node) {
		t.Error("the registered Node's status was lost")
	}

	user, err := cp.AddManager(ctx, deploy.RBAC)
	must(t, err)
	manager, err := kubernetes.NewForConfig(user.Config)
	must(t, err)
	_, err = manager.CoreV1().Nodes().Get(ctx, "node-1", metav1.GetOptions{})
	must(t, err)
	_, err = manager.CoreV1().Secrets("kube-system").List(ctx, metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("listing Secrets: %v, want forbidden", err)
	}
	published, err := manager.CoreV1().ConfigMaps("kube-system").Get(ctx, "extension-apiserver-authentication", metav1.GetOptions{})
	must(t, err)
	if !strings.Contains(published.Data["requestheader-client-ca-file"], "BEGIN CERTIFICATE") {
		t.Errorf("published for authentication: %v, want an authority for request headers", published.Data)
	}
	must(t, cp.Stop())
	u, err := url.Parse(cp.URL())
	must(t, err)
	if conn, err := net.Dial("tcp", u.Host); err == nil {
		t.Errorf("something still listens on %s", conn.RemoteAddr())
	}
}

func wantInterrupted(t *testing.T, err error) {
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}

func TestRunThatFailsSaysWhyAndLeavesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		manager   string
		interrupt string // is done when the output has this
		check     func(*testing.T, error)
	}{
		"the manager dies": {
			"echo it is broken >&2; exit 3", "",
			func(t *testing.T, err error) {
				var died *ManagerError
				if !errors.As(err, &died) || !strings.Contains(err.Error(), "\n    it is broken") {
					t.Errorf("error %v, want a ManagerError with the end of the log", err)
				}
			},
		},
		"the manager does nothing": {
			"exec sleep 1000", "",
			func(t *testing.T, err error) {
				var late *TimeoutError
				if !errors.As(err, &late) {
					t.Fatalf("error %v, want a TimeoutError", err)
				}
				want := "Node node-1: registered; tainted until it is initialised; Service default/example: not seen yet"
				if diff := cmp.Diff(want, late.Missing); diff != "" {
					t.Errorf("missing (-want +got):\n%s", diff)
				}
			},
		},
		"somebody interrupts it while it starts": {
			"exec sleep 1000", "starting etcd",
			wantInterrupted,
		},
		"somebody interrupts it before everything is up": {
			"exec sleep 1000", "node-1: registered",
			wantInterrupted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			assets := programs(t)
			leavesNothing(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := &screen{interrupt: tc.interrupt, cancel: cancel}
			tc.check(t, Run(ctx, Options{
				Assets: assets, Manager: script(t, tc.manager), Nodes: 1, Timeout: 5 * time.Second, Exit: true, Out: out,
			}))
			if t.Failed() {
				t.Log(out.text.String())
			}
		})
	}
}

// screen interrupts what writes to it.
type screen struct {
	text      bytes.Buffer
	interrupt string
	cancel    context.CancelFunc
}

func (s *screen) Write(p []byte) (int, error) {
	if s.interrupt != "" && bytes.Contains(p, []byte(s.interrupt)) {
		s.cancel()
	}
	return s.text.Write(p)
}

func TestAdvanceAppliesTheServiceAfterTheNodes(t *testing.T) {
	s, client := fakeSession(t)
	g := s.goal()
	services := func() int {
		list, err := client.CoreV1().Services("default").List(t.Context(), metav1.ListOptions{})
		must(t, err)
		return len(list.Items)
	}
	for _, step := range []struct {
		seen     sight
		services int
		done     bool
	}{
		{sight{key: "Node node-1", text: "up", done: true}, 0, false},
		{sight{key: "Node node-2", text: "tainted"}, 0, false},
		{sight{key: "Node node-2", text: "up", done: true}, 1, false},
		{sight{key: "Service default/example", text: "waiting"}, 1, false},
		{sight{key: "Service default/example", text: "up", done: true}, 1, true},
	} {
		done, err := s.advance(t.Context(), g, step.seen)
		must(t, err)
		if done != step.done || services() != step.services {
			t.Errorf("after %+v: done %t, %d Services, want %t, %d", step.seen, done, services(), step.done, step.services)
		}
	}
}

func TestWatchTellsWhatHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := fakeSession(t)
		sights, stop, err := watchCluster(t.Context(), client)
		must(t, err)
		defer stop()
		// The fake forgets what happens between the first list and the watch,
		// which the real API server doesn't.
		synctest.Wait()
		_, err = client.CoreV1().Nodes().Create(t.Context(), NewNode("node-1", NodeOptions{}), metav1.CreateOptions{})
		must(t, err)
		want := sight{key: "Node node-1", text: "registered; tainted until it is initialised"}
		if diff := cmp.Diff(want, <-sights, cmp.AllowUnexported(sight{})); diff != "" {
			t.Errorf("sight (-want +got):\n%s", diff)
		}
		must(t, client.CoreV1().Nodes().Delete(t.Context(), "node-1", metav1.DeleteOptions{}))
		want.text = "deleted"
		if diff := cmp.Diff(want, <-sights, cmp.AllowUnexported(sight{})); diff != "" {
			t.Errorf("sight (-want +got):\n%s", diff)
		}
	})
}

func TestAPIServerIsGoneAfterStop(t *testing.T) {
	api, err := StartAPI(t.Context(), http.NotFoundHandler())
	must(t, err)
	get := func() (int, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, api.URL(), nil)
		must(t, err)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	if status, err := get(); status != http.StatusNotFound {
		t.Errorf("status %d, %v", status, err)
	}
	must(t, api.Stop())
	if status, err := get(); err == nil {
		t.Errorf("status %d after it was stopped", status)
	}
}

// fakeSession has a cluster that only remembers.
func fakeSession(t *testing.T) (*session, *fake.Clientset) {
	t.Helper()
	client := fake.NewClientset()
	return &session{
		o:      Options{Exit: true},
		print:  newPrinter(io.Discard),
		client: client,
		cloud:  simulator.New(),
		nodes:  map[int]string{1: "node-1", 2: "node-2"},
	}, client
}
