package preview

import (
	"fmt"
	"io"
	"strings"

	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/loadbalancer/reconciler"
)

// sign begins a line: what happens to what the line tells.
type sign string

const (
	signAdd    sign = "+"
	signChange sign = "~"
	signRemove sign = "-"
	signRefuse sign = "!"
	signNote   sign = "#"
)

// colours of lines on a terminal.
var colours = map[sign]string{signAdd: "\x1b[32m", signChange: "\x1b[33m", signRemove: "\x1b[31m", signRefuse: "\x1b[31m", signNote: "\x1b[36m"}

const (
	bold      = "\x1b[1m"
	colourOff = "\x1b[0m"
	// unknown stands for what DigitalOcean or Kubernetes choose.
	unknown = "(known after apply)"
)

type line struct {
	sign sign
	text string
}

// TextOptions say how entries are written for people.
type TextOptions struct {
	// Colour is for terminals.
	Colour bool
	// Unchanged shows those as well of which nothing changes; else they are
	// counted.
	Unchanged bool
}

// WriteText writes what would become of Services, for people.
func WriteText(w io.Writer, entries []Entry, o TextOptions) error {
	var b strings.Builder
	for _, e := range entries {
		lines := e.lines()
		if e.Action == reconciler.ActionNone && len(lines) == 0 && !o.Unchanged {
			continue
		}
		title := e.title()
		if o.Colour {
			title = bold + title + colourOff
		}
		fmt.Fprintln(&b, title)
		for _, l := range lines {
			text := fmt.Sprintf("  %s %s", l.sign, l.text)
			if o.Colour {
				text = colours[l.sign] + text + colourOff
			}
			fmt.Fprintln(&b, text)
		}
		b.WriteString("\n")
	}
	b.WriteString(Count(entries).String() + "\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return nil
}

// balancer names the load balancer for people.
func (e *Entry) balancer() string {
	return fmt.Sprintf("load balancer %s (%s)", e.LoadBalancer.Name, e.LoadBalancer.ID)
}

// title says in a line what becomes of the Service's load balancer.
func (e *Entry) title() string {
	says := ""
	switch e.Action {
	case reconciler.ActionCreate:
		says = "a load balancer will be created"
	case reconciler.ActionUpdate:
		says = e.balancer() + " will be changed in place"
	case reconciler.ActionReplace:
		says = e.balancer() + " will be replaced, as DigitalOcean failed to make it"
	case reconciler.ActionDelete:
		says = e.balancer() + " will be deleted"
	case reconciler.ActionRetain:
		says = e.balancer() + " will be kept, and belong to nothing"
	case reconciler.ActionRelease:
		says = e.balancer() + " will lose the cluster's droplets, and stay"
	case reconciler.ActionWait:
		says = e.balancer() + " is being made by DigitalOcean"
	case reconciler.ActionRefuse:
		says = "refused"
	case reconciler.ActionNone:
		says = e.still()
	}
	return e.Service + ": " + says
}

func (e *Entry) still() string {
	switch {
	case e.Disowned:
		return "left alone, as it is disowned"
	case !e.Ours:
		return "is not the manager's, as it is of another type or class"
	case e.LoadBalancer == nil:
		return "nothing to do"
	}
	return e.balancer() + " is as the Service wants it"
}

// lines are what is to be said below the title.
func (e *Entry) lines() []line {
	var lines []line
	add := func(s sign, format string, args ...any) { lines = append(lines, line{s, fmt.Sprintf(format, args...)}) }
	if e.Action == reconciler.ActionCreate {
		for i, text := range e.creation() {
			if i == 0 {
				text = "name " + text
			}
			add(signAdd, "%s", text)
		}
	}
	if e.Action == reconciler.ActionDelete {
		add(signRemove, "%s, address %s", e.balancer(), e.LoadBalancer.IP)
	}
	for _, p := range e.Problems {
		add(signRefuse, "%s", p.String())
	}
	if e.Refusal != nil {
		add(signRefuse, "%s", e.Refusal)
	}
	for _, c := range e.Changes {
		if c.Kind == loadbalancer.ChangeImmutable {
			add(signRefuse, "%s: %s  # can't be changed on a load balancer that exists: take it back, or delete and re-create the Service, for another address", c.Field, c.Text)
		} else {
			add(signChange, "%s: %s", c.Field, c.Text)
		}
	}
	for _, c := range e.Left {
		add(signNote, "left to others: %s: %s", c.Field, c.Text)
	}
	for _, text := range e.remarks() {
		add(signNote, "%s", text)
	}
	return lines
}

// creation lists what the new load balancer is, its name first.
func (e *Entry) creation() []string {
	name := e.Desired.Name
	if e.Unborn && name == e.defaultName {
		name = unknown // it is made of the UID
	}
	return append([]string{name}, loadbalancer.PlanCreate(e.Desired)[1:]...)
}

// remarks are what else there is to know.
func (e *Entry) remarks() []string {
	var texts []string
	if e.DryRun {
		texts = append(texts, "the Service asks for a dry run: nothing of this is done until that annotation goes")
	}
	if e.FirstContact && len(e.Changes) > 0 && e.Action == reconciler.ActionUpdate {
		what := "settings are changed"
		if e.TakenOver {
			what = "it is taken over, and changed,"
		}
		texts = append(texts, "this manager never worked on it: "+what+" no earlier than a drift period after it starts")
	}
	for _, n := range e.Notes {
		texts = append(texts, n.Reason+": "+n.Message)
	}
	return texts
}
