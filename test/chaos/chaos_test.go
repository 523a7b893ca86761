package chaos

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"digitalocean-cloud-controller-manager/test/chaos/plan"
)

const (
	// calmPatience is how long the managers may take to put everything right. The
	// longest of their waits are a minute for a quota, a minute in which an own
	// write is believed over a list, two minutes until a Node is old enough to be
	// removed, and the framework's back-off.
	calmPatience = 5 * time.Minute
	// quiet is how long nothing is written any more when all is as it should be.
	quiet = 10 * time.Second
	// Bounds of a manager in a cluster of this size.
	maxGoroutines = 600
	maxMemory     = 250 << 20
	// raceFactor is how much more memory the race detector takes.
	raceFactor = 8
)

func TestShortStorm(t *testing.T) {
	if os.Getenv("CHAOS_TIME") != "" {
		t.Skip("CHAOS_TIME asks for longer ones")
	}
	weather(t, plan.Options{Seed: 1, Length: 10 * time.Second, Short: true})
}

func TestStorms(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("CHAOS_TIME"))
	if os.Getenv("CHAOS_TIME") == "" {
		t.Skip("CHAOS_TIME says how long a storm lasts")
	}
	if err != nil {
		t.Fatal("CHAOS_TIME:", err)
	}
	slots := make(chan struct{}, number(t, "CHAOS_PARALLEL", 1))
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			weather(t, plan.Options{Seed: seed, Length: length})
		})
	}
}

// failed are seeds whose storms of 30 seconds once found a fault of the manager,
// to be repeated with CHAOS_SEED=failed.
var failed = []uint64{
	11, 14, 18, 29, // a Node stayed for long after its droplet was gone
	29, // the firewall was written again and again for a load balancer that is gone
}

func seeds(t *testing.T) []uint64 {
	t.Helper()
	if os.Getenv("CHAOS_SEED") == "failed" {
		return slices.Compact(failed)
	}
	first, count := number(t, "CHAOS_SEED", 1), number(t, "CHAOS_SEEDS", 1)
	all := make([]uint64, count)
	for i := range all {
		all[i] = first + uint64(i)
	}
	return all
}

func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n == 0 && variable != "CHAOS_SEED" {
		t.Fatalf("%s=%s is no number above 0", variable, text)
	}
	return n
}

// weather is a storm and the calm after it.
func weather(t *testing.T, o plan.Options) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*o.Length+calmPatience+4*time.Minute)
	t.Cleanup(cancel)
	s := prepare(ctx, t, plan.New(o), o.Seed)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("this storm again: make chaos CHAOS_SEED=%d CHAOS_TIME=%s (the same actions; when exactly each meets the managers differs)\n%s", o.Seed, o.Length, s.describe())
		}
	})
	for _, name := range plan.Managers {
		s.startManager(ctx, name)
	}
	s.rage(o.Length)
	s.calm()
	s.settleDown()
	s.account()
}

// settleDown waits until all invariants hold and nothing is written any more.
func (s *storm) settleDown() {
	begun := time.Now()
	var bad []string
	since, last := time.Now(), s.lastWrite()
	for time.Since(begun) < calmPatience && s.pause(time.Second) {
		w, err := s.now(s.ctx)
		if err != nil {
			bad = []string{err.Error()}
		} else {
			bad = w.violations()
		}
		if write := s.lastWrite(); len(bad) > 0 || write != last {
			since, last = time.Now(), write
		}
		if time.Since(since) >= quiet {
			s.t.Logf("calm after %s", (time.Since(begun) - quiet).Round(time.Second))
			return
		}
	}
	if len(bad) == 0 {
		writes := writesIn(s.sim.Requests())
		bad = []string{"all is as it should be, and still there is written: " + strings.Join(writes[max(0, len(writes)-10):], "\n")}
	}
	for _, b := range bad {
		s.t.Errorf("%s after the storm: %s", time.Since(begun).Round(time.Second), b)
	}
}

// lastWrite is the number of the last write so far.
func (s *storm) lastWrite() int64 {
	var last int64
	for _, r := range s.sim.Requests() {
		if r.Method != "GET" {
			last = r.Sequence
		}
	}
	return last
}

// account checks what must have held all the time.
func (s *storm) account() {
	requests := s.sim.Requests()
	w, err := s.now(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	starts := 0
	for _, m := range s.managers {
		starts += m.Starts()
	}
	for _, bad := range [][]string{
		w.murders, s.strangers.harmed(s.sim, requests), misdirected(requests, w.born), overQuota(requests, starts), s.grown(),
	} {
		for _, b := range bad {
			s.t.Error(b)
		}
	}
	s.t.Logf("%d actions, %d starts of managers, %d requests of which %d writes, at most %d a minute, %d load balancers made",
		len(s.plan.Actions), starts, len(requests), len(writesIn(requests)), busiest(requests, time.Minute), len(w.born))
}

// grown tells where a manager takes more than it should.
func (s *storm) grown() []string {
	factor := 1.0
	if os.Getenv("CHAOS_RACE") == "true" {
		factor = raceFactor
	}
	var bad []string
	for _, m := range s.managers {
		goroutines, err := m.gauge(s.ctx, "go_goroutines")
		if err != nil {
			return []string{err.Error()}
		}
		memory, err := m.gauge(s.ctx, "process_resident_memory_bytes")
		if err != nil {
			return []string{err.Error()}
		}
		s.t.Logf("manager %s: %.0f goroutines, %.0f MiB", m.name, goroutines, memory/(1<<20))
		if isTooMuch(goroutines, memory, factor) {
			bad = append(bad, fmt.Sprintf("manager %s has %.0f goroutines and %.0f MiB", m.name, goroutines, memory/(1<<20)))
		}
	}
	return bad
}

// isTooMuch tells whether a manager takes more than it should. factor is for the
// memory of the race detector.
func isTooMuch(goroutines, bytes, factor float64) bool {
	return goroutines > maxGoroutines || bytes > maxMemory*factor
}
