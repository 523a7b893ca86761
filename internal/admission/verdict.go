package admission

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// Verdict is what is said of a request. Without errors it is let pass.
type Verdict struct {
	// Errors are all the reasons against it.
	Errors field.ErrorList
	// Warnings are shown to whoever made it, whether it passes or not.
	Warnings []string
	// Concerned is false where the request can't change a load balancer.
	Concerned bool
	// Unchecked says why DigitalOcean could not be asked, as a class of
	// errors; empty: it was, or need not be.
	Unchecked string
	// foreign is true where the Service's load balancer is another's, so that
	// there is none to ask about.
	foreign bool
}

func (v *Verdict) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(v.Warnings, text) {
		v.Warnings = append(v.Warnings, text)
	}
}

// path is where in a Service a problem is, as the API server writes it. Keys of
// annotations, which needn't be known ones, have a prefix; paths of fields haven't.
func path(at string) string {
	if strings.Contains(at, "/") {
		return field.NewPath("metadata", "annotations").Key(at).String()
	}
	return at
}

// refuse adds a problem.
func (v *Verdict) refuse(p annotation.Problem) {
	at := path(p.Field)
	if p.Value == "" {
		v.Errors = append(v.Errors, &field.Error{Type: field.ErrorTypeRequired, Field: at, Detail: p.Allowed})
		return
	}
	v.Errors = append(v.Errors, &field.Error{Type: field.ErrorTypeInvalid, Field: at, BadValue: p.Value, Detail: p.Allowed})
}

// forbid adds something that no value mends by itself.
func (v *Verdict) forbid(at, format string, args ...any) {
	v.Errors = append(v.Errors, &field.Error{Type: field.ErrorTypeForbidden, Field: path(at), Detail: fmt.Sprintf(format, args...)})
}

// sort refuses what is new, and warns of what was so before: a Service that was
// taken once stays editable.
func (v *Verdict) sort(now, before []annotation.Problem) {
	for _, p := range now {
		if slices.Contains(before, p) {
			v.warn("%s is as invalid as before, and keeps the manager from changing the load balancer: %s", path(p.Field), p.Allowed)
			continue
		}
		v.refuse(p)
	}
}

// Status is the answer of the API server for an invalid object, so that clients
// show it as they show its own.
func (v *Verdict) Status(name string) *metav1.Status {
	status := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, name, v.Errors).Status()
	status.Code = http.StatusUnprocessableEntity
	return &status
}

// texts is the verdict on one line, for logs.
func (v *Verdict) texts() string {
	texts := make([]string, len(v.Errors))
	for i, err := range v.Errors {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}
