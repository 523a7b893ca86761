package reconciler

import (
	"context"
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// crash is where a process ends: at its nth write, counted from 1, either before
// that is sent, or when it was acted on and the answer isn't known yet. Zero:
// nowhere.
type crash struct {
	at    int
	acted bool
}

var errDead = errors.New("the process is dead")

// process is one life of the manager. All that it sends goes through it, until
// it is killed; then nothing does.
type process struct {
	ctx context.Context
	die func()

	mu     sync.Mutex
	end    crash
	writes []string
	dead   bool
}

// do sends a request, and kills the process when the time has come. write is
// empty for one that only reads.
func (p *process) do(write string, send func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return errDead
	}
	if write != "" {
		p.writes = append(p.writes, write)
	}
	ends := write != "" && len(p.writes) == p.end.at
	if !ends || p.end.acted {
		send()
	}
	if !ends {
		return nil
	}
	p.dead = true
	p.die()
	return errDead
}

// arm has the process end at a write, counted from now on.
func (p *process) arm(end crash) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end, p.writes = end, nil
}

func (p *process) state() (writes []string, dead bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.writes), p.dead
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// toDigitalOcean is the process's way to DigitalOcean's API.
func (p *process) toDigitalOcean(real http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (response *http.Response, err error) {
		write := ""
		if r.Method != http.MethodGet {
			// Names and ids of tests' objects are of no interest.
			write = r.Method + " " + kindOf(r.URL.Path)
		}
		if dead := p.do(write, func() { response, err = real.RoundTrip(r) }); dead != nil {
			return nil, dead
		}
		return response, err
	})
}

// kindOf is a path without ids.
func kindOf(url string) string {
	parts := strings.Split(strings.TrimPrefix(url, "/v2/"), "/")
	if len(parts) > 1 {
		parts[1] = "*"
	}
	return path.Join(parts...)
}

// toKubernetes is the process's way to Kubernetes' API.
func (p *process) toKubernetes(real *fake.Clientset) kubernetes.Interface {
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
