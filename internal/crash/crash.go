// Package crash kills a manager between any two of its writes, for tests of what
// the next one makes of it.
package crash

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Point is where a process ends: at its nth write, counted from 1, either before
// that is sent, or when it was acted on and the answer isn't known yet. The zero
// Point is nowhere.
type Point struct {
	At    int
	Acted bool
}

var errDead = errors.New("the process is dead")

// Process is one life of the manager. All that it sends goes through its
// Transport and its Kubernetes, until it is killed; then nothing does.
type Process struct {
	die func()

	mu     sync.Mutex
	end    Point
	writes []string
	dead   bool
}

// NewProcess makes a process that ends at the point. die is called then, and must
// end what the process does without waiting for it.
func NewProcess(end Point, die func()) *Process { return &Process{end: end, die: die} }

// Arm has the process end at a point that is counted from now on.
func (p *Process) Arm(end Point) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end, p.writes = end, nil
}

// End is where the process ends.
func (p *Process) End() Point {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end
}

// Writes are those since the process began or was armed, without the ids of what
// was written to.
func (p *Process) Writes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.writes)
}

// Dead tells whether the process was killed.
func (p *Process) Dead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// do sends a request, and kills the process when the time has come. write is
// empty for one that only reads.
func (p *Process) do(write string, send func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return errDead
	}
	if write != "" {
		p.writes = append(p.writes, write)
	}
	ends := write != "" && len(p.writes) == p.end.At
	if !ends || p.end.Acted {
		send()
	}
	if !ends {
		return nil
	}
	p.dead = true
	p.die()
	return errDead
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Transport is the process's way to DigitalOcean's API.
func (p *Process) Transport(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (response *http.Response, err error) {
		write := ""
		if r.Method != http.MethodGet {
			write = r.Method + " " + kindOf(r.URL.Path)
		}
		if dead := p.do(write, func() { response, err = next.RoundTrip(r) }); dead != nil {
			return nil, dead
		}
		return response, err
	})
}

// kindOf is a path without the id or the name of what it is of.
func kindOf(url string) string {
	parts := strings.Split(strings.TrimPrefix(url, "/v2/"), "/")
	if len(parts) > 1 {
		parts[1] = "*"
	}
	return path.Join(parts...)
}

// Kubernetes is the process's way to Kubernetes' API.
func (p *Process) Kubernetes(real *fake.Clientset) kubernetes.Interface {
	client := &fake.Clientset{}
	client.AddReactor("*", "*", func(action clienttesting.Action) (_ bool, object runtime.Object, err error) {
		write := ""
		if verb := action.GetVerb(); !slices.Contains([]string{"get", "list", "watch"}, verb) {
			write = path.Join(verb+" "+action.GetResource().Resource, action.GetSubresource())
		}
		if dead := p.do(write, func() { object, err = real.Invokes(action, nil) }); dead != nil {
			return true, nil, dead
		}
		return true, object, err
	})
	return client
}

// sample is the share of the writes that a short test kills its processes at.
const sample = 3

// Everywhere lives once undisturbed, where the writes must be those that are
// wanted, and then with a process that is killed before and after each of them:
// what is left must always be the same. live returns what is left when the
// processes after the killed one have done their work, and what that one wrote.
// A short test kills one at some of them.
func Everywhere[Left any](t *testing.T, want []string, live func(*testing.T, Point) (left Left, writes []string)) {
	t.Helper()
	undisturbed, writes := live(t, Point{})
	if diff := cmp.Diff(want, writes); diff != "" {
		t.Fatalf("writes when nothing happens: %s", diff)
	}
	for n, write := range writes {
		if testing.Short() && n%sample > 0 {
			continue
		}
		for when, acted := range map[string]bool{"before": false, "after": true} {
			t.Run(fmt.Sprintf("%s %d %s", when, n+1, strings.ReplaceAll(write, "/", "-")), func(t *testing.T) {
				left, _ := live(t, Point{n + 1, acted})
				if diff := cmp.Diff(undisturbed, left); diff != "" {
					t.Errorf("what is left differs (-undisturbed +killed): %s", diff)
				}
			})
		}
	}
}
