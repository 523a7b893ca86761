package events

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"digitalocean-cloud-controller-manager/internal/golden"
)

func TestDocumentationIsCurrent(t *testing.T) {
	golden.Check(t, "../../docs/events.md", Document())
}

func TestRecorderTellsNewsOnce(t *testing.T) {
	sink := record.NewFakeRecorder(100)
	clock := clocktesting.NewFakeClock(time.Now())
	r := NewRecorder(sink, clock)
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "1"}}
	other := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "2"}}
	lease := &v1.ObjectReference{Kind: "Lease", Namespace: "kube-system", Name: "l"}

	steps := []struct {
		name string
		do   func()
		told bool
	}{
		{"first", func() { r.Tell(node, DropletNotFound, "a") }, true},
		{"same", func() { r.Tell(node, DropletNotFound, "a") }, false},
		{"another object", func() { r.Tell(other, DropletNotFound, "a") }, true},
		{"another message", func() { r.Tell(node, DropletNotFound, "b") }, true},
		{"another reason", func() { r.Tell(node, DropletAmbiguous, "b") }, true},
		{"a reference", func() { r.Tell(lease, TokenRefused, "b") }, true},
		{"the same reference", func() { r.Tell(lease, TokenRefused, "b") }, false},
		{"29 minutes later", func() { clock.Step(29 * time.Minute); r.Tell(node, DropletNotFound, "b") }, false},
		{"half an hour later", func() { clock.Step(time.Minute); r.Tell(node, DropletNotFound, "b") }, true},
		{"after it was over", func() { r.Forget(node, DropletNotFound); r.Tell(node, DropletNotFound, "b") }, true},
	}
	for _, step := range steps {
		step.do()
		if told := len(sink.Events) > 0; told != step.told {
			t.Errorf("%s: told %t, want %t", step.name, told, step.told)
		}
		for len(sink.Events) > 0 {
			<-sink.Events
		}
	}
}

func TestRecorderForgetsWhatIsLongPast(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	r := NewRecorder(record.NewFakeRecorder(3*pruneAt), clock)
	for i := range 3 * pruneAt {
		if i%pruneAt == 0 {
			clock.Step(time.Hour)
		}
		r.Tell(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}}, DropletNotFound, "x")
	}
	if n := len(r.told); n > pruneAt {
		t.Errorf("%d pieces of news are remembered", n)
	}
}

func TestEveryReasonIsDocumentedOnce(t *testing.T) {
	seen := map[Reason]bool{}
	for _, d := range Docs {
		if seen[d.Reason] || d.Meaning == "" || d.Object == "" {
			t.Errorf("reason %s is documented twice or without meaning", d.Reason)
		}
		seen[d.Reason] = true
	}
}
