package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"digitalocean-cloud-controller-manager/internal/controlplane"
)

// resetTimeout is how long it may take to make a control plane as new. It takes
// half a second on an idle machine.
const resetTimeout = time.Minute

// Planes are control planes that tests take one after the other, as a start costs
// more than most tests do. The zero value is usable.
type Planes struct {
	mu   sync.Mutex
	idle []*Plane
}

// Take returns a control plane that holds what a new one does, and nobody else's
// clients. It is the test's until its cleanups of after this call are done: by then
// every process that the test started must have ended. One that can't be made as new
// again, or whose test failed, is stopped.
func (p *Planes) Take(ctx context.Context, t testing.TB, assets controlplane.Assets) *Plane {
	t.Helper()
	plane, err := p.take(ctx, t, assets)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.giveBack(t, plane, t.Failed()); err != nil {
			t.Error(err)
		}
	})
	return plane
}

func (p *Planes) take(ctx context.Context, t testing.TB, assets controlplane.Assets) (*Plane, error) {
	for {
		plane := p.pop()
		if plane == nil {
			break
		}
		// The API server may have written since, as it does on its own.
		err := plane.reset(ctx)
		if err == nil {
			plane.begin()
			return plane, nil
		}
		t.Log("a control plane is not used again:", err)
		if err := plane.stop(); err != nil {
			return nil, err
		}
	}
	plane, err := startPlane(ctx, assets)
	if err != nil {
		return nil, err
	}
	plane.begin()
	return plane, nil
}

func (p *Planes) pop() *Plane {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	last := len(p.idle) - 1
	plane := p.idle[last]
	p.idle = slices.Delete(p.idle, last, last+1)
	return plane
}

func (p *Planes) giveBack(t testing.TB, plane *Plane, failed bool) error {
	plane.end()
	if failed {
		return plane.stop()
	}
	ctx, cancel := context.WithTimeout(context.Background(), resetTimeout)
	defer cancel()
	if err := plane.reset(ctx); err != nil {
		t.Log("the control plane is not used again:", err)
		return plane.stop()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, plane)
	return nil
}

// Close stops those that nobody has.
func (p *Planes) Close() error {
	var errs []error
	for plane := p.pop(); plane != nil; plane = p.pop() {
		errs = append(errs, plane.stop())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop control planes: %w", err)
	}
	return nil
}
