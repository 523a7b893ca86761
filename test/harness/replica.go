package harness

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"digitalocean-cloud-controller-manager/internal/sandbox"
)

// respawn is how soon a manager that ended by itself is started again. It ends
// when it loses its lease, as every controller manager does.
const respawn = 500 * time.Millisecond

// Replica is a manager that is started again whenever it ends, as a kubelet does
// with a Pod's container.
type Replica struct {
	// Log is what all its processes write, and when each started and ended.
	Log Log

	options sandbox.ManagerOptions
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	process *sandbox.Manager
	// delay is how long it stays away the next time that it ends.
	delay  time.Duration
	starts int
}

// StartReplica starts one and keeps it up until the context ends, or Stop. Its
// Log takes the place of the options'.
func StartReplica(ctx context.Context, options sandbox.ManagerOptions) *Replica {
	r := &Replica{options: options, delay: respawn}
	r.options.Log = &r.Log
	ctx, r.cancel = context.WithCancel(ctx)
	r.running.Go(func() { r.run(ctx) })
	return r
}

func (r *Replica) run(ctx context.Context) {
	for ctx.Err() == nil {
		r.runOnce(ctx)
		r.mu.Lock()
		delay := r.delay
		r.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(delay):
		}
	}
}

func (r *Replica) runOnce(ctx context.Context) {
	process, err := sandbox.StartManager(ctx, r.options)
	if err != nil {
		fmt.Fprintln(&r.Log, "not started:", err)
		return
	}
	r.mu.Lock()
	r.process, r.delay = process, respawn
	r.starts++
	r.mu.Unlock()
	fmt.Fprintf(&r.Log, "===== started, process %d, %s\n", process.PID(), time.Now().Format(time.TimeOnly))
	ended := process.Wait()
	fmt.Fprintf(&r.Log, "===== ended, %v, %s\n", ended, time.Now().Format(time.TimeOnly))
}

// Starts is how many processes there have been.
func (r *Replica) Starts() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.starts
}

// End signals the process, which stays away for a while.
func (r *Replica) End(signal syscall.Signal, away time.Duration) {
	r.mu.Lock()
	r.delay = away
	r.mu.Unlock()
	r.Signal(signal)
	r.Signal(syscall.SIGCONT) // one that is paused can't end
}

// Signal signals the process, if there is one.
func (r *Replica) Signal(signal syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil {
		return
	}
	select {
	case <-r.process.Done(): // its id may be another's by now
	default:
		_ = syscall.Kill(r.process.PID(), signal) // it may end this very moment
	}
}

// Stop ends the process for good, also one that is paused, and waits until it
// has ended.
func (r *Replica) Stop() {
	r.Signal(syscall.SIGCONT)
	r.cancel()
	r.running.Wait()
}
