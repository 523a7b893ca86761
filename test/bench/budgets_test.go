package bench

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

var budgetsFile = filepath.Join("testdata", "budgets.json")

// budget is what a scenario may cost in a cell.
type budget struct {
	// Writes are exact. Reads may be exceeded by a few: how often something is
	// polled hangs on the machine as well.
	Writes int `json:"writes"`
	Reads  int `json:"reads"`
}

// readsAllowed is how many reads are no more than the recorded.
func (b budget) readsAllowed() int { return b.Reads + b.Reads/5 + 5 }

// budgets are recorded calls by cell and scenario.
type budgets map[string]map[string]budget

func readBudgets(t *testing.T) budgets {
	t.Helper()
	b := budgets{}
	data, err := os.ReadFile(budgetsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return b
	}
	if err == nil {
		err = json.Unmarshal(data, &b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// check fails where more calls were made than recorded. With -update it records
// what was counted.
func (b budgets) check(t *testing.T, c cell, results []result) {
	t.Helper()
	for _, r := range results {
		counted := budget{Writes: r.writes(), Reads: len(r.requests) - r.writes()}
		recorded, ok := b[c.String()][r.scenario]
		switch {
		case *update:
			if b[c.String()] == nil {
				b[c.String()] = map[string]budget{}
			}
			b[c.String()][r.scenario] = counted
		case !ok:
			t.Logf("%s has no budget yet: -update records it", r.scenario)
		case counted.Writes > recorded.Writes:
			t.Errorf("%s: %d writes, recorded are %d", r.scenario, counted.Writes, recorded.Writes)
		case counted.Reads > recorded.readsAllowed():
			t.Errorf("%s: %d reads, recorded are %d", r.scenario, counted.Reads, recorded.Reads)
		}
	}
}

func (b budgets) write(t *testing.T) {
	t.Helper()
	data, err := json.MarshalIndent(b, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(budgetsFile), 0o755)
	}
	if err == nil {
		err = os.WriteFile(budgetsFile, append(data, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
