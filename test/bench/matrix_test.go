package bench

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

var (
	whole  = flag.Bool("whole", false, "measure the whole matrix in place of its corners; this takes hours, as 500 Services wait for the quota again and again")
	cells  = flag.String("cells", "", "measure these cells alone, like 100x10,5000x500:tag")
	update = flag.Bool("update", false, "write the counted calls to testdata/budgets.json")
)

// EnvManager is a path of another manager's binary, which is measured after
// ours, with the same flags and environment.
const envManager = "BENCH_MANAGER"

// cell is a cluster to measure in. With byTag, load balancers target a tag.
type cell struct {
	nodes, services int
	byTag           bool
}

func (c cell) String() string {
	s := fmt.Sprintf("%dx%d", c.nodes, c.services)
	if c.byTag {
		s += ":tag"
	}
	return s
}

// chosenCells are those that the flags ask for.
func chosenCells(t *testing.T) []cell {
	t.Helper()
	switch {
	case *cells != "":
		return parseCells(t, *cells)
	case testing.Short():
		return []cell{{10, 5, false}}
	case *whole:
		var all []cell
		for _, nodes := range []int{10, 100, 1000, 5000} {
			for _, services := range []int{1, 10, 100, 500} {
				all = append(all, cell{nodes, services, false}, cell{nodes, services, true})
			}
		}
		return all
	default:
		return []cell{{10, 1, false}, {100, 100, false}, {100, 100, true}, {5000, 1, false}}
	}
}

func parseCells(t *testing.T, text string) []cell {
	t.Helper()
	var chosen []cell
	for part := range strings.SplitSeq(text, ",") {
		sizes, mode, _ := strings.Cut(part, ":")
		c := cell{byTag: mode == "tag"}
		if _, err := fmt.Sscanf(sizes, "%dx%d", &c.nodes, &c.services); err != nil || mode != "" && mode != "tag" {
			t.Fatalf("-cells: %q is not like 100x10 or 100x10:tag", part)
		}
		chosen = append(chosen, c)
	}
	return chosen
}

// TestMatrix measures the built manager, and another one where it is given, on
// a real kube-apiserver and the simulator, with 100 ms of latency and the true
// rate limits.
func TestMatrix(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Hour)
	defer cancel()
	budgets := readBudgets(t)
	binary := buildManager(ctx, t)
	for _, c := range chosenCells(t) {
		t.Run(c.String(), func(t *testing.T) {
			results := measure(ctx, t, c, binary)
			report(t, "ours", c, results)
			checkGoals(t, c, results)
			budgets.check(t, c, results)
		})
		if other := os.Getenv(envManager); other != "" {
			t.Run(c.String()+" another", func(t *testing.T) { report(t, "another", c, measure(ctx, t, c, other)) })
		}
	}
	if *update {
		budgets.write(t)
	}
}

// measure runs all scenarios one after the other in one cluster.
func measure(ctx context.Context, t *testing.T, c cell, binary string) []result {
	t.Helper()
	s := newStand(ctx, t, c, binary)
	var results []result
	for _, scenario := range scenarios {
		if t.Failed() {
			break
		}
		if testing.Short() && scenario.slow {
			continue
		}
		results = append(results, s.run(scenario))
		t.Logf("%s: %s", scenario.name, byKind(results[len(results)-1].requests))
	}
	return results
}

// report prints a row a scenario, as docs/performance.md has them.
func report(t *testing.T, who string, c cell, results []result) {
	t.Helper()
	for _, r := range results {
		t.Logf("| %s | %s | %s | %s | %d | %d | %.1f %% | %d | %d MB | %.1f s | %s |",
			who, c, r.scenario, r.took(), r.writes(), len(r.requests), r.share(), r.kubeWrites, r.memory>>20, r.cpu.Seconds(), byKind(r.requests))
	}
}

const (
	maxMemory = 300 << 20
	// maxSteadyShare is the part of the quota that a cluster may take in which
	// nothing happens, in percent.
	maxSteadyShare = 10
)

// checkGoals holds whatever was recorded.
func checkGoals(t *testing.T, c cell, results []result) {
	t.Helper()
	for _, r := range results {
		if r.never != nil {
			t.Errorf("%s: %v", r.scenario, r.never)
		}
		if r.memory > maxMemory {
			t.Errorf("%s: %d MB of memory", r.scenario, r.memory>>20)
		}
		if most := mostWrites(c, r.scenario); r.writes() > most {
			t.Errorf("%s: %d writes, %d are enough: %s", r.scenario, r.writes(), most, byKind(r.requests))
		}
		if most := convergence(len(r.requests)); r.never == nil && r.window == 0 && !awaitsPeriod(r.scenario) && r.converged > most {
			t.Errorf("%s: converged in %s, the quota allows it in %s", r.scenario, r.converged, most)
		}
		if r.window > 0 && r.share() > maxSteadyShare {
			t.Errorf("%s: %.1f %% of the quota", r.scenario, r.share())
		}
	}
}

// ownWork is what a scenario may take besides waiting for the quota: for the
// lease, for Nodes that are gathered, for a load balancer to be looked at again,
// and for 5,000 Nodes to be registered and patched.
const ownWork = 30 * time.Second

// convergence is how long so many API calls may take: as long as the quota
// makes them wait, and a tenth more.
func convergence(calls int) time.Duration {
	return time.Duration(calls)*time.Minute/minuteQuota*11/10 + ownWork
}

// awaitsPeriod tells of a scenario that begins when a period is over.
func awaitsPeriod(scenario string) bool { return scenario == drifted }

// mostWrites is how many writes a scenario needs.
func mostWrites(c cell, scenario string) int {
	switch scenario {
	case restarted, steady:
		return 0
	case oneJoins:
		if c.byTag {
			return 1
		}
		return c.services
	case annotatedAll:
		return c.services
	case drifted:
		return max(1, c.services/10)
	default:
		return 100 * (c.services + 1)
	}
}
