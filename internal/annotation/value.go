package annotation

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Problem is one annotation, or one field of a Service, that can't be used.
type Problem struct {
	// Field is the annotation's key, or the path of a field such as
	// spec.ports[0].protocol.
	Field string
	// Value is what was found.
	Value string
	// Allowed says what is allowed instead.
	Allowed string
}

// String is one line for people.
func (p Problem) String() string {
	return fmt.Sprintf("%s: %q is not valid: %s", p.Field, p.Value, p.Allowed)
}

var (
	uuidPattern = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	namePattern = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9.])?$`)
)

const maxNameLength = 255

// check reports why value is not one that the annotation takes, or "".
func (d Definition) check(value string) string {
	switch d.Kind {
	case KindUUID:
		if !uuidPattern.MatchString(value) {
			return "must be a load balancer's id, a UUID; its name goes into the annotation " + Name
		}
	case KindName:
		if len(value) > maxNameLength || !namePattern.MatchString(value) {
			return "must start with a letter or digit, go on with letters, digits, '.' and '-', not end in '-', and have at most 255 characters"
		}
	case KindEnum:
		if !slices.Contains(d.Values, value) {
			return "must be " + strings.Join(d.Values, " or ")
		}
	case KindBool:
		if _, err := strconv.ParseBool(value); err != nil {
			return `must be "true" or "false"`
		}
	case KindInt:
		if n, err := strconv.Atoi(value); err != nil || n < d.Min || n > d.Max {
			return fmt.Sprintf("must be a whole number from %d to %d", d.Min, d.Max)
		}
	}
	return ""
}
