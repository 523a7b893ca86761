package bench

import (
	"fmt"
	"time"

	"digitalocean-cloud-controller-manager/simulator"
)

// result is what a scenario cost.
type result struct {
	scenario   string
	converged  time.Duration
	never      error // why it did not converge
	requests   []simulator.Request
	kubeWrites int
	memory     int // bytes, the peak
	cpu        time.Duration
	// window is what a scenario without an end stands for; 0: it has one.
	window time.Duration
}

func (r result) writes() int {
	n := 0
	for _, request := range r.requests {
		if request.Method != "GET" {
			n++
		}
	}
	return n
}

// share is the part of an hour's quota in percent, of a steady state as if it
// went on for an hour.
func (r result) share() float64 {
	calls := float64(len(r.requests))
	if r.window > 0 {
		calls *= float64(time.Hour) / float64(r.window)
	}
	return 100 * calls / hourQuota
}

func (r result) took() string {
	switch {
	case r.never != nil:
		return "never"
	case r.window > 0:
		return "-"
	default:
		return fmt.Sprintf("%.1f s", r.converged.Seconds())
	}
}

// run measures one scenario.
func (s *stand) run(c scenario) result {
	s.t.Helper()
	if c.prepare != nil {
		c.prepare(s)
	}
	s.freshQuota()
	s.sim.ResetRequests()
	kubeBefore := s.kubeWrites()
	var cpuBefore time.Duration
	before := s.manager
	if before != nil {
		s.resetPeak()
		cpuBefore, _ = s.usage()
	}
	begun := time.Now()
	c.act(s)
	r := result{scenario: c.name}
	if c.converged == nil {
		s.pause(c.window)
		r.window = c.window * periodScale
	} else {
		r.never = s.await(c.timeout, c.converged)
		r.converged = time.Since(begun)
		s.pause(settleTime)
	}
	if s.manager != before {
		cpuBefore = 0 // another process
	}
	r.requests, r.kubeWrites = s.sim.Requests(), s.kubeWrites()-kubeBefore
	r.cpu, r.memory = s.usage()
	r.cpu -= cpuBefore
	if c.byLast && len(r.requests) > 0 {
		r.converged = r.requests[len(r.requests)-1].Time.Sub(begun)
	}
	return r
}

// await waits until there is no error, or returns the last one.
func (s *stand) await(timeout time.Duration, converged func(*stand) error) error {
	if timeout == 0 {
		timeout = scenarioTimeout
	}
	poll := 200 * time.Millisecond
	if s.cell.nodes*s.cell.services > 10_000 || s.cell.nodes > 500 {
		poll = time.Second
	}
	for deadline := time.Now().Add(timeout); ; s.pause(poll) {
		err := converged(s)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
