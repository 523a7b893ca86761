package openapitest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// change is an operation of JSON Patch: add, replace or remove.
type change struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
	// Why tells what in life differs.
	Why string `json:"why"`
}

// apply changes a decoded JSON document in place.
func apply(document any, changes []change) error {
	for _, c := range changes {
		if err := c.apply(document); err != nil {
			return fmt.Errorf("%s %s: %w", c.Op, c.Path, err)
		}
	}
	return nil
}

func (c change) apply(document any) error {
	segments := strings.Split(c.Path, "/")
	if len(segments) < 2 || segments[0] != "" {
		return fmt.Errorf("not a pointer to a member")
	}
	last := len(segments) - 1
	parent := document
	for _, s := range segments[1:last] {
		next, err := child(parent, unescape(s))
		if err != nil {
			return err
		}
		parent = next
	}
	return c.set(parent, unescape(segments[last]))
}

// set changes one member of an object. Arrays are walked through, their length
// stays.
func (c change) set(parent any, name string) error {
	object, ok := parent.(map[string]any)
	if !ok {
		return fmt.Errorf("the parent is no object")
	}
	_, exists := object[name]
	if !exists && c.Op != "add" {
		return fmt.Errorf("no member %q among %q", name, slices.Sorted(maps.Keys(object)))
	}
	switch c.Op {
	case "add", "replace":
		object[name] = c.Value
	case "remove":
		delete(object, name)
	default:
		return fmt.Errorf("unknown operation")
	}
	return nil
}

func child(parent any, name string) (any, error) {
	switch p := parent.(type) {
	case map[string]any:
		if v, ok := p[name]; ok {
			return v, nil
		}
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(p) {
			return p[i], nil
		}
	}
	return nil, fmt.Errorf("nothing at %q", name)
}

func unescape(segment string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
}
