package servingcert

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
	testingclock "k8s.io/utils/clock/testing"
)

func newKube() *fake.Clientset {
	return fake.NewClientset(&admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Webhooks:   []admissionregistrationv1.ValidatingWebhook{{Name: "a.b.c"}, {Name: "d.e.f"}},
	})
}

func newKeeper(kube *fake.Clientset, clock *testingclock.FakeClock) *Keeper {
	return NewKeeper(Options{
		Kube: kube, Namespace: "n", Secret: "s", Configuration: "web", Names: year.names, Lifetime: year.lifetime, Clock: clock,
	})
}

func mustSync(t *testing.T, keepers ...*Keeper) {
	t.Helper()
	for _, k := range keepers {
		if err := k.sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func bundleOf(t *testing.T, kube *fake.Clientset) []byte {
	t.Helper()
	c, err := kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range c.Webhooks {
		if !bytes.Equal(w.ClientConfig.CABundle, c.Webhooks[0].ClientConfig.CABundle) {
			t.Fatal("the webhooks' authorities differ")
		}
	}
	return c.Webhooks[0].ClientConfig.CABundle
}

func writes(kube *fake.Clientset) (writes []string) {
	for _, a := range kube.Actions() {
		if verb := a.GetVerb(); verb != "get" {
			writes = append(writes, verb+" "+a.GetResource().Resource)
		}
	}
	return writes
}

func TestReplicasAgreeOnOneAuthority(t *testing.T) {
	kube, clock := newKube(), testingclock.NewFakeClock(start)
	a, b := newKeeper(kube, clock), newKeeper(kube, clock)
	if a.Ready(t.Context()) == nil {
		t.Error("ready without a certificate")
	}
	mustSync(t, a)
	// B's first look is as if A had not written yet.
	stale := true
	kube.PrependReactor("get", "secrets", func(kubetesting.Action) (bool, runtime.Object, error) {
		defer func() { stale = false }()
		return stale, nil, apierrors.NewNotFound(v1.Resource("secrets"), "s")
	})
	mustSync(t, b)
	for i := range 20 {
		clock.Step(20 * day)
		mustSync(t, a, b)
		ca, _ := a.Certificate(nil)
		cb, _ := b.Certificate(nil)
		if !bytes.Equal(ca.Certificate[0], cb.Certificate[0]) && i > 0 {
			// B may have renewed after A looked.
			mustSync(t, a)
			if ca, _ = a.Certificate(nil); !bytes.Equal(ca.Certificate[0], cb.Certificate[0]) {
				t.Fatal("the replicas serve different certificates")
			}
		}
		if err := trusts(t, bundleOf(t, kube), state{serving: pair{certificate: ca.Leaf}}, year.names[0], clock.Now()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNothingIsWrittenThatIsSo(t *testing.T) {
	kube, clock := newKube(), testingclock.NewFakeClock(start)
	k := newKeeper(kube, clock)
	mustSync(t, k)
	kube.ClearActions()
	clock.Step(time.Hour)
	mustSync(t, k, newKeeper(kube, clock))
	if w := writes(kube); len(w) > 0 {
		t.Errorf("writes %v", w)
	}
}

func TestWhatWasDeletedOrOverwrittenComesBack(t *testing.T) {
	kube, clock := newKube(), testingclock.NewFakeClock(start)
	k := newKeeper(kube, clock)
	mustSync(t, k)
	before := bundleOf(t, kube)
	if err := kube.CoreV1().Secrets("n").Delete(t.Context(), "s", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	configurations := kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := configurations.Patch(t.Context(), "web", "application/json-patch+json", []byte(`[{"op":"remove","path":"/webhooks/1/clientConfig/caBundle"}]`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	mustSync(t, k)
	if !bytes.Equal(before, bundleOf(t, kube)) {
		t.Error("another authority")
	}
	secrets := kube.CoreV1().Secrets("n")
	if _, err := secrets.Update(t.Context(), &v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"}, Data: map[string][]byte{"tls.crt": []byte("x")}}, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	mustSync(t, k)
	if !bytes.Equal(before, bundleOf(t, kube)) {
		t.Error("another authority after the Secret was spoilt")
	}
}

func TestTroubleWithTheClusterKeepsTheCertificate(t *testing.T) {
	kube, clock := newKube(), testingclock.NewFakeClock(start)
	k := newKeeper(kube, clock)
	mustSync(t, k)
	kube.PrependReactor("*", "*", func(kubetesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("away") })
	if err := k.sync(t.Context()); err == nil || !strings.Contains(err.Error(), "read the Secret of certificates: away") {
		t.Errorf("error %v", err)
	}
	if c, err := k.Certificate(nil); c == nil || err != nil {
		t.Errorf("certificate %v, %v", c, err)
	}
}

func TestWithoutAConfigurationNobodyCalls(t *testing.T) {
	kube := fake.NewClientset()
	mustSync(t, newKeeper(kube, testingclock.NewFakeClock(start)))
}

func writeFiles(t *testing.T, directory string, s state) {
	t.Helper()
	data, err := s.encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tls.crt", "tls.key"} {
		if err := os.WriteFile(filepath.Join(directory, name), data[name], 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFilesAreReadAgain(t *testing.T) {
	directory, clock := t.TempDir(), testingclock.NewFakeClock(start)
	if _, err := NewFiles(directory, clock); err == nil {
		t.Error("no error without files")
	}
	first, _ := mustNext(t, year, state{}, start)
	writeFiles(t, directory, first)
	f, err := NewFiles(directory, clock)
	if err != nil {
		t.Fatal(err)
	}
	served := func() []byte { c, _ := f.Certificate(nil); return c.Certificate[0] }
	second, _ := mustNext(t, year, state{}, start)
	if err := os.WriteFile(filepath.Join(directory, "tls.key"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.load(); err == nil || !bytes.Equal(served(), first.serving.certificate.Raw) {
		t.Errorf("half a change: %v", err)
	}
	writeFiles(t, directory, second)
	if changed, err := f.load(); !changed || err != nil || !bytes.Equal(served(), second.serving.certificate.Raw) {
		t.Errorf("a change: %v %v", changed, err)
	}
	if changed, err := f.load(); changed || err != nil {
		t.Errorf("no change: %v %v", changed, err)
	}
}
