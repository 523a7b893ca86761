package controlplane

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProgressLine(t *testing.T) {
	for name, tc := range map[string]struct {
		progress progress
		want     string
	}{
		"nothing is known": {
			progress{text: "looking", elapsed: 1500 * time.Millisecond}, "looking, 1s",
		},
		"the total is not known": {
			progress{text: "downloading", unit: "MB", done: 34, elapsed: 2 * time.Second}, "downloading: 34 MB, 2s",
		},
		"too early for an estimate": {
			progress{text: "building", unit: "packages", done: 90, total: 1000, elapsed: 9 * time.Second},
			"building: 90 of 1000 packages, 9s",
		},
		"too little done for an estimate": {
			progress{text: "building", unit: "packages", done: 29, total: 1000, elapsed: time.Minute},
			"building: 29 of 1000 packages, 1m0s",
		},
		"half is done": {
			progress{text: "building", unit: "packages", done: 500, total: 1000, elapsed: 2 * time.Minute},
			"building: 500 of 1000 packages, 2m0s, about 2m0s left",
		},
		"nearly all is done": {
			progress{text: "building", unit: "packages", done: 999, total: 1000, elapsed: 2 * time.Minute},
			"building: 999 of 1000 packages, 2m0s, about 10s left",
		},
		"all is compiled and the linker works": {
			progress{text: "building", unit: "packages", done: 1000, total: 1000, elapsed: 3 * time.Minute},
			"building: 1000 of 1000 packages, 3m0s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.progress.line()); diff != "" {
				t.Errorf("line (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReporterWritesALineNowAndThenToAPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		r := newReporter(&out)
		r.phase("building", "packages", 4)
		r.add(1)
		advance(pipeInterval + time.Second)
		r.add(1)
		advance(pipeInterval)
		r.note("done")
		advance(3 * pipeInterval) // there is nothing to tell any more
		r.close()
		want := []string{
			"building: 0 of 4 packages, 0s",
			"building: 1 of 4 packages, 15s, about 50s left",
			"building: 2 of 4 packages, 30s, about 30s left",
			"done",
		}
		if diff := cmp.Diff(want, lines(out.String())); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
	})
}

func TestReporterRewritesOneLineOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		r := newReporter(&out)
		r.mu.Lock()
		r.terminal = true
		r.mu.Unlock()
		r.phase("fetching", "so far", 0)
		r.rename("still fetching")
		r.phase("building", "", 0)
		r.close()
		want := "\rfetching, 0s\x1b[K\rstill fetching, 0s\x1b[K\rstill fetching, 0s\x1b[K\n" +
			"\rbuilding, 0s\x1b[K\rbuilding, 0s\x1b[K\n"
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
	})
}

// advance lets so much of a synctest bubble's time pass.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func lines(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }
