package rehearsal

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	clocktesting "k8s.io/utils/clock/testing"
)

func newBook(t *testing.T) (*Book, *clocktesting.FakeClock, func() string) {
	t.Helper()
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	registry := metrics.NewKubeRegistry()
	book := NewBook(logger, clock, NewMetrics(registry.MustRegister))
	underlier := logger.GetSink().(ktesting.Underlier)
	return book, clock, func() string { return underlier.GetBuffer().String() }
}

func TestTheSameWriteIsToldOnceUntilItChanges(t *testing.T) {
	book, clock, log := newBook(t)
	told := func() int { return strings.Count(log(), "Would write") }
	for range 3 {
		book.Note(KindFirewall, "PUT /v2/firewalls/a", "one")
		clock.Step(time.Minute)
	}
	if told() != 1 {
		t.Errorf("told %d times", told())
	}
	book.Note(KindFirewall, "PUT /v2/firewalls/a", "two")
	book.Note(KindTag, "POST /v2/tags", "two")
	if told() != 3 {
		t.Errorf("told %d times", told())
	}
	var got []string
	for _, r := range book.Pending() {
		got = append(got, r.Object+" "+r.Target+" "+r.What)
	}
	if diff := cmp.Diff([]string{"firewall PUT /v2/firewalls/a two", "tag POST /v2/tags two"}, got); diff != "" {
		t.Error(diff)
	}
	book.Settled(KindTag, "POST /v2/tags")
	clock.Step(expiry - time.Minute)
	if n := len(book.Pending()); n != 1 {
		t.Errorf("%d are pending", n)
	}
	clock.Step(time.Minute)
	if n := len(book.Pending()); n != 0 {
		t.Errorf("%d are pending that nobody comes back to", n)
	}
	book.Note(KindOther, "x", strings.Repeat("y", 2*longest))
	if what := book.Pending()[0].What; len(what) > longest+len("…") {
		t.Errorf("%d bytes are kept", len(what))
	}
}

func TestNoBookNotesNothing(t *testing.T) {
	var book *Book
	book.Note(KindTag, "a", "b")
	book.Settled(KindTag, "a")
	book.Counted(KindEvent)
	if pending := book.Pending(); pending != nil {
		t.Errorf("%v", pending)
	}
}

// server answers every read with a Service, and fails the test at a write.
func server(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isReview := strings.HasSuffix(r.URL.Path, "reviews")
		if r.Method != http.MethodGet && !isReview || strings.HasSuffix(r.URL.Path, "/status") || r.URL.RawQuery != "" {
			t.Errorf("%s %s arrived", r.Method, r.URL)
		}
		w.Header().Set("Content-Type", jsonType)
		_, _ = io.WriteString(w, `{"kind":"Service","apiVersion":"v1","metadata":{"name":"web","namespace":"default","resourceVersion":"7"}}`)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestWritesToKubernetesAreAnsweredAndNotSent(t *testing.T) {
	book, _, _ := newBook(t)
	config := &restclient.Config{Host: server(t).URL}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.Wrap(book.Kubernetes)
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx := klog.NewContext(t.Context(), klog.Background())
	services := kube.CoreV1().Services("default")
	for _, subresources := range [][]string{nil, {"status"}} {
		svc, err := services.Patch(ctx, "web", types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`), metav1.PatchOptions{FieldManager: "x"}, subresources...)
		if err != nil || svc.ResourceVersion != "7" {
			t.Errorf("patch: %v, %v", svc, err)
		}
	}
	if svc, err := services.Update(ctx, &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, metav1.UpdateOptions{}); err != nil || svc.Name != "web" {
		t.Errorf("update: %v, %v", svc, err)
	}
	if err := kube.CoreV1().Nodes().Delete(ctx, "w1", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	event := &v1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "default"}, Reason: "Why"}
	if made, err := kube.CoreV1().Events("default").CreateWithEventNamespaceWithContext(ctx, event); err != nil || made.Reason != "Why" {
		t.Errorf("event: %v, %v", made, err)
	}
	if _, err := kube.CoreV1().Events("default").PatchWithEventNamespaceWithContext(ctx, event, []byte(`{"count":2}`)); err != nil {
		t.Error(err)
	}
	if _, err := services.Get(ctx, "web", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	var got []string
	for _, r := range book.Pending() {
		got = append(got, r.Object+" "+r.Target)
	}
	want := []string{"node DELETE w1", "service PATCH default/web", "service PATCH default/web/status", "service PUT default/web"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatRequestsAreAbout(t *testing.T) {
	for path, want := range map[string]target{
		"/api/v1/namespaces/default/services/web/status": {"services", "default/web/status"},
		"/api/v1/nodes/w1":           {"nodes", "w1"},
		"/api/v1/namespaces/default": {"namespaces", "default"},
		"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x": {"leases", "kube-system/x"},
		"/version": {"", "/version"},
	} {
		if got := targetOf(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	book, _, _ := newBook(t)
	book.DigitalOcean("POST", "/v2/tags/x/resources", "{}")
	book.DigitalOcean("DELETE", "/v2/load_balancers/7", "")
	book.DigitalOcean("POST", "/v2/droplets", "")
	var got []string
	for _, r := range book.Pending() {
		got = append(got, r.Object)
	}
	if diff := cmp.Diff([]string{KindLoadBalancer, KindOther, KindTag}, got); diff != "" {
		t.Error(diff)
	}
}
