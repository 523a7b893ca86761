package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/utils/clock"
)

// judger answers with a verdict, or panics without one.
type judger struct {
	verdict  *Verdict
	svc, old *v1.Service
	times    int
}

func (j *judger) Judge(_ context.Context, svc, old *v1.Service) Verdict {
	j.svc, j.old, j.times = svc, old, j.times+1
	return *j.verdict
}

func review(op admissionv1.Operation, svc, old *v1.Service) *admissionv1.AdmissionReview {
	raw := func(svc *v1.Service) runtime.RawExtension {
		if svc == nil {
			return runtime.RawExtension{}
		}
		text, _ := json.Marshal(svc) // a Service always can be
		return runtime.RawExtension{Raw: text}
	}
	return &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "u1", Operation: op, Resource: services, Name: "web", Namespace: "default", Object: raw(svc), OldObject: raw(old),
		},
	}
}

func post(t *testing.T, h http.Handler, body any) (*httptest.ResponseRecorder, *admissionv1.AdmissionResponse) {
	t.Helper()
	text, isText := body.(string)
	if !isText {
		encoded, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		text = string(encoded)
	}
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, Path, bytes.NewReader([]byte(text))))
	answer := &admissionv1.AdmissionReview{}
	if recorder.Code == http.StatusOK {
		if err := json.Unmarshal(recorder.Body.Bytes(), answer); err != nil {
			t.Fatal(err)
		}
		if answer.Kind != "AdmissionReview" || answer.Response == nil || answer.Response.UID != "u1" {
			t.Fatalf("answer %+v", answer)
		}
	}
	return recorder, answer.Response
}

func TestTheHandlerJudgesWritesOfServicesOnly(t *testing.T) {
	svc, old := service("a"), service("b")
	edit := func(change func(*admissionv1.AdmissionRequest)) *admissionv1.AdmissionReview {
		r := review(admissionv1.Update, svc, old)
		change(r.Request)
		return r
	}
	tests := []struct {
		name   string
		review *admissionv1.AdmissionReview
		judged bool
	}{
		{"create", review(admissionv1.Create, svc, nil), true},
		{"update", review(admissionv1.Update, svc, old), true},
		{"delete", review(admissionv1.Delete, nil, old), false},
		{"status", edit(func(r *admissionv1.AdmissionRequest) { r.SubResource = "status" }), false},
		{"another resource", edit(func(r *admissionv1.AdmissionRequest) { r.Resource.Resource = "pods" }), false},
		{"an object that can't be read", edit(func(r *admissionv1.AdmissionRequest) { r.Object.Raw = []byte(`{"spec": 1}`) }), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			j := &judger{verdict: &Verdict{Concerned: true}}
			_, response := post(t, &Handler{Judge: j, Clock: clock.RealClock{}}, test.review)
			if !response.Allowed || (j.times > 0) != test.judged {
				t.Errorf("allowed %v, judged %d times", response.Allowed, j.times)
			}
			if test.judged && (j.old != nil) != (test.review.Request.Operation == admissionv1.Update) {
				t.Errorf("the state before is %v", j.old)
			}
		})
	}
}

func TestWhatANewServiceLacksIsFilledIn(t *testing.T) {
	j := &judger{verdict: &Verdict{}}
	post(t, &Handler{Judge: j, Clock: clock.RealClock{}}, review(admissionv1.Create, &v1.Service{}, nil))
	if j.svc.Name != "web" || j.svc.Namespace != "default" || j.svc.UID != "u1" || j.svc.CreationTimestamp.IsZero() {
		t.Errorf("judged %+v", j.svc)
	}
}

func TestTheAnswerSaysEverythingAndIsCounted(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	m := NewMetrics(registry.MustRegister)
	h := &Handler{Metrics: m, Clock: clock.RealClock{}}
	ask := func(v *Verdict) *admissionv1.AdmissionResponse {
		h.Judge = &judger{verdict: v}
		_, response := post(t, h, review(admissionv1.Create, service("a"), nil))
		return response
	}
	refused := ask(&Verdict{Concerned: true, Warnings: []string{"w"}, Errors: field.ErrorList{field.Forbidden(field.NewPath("a"), "b"), field.Forbidden(field.NewPath("c"), "d")}})
	if refused.Allowed || refused.Result.Code != 422 || len(refused.Result.Details.Causes) != 2 || !cmp.Equal(refused.Warnings, []string{"w"}) {
		t.Errorf("refused: %+v", refused)
	}
	if r := ask(&Verdict{Concerned: true, Unchecked: "cloud"}); !r.Allowed {
		t.Errorf("unchecked: %+v", r)
	}
	if r := ask(&Verdict{Concerned: true}); !r.Allowed {
		t.Errorf("allowed: %+v", r)
	}
	if r := ask(nil); !r.Allowed { // it panics
		t.Errorf("a defect: %+v", r)
	}
	want := `# HELP digitalocean_ccm_admission_requests_total [ALPHA] Admission requests by operation and by what became of them: unconcerned, allowed, allowed_unchecked (DigitalOcean could not be asked), allowed_after_panic, refused, unreadable.
# TYPE digitalocean_ccm_admission_requests_total counter
digitalocean_ccm_admission_requests_total{operation="CREATE",result="allowed"} 1
digitalocean_ccm_admission_requests_total{operation="CREATE",result="allowed_after_panic"} 1
digitalocean_ccm_admission_requests_total{operation="CREATE",result="allowed_unchecked"} 1
digitalocean_ccm_admission_requests_total{operation="CREATE",result="refused"} 1
# HELP digitalocean_ccm_admission_unchecked_total [ALPHA] Admission requests that were let pass because DigitalOcean could not be asked, by the class of the error.
# TYPE digitalocean_ccm_admission_unchecked_total counter
digitalocean_ccm_admission_unchecked_total{class="cloud"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "digitalocean_ccm_admission_requests_total", "digitalocean_ccm_admission_unchecked_total"); err != nil {
		t.Error(err)
	}
}

func TestUnreadableReviewsAreErrors(t *testing.T) {
	h := &Handler{Judge: &judger{verdict: &Verdict{}}, Clock: clock.RealClock{}}
	for name, body := range map[string]string{
		"no JSON":           "x",
		"an empty body":     "",
		"another kind":      `{"apiVersion":"v1","kind":"Service"}`,
		"an old version":    `{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"u1"}}`,
		"no request":        `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`,
		"more than allowed": `{"apiVersion":"` + strings.Repeat("x", maxBody) + `"}`,
	} {
		if recorder, _ := post(t, h, body); recorder.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", name, recorder.Code)
		}
	}
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, Path, nil))
	if recorder.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", recorder.Code)
	}
}
