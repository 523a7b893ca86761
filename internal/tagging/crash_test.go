package tagging

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"digitalocean-cloud-controller-manager/internal/crash"
)

// crashPath is something that has a manager write.
type crashPath struct {
	prepare func(*rig)
	// writes are those of an undisturbed process.
	writes []string
}

func crashPaths() map[string]crashPath {
	const put, create, remove = "POST tags/*/resources", "POST tags", "DELETE tags/*"
	return map[string]crashPath{
		"tagged, where the tag is missing": {func(r *rig) {
			r.add(service("a", r.balancer("a")), service("b", r.balancer("b")))
		}, []string{put, create, put}},
		"tagged, where the tag is there": {func(r *rig) {
			r.add(service("a", r.balancer("a", clusterTag)), service("b", r.balancer("b")), service("c", r.balancer("c")))
		}, []string{put}},
		"marks go": {func(r *rig) {
			r.add(service("a", r.balancer("a", clusterTag, "k8s-svc:uid-a")), service("b", r.balancer("b", clusterTag, "k8s-svc:uid-b")))
		}, []string{remove, remove}},
		"tagged, and a mark goes": {func(r *rig) {
			r.add(service("a", r.balancer("a", clusterTag)), service("b", r.balancer("b", "k8s-svc:uid-b")))
		}, []string{put, remove}},
	}
}

// outcome are the tags that are left: those of each load balancer by its name,
// and all that exist.
type outcome struct {
	Balancers map[string][]string
	Tags      []string
}

func (r *rig) outcome() outcome {
	o := outcome{map[string][]string{}, r.tagNames()}
	for _, lb := range r.sim.LoadBalancers() {
		o.Balancers[lb.Name] = r.tags(lb.ID)
	}
	return o
}

// process runs a controller that ends at the point, and reaches the API by the
// transport. stop waits until it has ended.
func (r *rig) process(end crash.Point, transport http.RoundTripper) (p *crash.Process, stop func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	p = crash.NewProcess(end, cancel)
	r.renew(p.Transport(transport))
	r.informers.Start(ctx.Done())
	done := make(chan struct{})
	go func() { r.controller.Run(ctx); close(done) }()
	return p, func() { cancel(); r.informers.Shutdown(); <-done }
}

// crashed walks a path whose process ends as told, and returns what is left and
// what that process wrote.
func crashed(t *testing.T, way crashPath, end crash.Point) (left outcome, writes []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.balancer("stranger", "k8s:green", "k8s-svc:other")
		way.prepare(r)
		time.Sleep(DefaultPeriod)
		killed, stop := r.process(end, r.sim.Transport())
		now := killed
		for range 8 {
			time.Sleep(DefaultPeriod)
			if now.Dead() {
				stop()
				now, stop = r.process(crash.Point{}, r.sim.Transport())
			}
		}
		stop()
		left, writes = r.outcome(), killed.Writes()
	})
	return left, writes
}

// Whatever a process was about to write, or had just written, when it was killed:
// the next one brings about what an undisturbed one would have.
func TestWhereverAProcessIsKilledTheNextOneFinishesItsWork(t *testing.T) {
	for name, way := range crashPaths() {
		t.Run(name, func(t *testing.T) {
			crash.Everywhere(t, way.writes, func(t *testing.T, end crash.Point) (outcome, []string) { return crashed(t, way, end) })
		})
	}
}
