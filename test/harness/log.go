package harness

import (
	"bytes"
	"strings"
	"sync"
)

// Log is a buffer for several writers.
type Log struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write implements [io.Writer].
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.Write(p)
}

// String is everything that was written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.String()
}

// Faults are what no log of the manager may ever hold: panics, also those that it
// survives, data races of our own, and the token.
func Faults(log, token string) []string {
	var faults []string
	for _, bad := range []string{"panic:", "goroutine 1 [", token, "Observed a panic", "A defect "} {
		if strings.Contains(log, bad) {
			faults = append(faults, "the manager's log has "+bad)
		}
	}
	for _, race := range ourRaces(log) {
		faults = append(faults, "data race:\n"+race)
	}
	return faults
}

// ourRaces returns the race detector's reports in which our code touches the
// memory. The framework's service controller has a race of its own: it updates
// and reads the Service that it remembers without a lock.
func ourRaces(log string) []string {
	var races []string
	for report := range strings.SplitSeq(log, "==================") {
		if !strings.Contains(report, "DATA RACE") {
			continue
		}
		lines := strings.Split(report, "\n")
		for i, line := range lines[:len(lines)-1] {
			isAccess := strings.Contains(line, " at 0x") && strings.Contains(line, "by ")
			if isAccess && !strings.HasPrefix(strings.TrimSpace(lines[i+1]), "k8s.io/cloud-provider/controllers/") {
				races = append(races, report)
				break
			}
		}
	}
	return races
}

// Tail is the end of a text, of so many lines.
func Tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
