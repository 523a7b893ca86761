package lint

import (
	"encoding/json"
	"fmt"
	"io"
)

// colours of severities on a terminal.
var colours = map[Severity]string{Error: "\x1b[31m", Warning: "\x1b[33m", Note: "\x1b[36m"}

const colourOff = "\x1b[0m"

// WriteText writes a line for each finding, with colours where the reader is a
// terminal.
func (r Report) WriteText(w io.Writer, colour bool) error {
	for _, f := range r.Findings {
		line := f.String()
		if colour {
			severity := ""
			if f.Severity != Error {
				severity = string(f.Severity) + ": "
			}
			line = fmt.Sprintf("\x1b[1m%s:%d:%s %s%s%s%s: %s", f.File, f.Line, colourOff, colours[f.Severity], severity, f.Field, colourOff, f.Message)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return fmt.Errorf("write findings: %w", err)
		}
	}
	return nil
}

// WriteJSON writes one object with the findings and the counts.
func (r Report) WriteJSON(w io.Writer) error {
	findings := r.Findings
	if findings == nil {
		findings = []Finding{} // an empty list rather than null
	}
	return writeJSON(w, struct {
		Findings []Finding `json:"findings"`
		Services int       `json:"services"`
		Errors   int       `json:"errors"`
		Warnings int       `json:"warnings"`
	}{findings, r.Services, r.Count(Error), r.Count(Warning)})
}

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write findings: %w", err)
	}
	return nil
}

// Summary counts for people.
func (r Report) Summary() string {
	if r.Services == 0 && len(r.Findings) == 0 {
		return "no Service of type LoadBalancer"
	}
	return fmt.Sprintf("%s and %s in %s of type LoadBalancer",
		count(r.Count(Error), "error"), count(r.Count(Warning), "warning"), count(r.Services, "Service"))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
