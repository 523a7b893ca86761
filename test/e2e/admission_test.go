package e2e

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/digitalocean/godo"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"digitalocean-cloud-controller-manager/simulator"
)

const annotationPrefix = "service.beta.kubernetes.io/do-loadbalancer-"

// active waits until the API server refuses a mistake: it hears of webhooks and
// policies a moment after they were made.
func (e *environment) active() {
	e.t.Helper()
	e.eventually(30*time.Second, "mistakes are refused", func() error {
		if err := e.dryRun("probe", annotationPrefix+"size-unit", "0"); !apierrors.IsInvalid(err) {
			return fmt.Errorf("the API server says %v", err)
		}
		return nil
	})
}

// dryRun creates a Service for show.
func (e *environment) dryRun(name string, annotations ...string) error {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{{Port: 80}}},
	}
	for i := 0; i < len(annotations); i += 2 {
		svc.Annotations[annotations[i]] = annotations[i+1]
	}
	_, err := e.kube.CoreV1().Services("default").Create(e.ctx, svc, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

func TestAdmission(t *testing.T) {
	e := prepareAdmission(t)
	// It was here before anybody judged, and is as wrong as can be.
	e.addService("old", func(svc *v1.Service) {
		svc.Annotations[annotationPrefix+"size-unit"] = "0"
		svc.Annotations[annotationPrefix+"type"] = "GLOBAL"
	})
	s := e.startAdmission()
	s.register()
	e.active()

	t.Run("kubectl shows every problem", func(t *testing.T) {
		out, err := e.kubectl(serviceManifest("web", annotationPrefix+"size-unit", "0", annotationPrefix+"type", "GLOBAL", idAnnotation, "web"), "apply", "-f", "-")
		if err == nil {
			t.Fatal(out)
		}
		for _, want := range []string{
			`The Service "web" is invalid:`,
			`* metadata.annotations[service.beta.kubernetes.io/do-loadbalancer-size-unit]: Invalid value: "0": must be a whole number from 1 to 200`,
			`* metadata.annotations[service.beta.kubernetes.io/do-loadbalancer-type]: Invalid value: "GLOBAL": must be REGIONAL_NETWORK or REGIONAL`,
			`* metadata.annotations[kubernetes.digitalocean.com/load-balancer-id]: Invalid value: "web": must be a UUID`,
		} {
			if !strings.Contains(out, want) {
				t.Errorf("kubectl says\n%s\nwithout %s", out, want)
			}
		}
	})
	t.Run("kubectl shows warnings", func(t *testing.T) {
		out, err := e.kubectl(serviceManifest("warned", annotationPrefix+"size-slug", "lb-small"), "apply", "-f", "-")
		if err != nil || !strings.Contains(out, "Warning: metadata.annotations[service.beta.kubernetes.io/do-loadbalancer-size-slug]: \"lb-small\" is deprecated") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("a dry run leaves no trace", func(t *testing.T) {
		before := e.sim.Requests()
		out, err := e.kubectl(serviceManifest("dry"), "apply", "--dry-run=server", "-f", "-")
		if err != nil || !strings.Contains(out, "dry run") {
			t.Errorf("%v\n%s", err, out)
		}
		if n := len(e.sim.LoadBalancers()); n != 0 {
			t.Errorf("%d load balancers", n)
		}
		asked := e.sim.Requests()[len(before):]
		if len(asked) == 0 {
			t.Error("DigitalOcean wasn't asked")
		}
		for _, r := range asked {
			if r.Method != http.MethodGet && !strings.Contains(string(r.Body), `"validate_only":true`) {
				t.Errorf("%s %s %s", r.Method, r.Path, r.Body)
			}
		}
		events, err := e.kube.CoreV1().Events("default").List(e.ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=dry"})
		if err != nil || len(events.Items) > 0 {
			t.Errorf("events %v, %v", events.Items, err)
		}
	})
	t.Run("an old mistake blocks nothing", func(t *testing.T) { e.editOld(t) })
	t.Run("what can't change is refused", func(t *testing.T) { e.changeType(t) })
	t.Run("200 at once", func(t *testing.T) { e.manyAtOnce(t) })
	t.Run("DigitalOcean away", func(t *testing.T) { e.withoutAPI(t, s) })
	t.Run("the server stops and is away", func(t *testing.T) { e.withoutServer(t, s) })
}

func (e *environment) editOld(t *testing.T) {
	patch := func(text string) error {
		_, err := e.kube.CoreV1().Services("default").Patch(e.ctx, "old", types.MergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	for _, text := range []string{
		`{"metadata":{"labels":{"a":"b"}}}`, `{"metadata":{"finalizers":["example.com/x"]}}`, `{"metadata":{"finalizers":null}}`,
		`{"spec":{"selector":{"app":"other"}}}`, `{"metadata":{"annotations":{"` + annotationPrefix + `http-idle-timeout-seconds":"90"}}}`,
	} {
		if err := patch(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := patch(`{"metadata":{"annotations":{"` + annotationPrefix + `http-idle-timeout-seconds":"9"}}}`); !apierrors.IsInvalid(err) {
		t.Errorf("a new mistake: %v", err)
	}
	if err := e.kube.CoreV1().Services("default").Delete(e.ctx, "old", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// changeType plays the manager for one Service, and then its user.
func (e *environment) changeType(t *testing.T) {
	svc := e.addService("balanced", nil)
	client, err := godo.New(nil, godo.SetBaseURL(e.api.URL()), godo.SetRequestHeaders(map[string]string{"Authorization": "Bearer " + token}))
	if err != nil {
		t.Fatal(err)
	}
	lb, _, err := client.LoadBalancers.Create(e.ctx, &godo.LoadBalancerRequest{
		Name: "a" + strings.ReplaceAll(string(svc.UID), "-", ""), Type: "REGIONAL_NETWORK", Region: "nyc3",
		ForwardingRules: []godo.ForwardingRule{{EntryProtocol: "tcp", EntryPort: 80, TargetProtocol: "tcp", TargetPort: 80}},
	})
	if err != nil {
		t.Fatal(err)
	}
	annotate := func(name string, pairs ...string) (string, error) {
		return e.kubectl("", append([]string{"annotate", "--overwrite", "service", name}, pairs...)...)
	}
	e.mayWrite(updateLB) // which only asks
	if out, err := annotate("balanced", idAnnotation+"="+lb.ID, typeAnnotation+"=REGIONAL_NETWORK"); err != nil {
		t.Fatal(out)
	}
	out, err := annotate("balanced", typeAnnotation+"=REGIONAL")
	if err == nil || !strings.Contains(out, "type REGIONAL_NETWORK -> REGIONAL can't be changed on load balancer "+lb.ID) || !strings.Contains(out, "delete and re-create the Service") {
		t.Errorf("%v\n%s", err, out)
	}
	if after, _, err := client.LoadBalancers.Get(e.ctx, lb.ID); err != nil || after.Name != lb.Name || after.Type != lb.Type || len(e.sim.LoadBalancers()) != 1 {
		t.Errorf("the admission server changed something: %+v, %v", after, err)
	}
	e.eventually(10*time.Second, "another Service may not have it", func() error {
		out, err := e.kubectl(serviceManifest("thief", idAnnotation, lb.ID), "create", "--dry-run=server", "-f", "-")
		if err == nil || !strings.Contains(out, "belongs to Service default/balanced") {
			return fmt.Errorf("%v %s", err, out)
		}
		return nil
	})
}

func (e *environment) manyAtOnce(t *testing.T) {
	const n = 200
	var wait sync.WaitGroup
	errs := make([]error, n)
	begun := time.Now()
	for i := range n {
		wait.Go(func() {
			pairs := []string{annotationPrefix + "size-unit", fmt.Sprint(i % 2 * 2)} // every other one is wrong
			errs[i] = e.dryRun(fmt.Sprintf("many-%d", i), pairs...)
		})
	}
	wait.Wait()
	for i, err := range errs {
		if wrong := i%2 == 0; wrong != apierrors.IsInvalid(err) || !wrong && err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	t.Logf("%d admissions took %s", n, time.Since(begun))
}

func (e *environment) withoutAPI(t *testing.T, s *admissionServer) {
	before := s.unchecked()
	for i, fault := range []simulator.Fault{{Status: 503}, {Delay: 20 * time.Second}, {Reset: true}} {
		id := e.sim.AddFault(fault)
		begun := time.Now()
		if err := e.dryRun("away"); err != nil {
			t.Errorf("fault %d: %v", i, err)
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("fault %d took %s", i, took)
		}
		if err := e.dryRun("away", annotationPrefix+"size-unit", "0"); !apierrors.IsInvalid(err) {
			t.Errorf("fault %d: a mistake that needs no API: %v", i, err)
		}
		e.sim.RemoveFault(id)
	}
	if n := s.unchecked() - before; n != 3 {
		t.Errorf("the metric counts %d, not 3", n)
	}
}

// unchecked is how often the server could not ask DigitalOcean.
func (s *admissionServer) unchecked() (n int) {
	s.e.t.Helper()
	_, body, err := s.e.get("http://" + s.metrics + "/metrics")
	if err != nil {
		s.e.t.Fatal(err)
	}
	const name = `digitalocean_ccm_admission_unchecked_total{class="cloud"} `
	if _, rest, found := strings.Cut(body, name); found {
		_, _ = fmt.Sscan(rest, &n) // the exposition format has a number there
	}
	return n
}

func (e *environment) withoutServer(t *testing.T, s *admissionServer) {
	if err := s.stop(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	begun := time.Now()
	if out, err := e.kubectl(serviceManifest("unjudged", annotationPrefix+"size-unit", "0"), "apply", "-f", "-"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if took := time.Since(begun); took > 6*time.Second {
		t.Errorf("it took %s", took)
	}
}

// Each request is judged while certificates and authorities come and go: one
// that is let pass is a handshake that failed.
func TestAdmissionRotatesCertificatesUnderTraffic(t *testing.T) {
	e := prepareAdmission(t)
	first := e.startAdmission("ADMISSION_CERT_LIFETIME=10s")
	second := e.startAdmission("ADMISSION_CERT_LIFETIME=10s")
	first.register()
	e.active()
	bundles, requests := map[string]bool{}, 0
	for deadline := time.Now().Add(45 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if err := e.dryRun("traffic", annotationPrefix+"size-unit", "0"); !apierrors.IsInvalid(err) {
			t.Fatalf("request %d after %d bundles: %v", requests, len(bundles), err)
		}
		requests++
		bundle, err := e.bundle()
		if err != nil {
			t.Fatal(err)
		}
		bundles[string(bundle)] = true
		if err := trustedBy(bundle, second.address); err != nil {
			t.Fatalf("the other replica, after %d bundles: %v", len(bundles), err)
		}
	}
	if len(bundles) < 3 {
		t.Errorf("%d bundles in %d requests", len(bundles), requests)
	}
	t.Logf("%d requests, %d bundles", requests, len(bundles))
}

func trustedBy(bundle []byte, address string) error {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bytes.TrimSpace(bundle)) {
		return errors.New("no authority in the bundle")
	}
	connection, err := tls.Dial("tcp", address, &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12})
	if err != nil {
		return err
	}
	return connection.Close()
}

func TestAdmissionSpeaksNoOldTLS(t *testing.T) {
	e := prepareAdmission(t)
	s := e.startAdmission()
	_, err := tls.Dial("tcp", s.address, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10})
	if err == nil {
		t.Error("TLS 1.1 is spoken")
	}
}
