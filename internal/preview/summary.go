package preview

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/internal/loadbalancer/reconciler"
)

// Summary counts load balancers by what becomes of them.
type Summary struct {
	Create    int `json:"create"`
	Change    int `json:"change"`
	Destroy   int `json:"destroy"`
	Refused   int `json:"refused"`
	Waiting   int `json:"waiting"`
	Unchanged int `json:"unchanged"`
}

// Count sums entries up. One that is replaced is both made and destroyed.
func Count(entries []Entry) Summary {
	var s Summary
	for _, e := range entries {
		switch e.Action {
		case reconciler.ActionCreate:
			s.Create++
		case reconciler.ActionUpdate, reconciler.ActionRetain, reconciler.ActionRelease:
			s.Change++
		case reconciler.ActionReplace:
			s.Create++
			s.Destroy++
		case reconciler.ActionDelete:
			s.Destroy++
		case reconciler.ActionRefuse:
			s.Refused++
		case reconciler.ActionWait:
			s.Waiting++
		case reconciler.ActionNone:
			s.Unchanged++
		}
	}
	return s
}

// Changes tells whether anything would be written to DigitalOcean.
func (s Summary) Changes() bool { return s.Create+s.Change+s.Destroy > 0 }

// String sums up in a line for people.
func (s Summary) String() string {
	if !s.Changes() && s.Refused+s.Waiting == 0 {
		return fmt.Sprintf("No changes. Load balancers as they should be: %d.", s.Unchanged)
	}
	parts := []string{fmt.Sprintf("Plan: %d to create, %d to change, %d to destroy", s.Create, s.Change, s.Destroy)}
	for _, more := range []struct {
		n    int
		what string
	}{{s.Refused, "refused"}, {s.Waiting, "being made"}, {s.Unchanged, "unchanged"}} {
		if more.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", more.n, more.what))
		}
	}
	return strings.Join(parts, "; ") + "."
}

type jsonChange struct {
	Field string `json:"field"`
	Kind  string `json:"kind"`
	Text  string `json:"text"`
}

type jsonProblem struct {
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

type jsonEntry struct {
	Service      string            `json:"service"`
	Action       reconciler.Action `json:"action"`
	ID           string            `json:"loadBalancerID,omitempty"`
	Name         string            `json:"loadBalancerName,omitempty"`
	Create       []string          `json:"create,omitempty"`
	Changes      []jsonChange      `json:"changes,omitempty"`
	Left         []jsonChange      `json:"left,omitempty"`
	Problems     []jsonProblem     `json:"problems,omitempty"`
	FirstContact bool              `json:"firstContact,omitempty"`
	TakenOver    bool              `json:"takenOver,omitempty"`
	Disowned     bool              `json:"disowned,omitempty"`
	DryRun       bool              `json:"dryRun,omitempty"`
	Notes        []Note            `json:"notes,omitempty"`
}

// WriteJSON writes what would become of Services as one object.
func WriteJSON(w io.Writer, entries []Entry) error {
	all := make([]jsonEntry, len(entries))
	for i := range entries {
		all[i] = entries[i].json()
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(struct {
		Services []jsonEntry `json:"services"`
		Summary  Summary     `json:"summary"`
	}{all, Count(entries)}); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return nil
}

func (e *Entry) json() jsonEntry {
	j := jsonEntry{
		Service: e.Service, Action: e.Action, Changes: changesOf(e.Changes), Left: changesOf(e.Left), Notes: e.Notes,
		FirstContact: e.FirstContact, TakenOver: e.TakenOver, Disowned: e.Disowned, DryRun: e.DryRun,
	}
	if e.LoadBalancer != nil {
		j.ID, j.Name = e.LoadBalancer.ID, e.LoadBalancer.Name
	}
	if e.Action == reconciler.ActionCreate {
		parts := e.creation()
		j.Name, j.Create = parts[0], parts[1:]
	}
	for _, p := range e.Problems {
		j.Problems = append(j.Problems, jsonProblem{p.Field, strings.TrimPrefix(p.String(), p.Field+": ")})
	}
	if e.Refusal != nil {
		j.Problems = append(j.Problems, jsonProblem{Message: e.Refusal.Error()})
	}
	return j
}

func changesOf(changes []loadbalancer.Change) []jsonChange {
	var all []jsonChange
	for _, c := range changes {
		all = append(all, jsonChange{c.Field, string(c.Kind), c.Text})
	}
	return all
}
