package loadbalancer

import (
	"fmt"
	"slices"
	"strings"
)

// ChangeKind tells how a change can be made.
type ChangeKind string

const (
	// ChangeSettings needs the load balancer to be written as a whole.
	ChangeSettings ChangeKind = "settings"
	// ChangeDroplets can be made by adding or removing droplets.
	ChangeDroplets ChangeKind = "droplets"
	// ChangeImmutable can't be made: it needs another load balancer.
	ChangeImmutable ChangeKind = "immutable"
)

// Change is one difference between a load balancer and what it must be.
type Change struct {
	Kind  ChangeKind
	Field string
	Text  string
}

// String is the change as people read it.
func (c Change) String() string { return c.Field + " " + c.Text }

// Diff lists what must change for actual to be as desired. It is empty when
// they agree.
func Diff(desired, actual Settings) []Change {
	var d differ
	d.scalar(ChangeImmutable, "type", actual.Type, desired.Type)
	d.scalar(ChangeImmutable, "network", actual.Network, desired.Network)
	d.scalar(ChangeImmutable, "region", actual.Region, desired.Region)
	if desired.VPC != "" {
		d.scalar(ChangeImmutable, "VPC", actual.VPC, desired.VPC)
	}
	// The network stack follows the nodes until the load balancer exists;
	// afterwards it can't be changed and nothing is gained by saying so each
	// time a node joins.
	d.scalar(ChangeSettings, "name", actual.Name, desired.Name)
	d.scalar(ChangeSettings, "size unit", actual.SizeUnit, desired.SizeUnit)
	d.scalar(ChangeSettings, "health check", actual.HealthCheck.String(), desired.HealthCheck.String())
	addSet(&d, ChangeSettings, "forwarding rules", desired.ForwardingRules, actual.ForwardingRules, ForwardingRule.String)
	droplets := len(d.changes)
	addSet(&d, ChangeDroplets, "droplets", desired.DropletIDs, actual.DropletIDs, func(id int) string { return fmt.Sprint(id) })
	if len(d.changes) > droplets {
		d.changes[droplets].Text += fmt.Sprintf(" (%d now)", len(desired.DropletIDs))
	}
	return d.changes
}

// Split returns what is missing from actual, and what is in it but should not
// be.
func Split[T comparable](desired, actual []T) (add, remove []T) {
	for _, v := range desired {
		if !slices.Contains(actual, v) {
			add = append(add, v)
		}
	}
	for _, v := range actual {
		if !slices.Contains(desired, v) {
			remove = append(remove, v)
		}
	}
	return add, remove
}

type differ struct{ changes []Change }

func (d *differ) scalar(kind ChangeKind, field string, actual, desired any) {
	if actual != desired {
		d.changes = append(d.changes, Change{kind, field, fmt.Sprintf("%v -> %v", actual, desired)})
	}
}

func addSet[T comparable](d *differ, kind ChangeKind, field string, desired, actual []T, text func(T) string) {
	add, remove := Split(desired, actual)
	if len(add)+len(remove) == 0 {
		return
	}
	var parts []string
	for _, v := range add {
		parts = append(parts, "+"+text(v))
	}
	for _, v := range remove {
		parts = append(parts, "-"+text(v))
	}
	d.changes = append(d.changes, Change{kind, field, strings.Join(parts, " ")})
}

// Of returns the changes of one kind.
func Of(kind ChangeKind, changes []Change) []Change {
	var of []Change
	for _, c := range changes {
		if c.Kind == kind {
			of = append(of, c)
		}
	}
	return of
}

// Describe joins changes into one line.
func Describe(changes []Change) string {
	texts := make([]string, len(changes))
	for i, c := range changes {
		texts[i] = c.String()
	}
	return strings.Join(texts, "; ")
}
