package sandbox

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Colours of a terminal.
const (
	dim    = "\x1b[2m"
	yellow = "\x1b[33m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

// printer tells a person what happens and when.
type printer struct {
	out    io.Writer
	colour bool
	begin  time.Time
}

func newPrinter(out io.Writer) *printer {
	f, ok := out.(*os.File)
	return &printer{out: out, colour: ok && term.IsTerminal(int(f.Fd())), begin: time.Now()}
}

// step prints a line with the time since the beginning.
func (p *printer) step(format string, args ...any) {
	p.line(p.paint(dim, p.elapsed()), fmt.Sprintf(format, args...))
}

func (p *printer) sight(s sight) {
	if s.warning {
		p.line(p.paint(dim, p.elapsed()), p.paint(yellow, s.text))
		return
	}
	p.step("%s: %s", s.key, s.text)
}

func (p *printer) line(elapsed, text string) { fmt.Fprintf(p.out, "%s  %s\n", elapsed, text) }

// text prints as it is.
func (p *printer) text(s string) { fmt.Fprint(p.out, s) }

func (p *printer) elapsed() string {
	return fmt.Sprintf("%6.1fs", time.Since(p.begin).Seconds())
}

func (p *printer) paint(colour, s string) string {
	if !p.colour {
		return s
	}
	return colour + s + plain
}
