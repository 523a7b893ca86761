package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"

	admissionv1 "k8s.io/api/admission/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Path is where the API server sends its requests, as it does to the public
// manager's server.
const Path = "/lb-service"

// maxBody bounds a request: it holds two states of an object, each of which the
// API server bounds to three megabytes.
const maxBody = 8 << 20

// Judger judges Services.
type Judger interface {
	Judge(ctx context.Context, svc, old *v1.Service) Verdict
}

// Handler answers the API server's AdmissionReviews.
type Handler struct {
	Judge   Judger
	Metrics *Metrics
	Clock   clock.PassiveClock
}

// ServeHTTP implements [http.Handler]. What it can't read is an HTTP error, on
// which the API server goes by the webhook's failure policy.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := h.Clock.Now()
	if r.Method != http.MethodPost {
		http.Error(w, "only POST of an AdmissionReview", http.StatusMethodNotAllowed)
		return
	}
	review, err := readReview(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		klog.FromContext(r.Context()).Error(err, "Unreadable admission request")
		h.Metrics.record("", resultUnreadable, h.Clock.Since(begun))
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	response, result := h.review(r.Context(), review.Request)
	h.Metrics.record(string(review.Request.Operation), result, h.Clock.Since(begun))
	w.Header().Set("Content-Type", "application/json")
	answer := admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: response}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		klog.FromContext(r.Context()).V(2).Info("The API server went away", "err", err)
	}
}

func readReview(body io.Reader) (*admissionv1.AdmissionReview, error) {
	review := &admissionv1.AdmissionReview{}
	if err := json.NewDecoder(body).Decode(review); err != nil {
		return nil, fmt.Errorf("decode AdmissionReview: %w", err)
	}
	if review.GroupVersionKind() != admissionv1.SchemeGroupVersion.WithKind("AdmissionReview") {
		return nil, fmt.Errorf("decode AdmissionReview: got %s, want %s", review.GroupVersionKind(), admissionv1.SchemeGroupVersion)
	}
	if review.Request == nil {
		return nil, fmt.Errorf("decode AdmissionReview: no request")
	}
	return review, nil
}

// services are what requests are judged of; all others pass.
var services = metav1.GroupVersionResource{Version: "v1", Resource: "services"}

// review judges one request. A defect of ours lets it pass.
func (h *Handler) review(ctx context.Context, req *admissionv1.AdmissionRequest) (response *admissionv1.AdmissionResponse, result string) {
	defer func() {
		if p := recover(); p != nil {
			klog.FromContext(ctx).Error(nil, "A defect let a request pass", "panic", p, "stack", string(debug.Stack()))
			response, result = &admissionv1.AdmissionResponse{UID: req.UID, Allowed: true}, resultPanicked
		}
	}()
	response = &admissionv1.AdmissionResponse{UID: req.UID, Allowed: true}
	svc, old, err := objects(req)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Unreadable object in an admission request", "namespace", req.Namespace, "name", req.Name)
		return response, resultUnreadable
	}
	if svc == nil {
		return response, resultUnconcerned
	}
	v := h.Judge.Judge(ctx, svc, old)
	response.Warnings = v.Warnings
	if v.Unchecked != "" {
		h.Metrics.notAsked(v.Unchecked)
	}
	switch {
	case !v.Concerned:
		return response, resultUnconcerned
	case len(v.Errors) > 0:
		response.Allowed, response.Result = false, v.Status(svc.Name)
		klog.FromContext(ctx).V(2).Info("Refused", "service", klog.KObj(svc), "operation", req.Operation, "user", req.UserInfo.Username, "dryRun", isDryRun(req), "why", v.texts())
		return response, resultRefused
	case v.Unchecked != "":
		return response, resultUnchecked
	}
	return response, resultAllowed
}

func isDryRun(req *admissionv1.AdmissionRequest) bool { return req.DryRun != nil && *req.DryRun }

// objects are the Service of a request that may matter and its state before, or
// nil.
func objects(req *admissionv1.AdmissionRequest) (svc, old *v1.Service, err error) {
	isWrite := req.Operation == admissionv1.Create || req.Operation == admissionv1.Update
	if req.Resource != services || req.SubResource != "" || !isWrite {
		return nil, nil, nil
	}
	svc = &v1.Service{}
	if err := json.Unmarshal(req.Object.Raw, svc); err != nil {
		return nil, nil, fmt.Errorf("decode Service: %w", err)
	}
	complete(svc, req)
	if req.Operation == admissionv1.Create {
		return svc, nil, nil
	}
	old = &v1.Service{}
	if err := json.Unmarshal(req.OldObject.Raw, old); err != nil {
		return nil, nil, fmt.Errorf("decode Service before the change: %w", err)
	}
	return svc, old, nil
}

// complete fills in what a Service that is yet to be made may lack: it is
// younger than all others, and none has its UID.
func complete(svc *v1.Service, req *admissionv1.AdmissionRequest) {
	if svc.Name == "" {
		svc.Name = req.Name
	}
	if svc.Namespace == "" {
		svc.Namespace = req.Namespace
	}
	if svc.UID == "" {
		svc.UID = req.UID
	}
	if svc.CreationTimestamp.IsZero() {
		svc.CreationTimestamp = metav1.Now()
	}
}
