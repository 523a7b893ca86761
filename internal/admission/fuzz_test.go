package admission

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/utils/clock"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/doapi"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/simulator"
)

// watched tells of panics, which the handler makes good for.
type watched struct {
	Judger
	t *testing.T
}

func (w watched) Judge(ctx context.Context, svc, old *v1.Service) Verdict {
	defer func() {
		if p := recover(); p != nil {
			w.t.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return w.Judger.Judge(ctx, svc, old)
}

// fuzzJudge is a Judge of a cluster without Services, whose API is the simulator.
func fuzzJudge(tb testing.TB) *Judge {
	tb.Helper()
	secret, _, err := doapi.NewToken(token)
	if err != nil {
		tb.Fatal(err)
	}
	sim := simulator.New(simulator.WithToken(token, "t"), simulator.WithRateLimit(0, 0))
	client, err := doapi.New(doapi.Options{TokenSource: doapi.StaticToken(secret), Transport: sim.Transport()})
	if err != nil {
		tb.Fatal(err)
	}
	return NewJudge(Options{
		Client: client, Services: corelisters.NewServiceLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})),
		Cluster: loadbalancer.Cluster{ID: "c1", Region: "nyc3"}, Clock: clock.RealClock{},
		Defaults: annotation.Defaults{Type: annotation.TypeRegionalNetwork},
	})
}

// Whatever the API server sends, nothing panics, the answer is to this request,
// and a refusal says why.
func FuzzReview(f *testing.F) {
	bad := service("web", annotation.Type, "REGIONAL", annotation.SizeUnit, "0", annotation.Protocol, "http9")
	for _, r := range []*admissionv1.AdmissionReview{
		review(admissionv1.Create, service("web"), nil), review(admissionv1.Create, bad, nil),
		review(admissionv1.Update, bad, service("web")), review(admissionv1.Update, service("web"), nil), review(admissionv1.Delete, nil, service("web")),
	} {
		body, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	for _, body := range []string{`{}`, `null`, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE","resource":{"version":"v1","resource":"services"},"object":null}}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		registry := metrics.NewKubeRegistry()
		h := &Handler{Judge: watched{fuzzJudge(t), t}, Metrics: NewMetrics(registry.MustRegister), Clock: clock.RealClock{}}
		recorder := httptest.NewRecorder()
		h.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, Path, strings.NewReader(string(body))))
		checkAnswer(t, body, recorder)
		metric, err := testutil.GetHistogramVecFromGatherer(registry, "digitalocean_ccm_admission_duration_seconds", map[string]string{"result": resultPanicked})
		if err == nil && metric.GetAggregatedSampleCount() > 0 {
			t.Error("a panic was made good for")
		}
	})
}

func checkAnswer(t *testing.T, body []byte, recorder *httptest.ResponseRecorder) {
	t.Helper()
	if recorder.Code == http.StatusBadRequest {
		return
	}
	var asked, answer admissionv1.AdmissionReview
	if err := json.NewDecoder(strings.NewReader(string(body))).Decode(&asked); err != nil || asked.Request == nil {
		t.Fatalf("answered status %d to what can't be read: %v", recorder.Code, err)
	}
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); recorder.Code != http.StatusOK || err != nil || answer.Response == nil {
		t.Fatalf("status %d, answer %s: %v", recorder.Code, recorder.Body, err)
	}
	r := answer.Response
	if r.UID != asked.Request.UID {
		t.Errorf("an answer to %q, not to %q", r.UID, asked.Request.UID)
	}
	if !r.Allowed && (r.Result == nil || r.Result.Message == "") {
		t.Error("a refusal without words")
	}
}
