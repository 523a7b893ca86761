package firewall

import (
	"fmt"
	"slices"
	"strings"
)

// Change is one difference between a firewall and what it must be.
type Change struct {
	// Removes is true for something of the firewall's that is not wanted.
	Removes bool
	// Text is the change for people.
	Text string
}

// Diff lists what must change for actual to be as desired: the name, the tags,
// and what is admitted, whatever rules say it. It is empty when they agree.
func Diff(desired, actual State) []Change {
	var changes []Change
	if desired.Name != actual.Name {
		changes = append(changes, Change{true, fmt.Sprintf("name %q -> %q", actual.Name, desired.Name)})
	}
	for _, tag := range desired.tags {
		if !slices.Contains(actual.tags, tag) {
			changes = append(changes, Change{false, "+target tag " + tag})
		}
	}
	for _, tag := range actual.tags {
		if !slices.Contains(desired.tags, tag) {
			changes = append(changes, Change{true, "-target tag " + tag})
		}
	}
	for _, r := range desired.access.minus(actual.access).rules() {
		changes = append(changes, Change{false, "+" + r.String()})
	}
	for _, r := range actual.access.minus(desired.access).rules() {
		changes = append(changes, Change{true, "-" + r.String()})
	}
	return changes
}

// Equal tells whether two firewalls admit the same to the same droplets, by the
// same name.
func Equal(a, b State) bool { return len(Diff(a, b)) == 0 }

func removes(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Removes })
}

// maxDescription keeps an event, which takes 1024 bytes, readable.
const maxDescription = 600

// Describe joins changes into one line of bounded length.
func Describe(changes []Change) string {
	var b strings.Builder
	for i, c := range changes {
		if i > 0 && b.Len()+len(c.Text) > maxDescription {
			fmt.Fprintf(&b, " and %d more changes", len(changes)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.Text)
	}
	return b.String()
}
