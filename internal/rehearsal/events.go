package rehearsal

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	v1 "k8s.io/api/core/v1"
)

// Recorder tells events in the log in place of sending them.
func (b *Book) Recorder() record.EventRecorder { return &recorder{b} }

type recorder struct{ book *Book }

// Event implements [record.EventRecorder].
func (r *recorder) Event(object runtime.Object, kind, reason, message string) {
	r.book.Counted(KindEvent)
	name := ""
	if ref, ok := object.(*v1.ObjectReference); ok {
		name = ref.Namespace + "/" + ref.Name
	} else if accessor, err := meta.Accessor(object); err == nil {
		name = accessor.GetNamespace() + "/" + accessor.GetName()
	}
	r.book.logger.Info("Would send event, and only observes", "target", name, "type", kind, "reason", reason, "message", message)
}

// Eventf implements [record.EventRecorder].
func (r *recorder) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	r.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf implements [record.EventRecorder].
func (r *recorder) AnnotatedEventf(object runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	r.Eventf(object, kind, reason, format, args...)
}
