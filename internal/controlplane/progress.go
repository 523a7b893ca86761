package controlplane

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	// terminalInterval is how often a terminal's line is rewritten.
	terminalInterval = 500 * time.Millisecond
	// pipeInterval is how often a log gets a line.
	pipeInterval = 15 * time.Second
)

// An estimate needs something to go by.
const (
	estimateMinElapsed = 10 * time.Second
	estimateMinPercent = 3
)

// progress is how far a phase of the work is.
type progress struct {
	text        string
	unit        string
	done, total int // in units; total 0: not known
	elapsed     time.Duration
}

// line tells it to a person.
func (p progress) line() string {
	s := p.text
	if p.total > 0 {
		s += fmt.Sprintf(": %d of %d %s", p.done, p.total, p.unit)
	} else if p.done > 0 {
		s += fmt.Sprintf(": %d %s", p.done, p.unit)
	}
	s += ", " + p.elapsed.Truncate(time.Second).String()
	if left, ok := p.remaining(); ok {
		s += ", about " + left.String() + " left"
	}
	return s
}

// remaining estimates how long the phase still takes.
func (p progress) remaining() (time.Duration, bool) {
	if p.elapsed < estimateMinElapsed || p.done*100 < p.total*estimateMinPercent || p.done == 0 || p.done >= p.total {
		return 0, false
	}
	left := p.elapsed / time.Duration(p.done) * time.Duration(p.total-p.done)
	return max(left.Round(10*time.Second), 10*time.Second), true
}

// reporter tells progress while the work goes on.
type reporter struct {
	out      io.Writer
	terminal bool
	stop     chan struct{}
	stopped  sync.WaitGroup

	mu    sync.Mutex
	now   progress
	begin time.Time
}

func newReporter(out io.Writer) *reporter {
	r := &reporter{out: out, terminal: isTerminal(out), stop: make(chan struct{})}
	interval := pipeInterval
	if r.terminal {
		interval = terminalInterval
	}
	r.stopped.Go(func() { r.run(interval) })
	return r
}

func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (r *reporter) run(interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-ticker.C:
			r.mu.Lock()
			r.print()
			r.mu.Unlock()
		}
	}
}

// close ends the reports.
func (r *reporter) close() {
	close(r.stop)
	r.stopped.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endLine()
}

// phase begins a piece of work of so many units; 0: nobody knows.
func (r *reporter) phase(text, unit string, total int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endLine()
	r.now, r.begin = progress{unit: unit, total: total}, time.Now()
	r.tell(text)
}

// rename changes what the phase says of itself.
func (r *reporter) rename(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell(text)
}

// add tells that so many more units are done.
func (r *reporter) add(units int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.done += units
}

// note prints a line that stays.
func (r *reporter) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endLine()
	r.now = progress{}
	fmt.Fprintf(r.out, format+"\n", args...)
}

// The rest is called with the lock held.

func (r *reporter) tell(text string) {
	r.now.text = text
	r.print()
}

func (r *reporter) print() {
	if r.now.text == "" {
		return
	}
	r.now.elapsed = time.Since(r.begin)
	if r.terminal {
		// Back to the first column, write, and clear what an earlier, longer
		// line left.
		fmt.Fprintf(r.out, "\r%s\x1b[K", r.now.line())
		return
	}
	fmt.Fprintln(r.out, r.now.line())
}

// endLine leaves the terminal's line as it last was and goes to the next.
func (r *reporter) endLine() {
	if r.terminal && r.now.text != "" {
		r.print()
		fmt.Fprintln(r.out)
	}
	r.now = progress{}
}
