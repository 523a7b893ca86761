package annotation

import (
	"cmp"
	"fmt"
	"iter"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"

	"digitalocean-cloud-controller-manager/internal/nearest"
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
	return fmt.Sprintf("%s: %q is not valid: %s", p.Field, shorten(p.Value), p.Allowed)
}

// shorten keeps a value from filling an event, which takes 1024 bytes.
func shorten(value string) string {
	const most = 100
	if runes := []rune(value); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return value
}

const (
	minPort, maxPort = 1, 65535
	maxNameLength    = 255
	maxPathLength    = 1024
)

// cookieMarks are what a cookie's name may have beside letters and digits: it is
// a token, as RFC 6265 has it.
const cookieMarks = "!#$%&'*+-.^_`|~"

var (
	uuidPattern   = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	namePattern   = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9.])?$`)
	pathPattern   = regexp.MustCompile(`^/[!-~]*$`)
	cookiePattern = regexp.MustCompile("^[a-zA-Z0-9" + strings.ReplaceAll(regexp.QuoteMeta(cookieMarks), "-", `\-`) + "]+$")
)

// check reports why value is not one that the annotation takes, or "".
func (d Definition) check(value string) string {
	valid, ok := checks[d.Kind]
	if !ok || valid(d, value) {
		return ""
	}
	allowed := "must be " + d.describe()
	if entry, ok := d.firstBad(value); ok {
		allowed += fmt.Sprintf("; %q is none", shorten(entry))
		if near := nearest.Of(entry, d.entriesAllowed()); near != "" {
			allowed += ": is " + near + " meant?"
		}
	}
	if d.Hint != "" {
		allowed += "; " + d.Hint
	}
	return allowed
}

var checks = map[Kind]func(Definition, string) bool{
	KindUUID: func(_ Definition, v string) bool { return uuidPattern.MatchString(v) },
	KindName: func(_ Definition, v string) bool { return len(v) <= maxNameLength && namePattern.MatchString(v) },
	KindEnum: func(d Definition, v string) bool { return slices.Contains(d.Values, v) },
	KindBool: func(_ Definition, v string) bool { _, err := strconv.ParseBool(v); return err == nil },
	KindInt: func(d Definition, v string) bool {
		n, err := strconv.Atoi(v)
		return err == nil && d.within(n)
	},
	KindText: func(d Definition, v string) bool {
		return d.within(len(v)) && strings.TrimSpace(v) == v && !strings.ContainsFunc(v, unicode.IsControl)
	},
	KindCookie:   func(d Definition, v string) bool { return d.within(len(v)) && cookiePattern.MatchString(v) },
	KindPath:     func(_ Definition, v string) bool { return len(v) <= maxPathLength && pathPattern.MatchString(v) },
	KindHost:     func(_ Definition, v string) bool { return isHost(strings.ToLower(v)) },
	KindIPv4:     func(_ Definition, v string) bool { ip, err := netip.ParseAddr(v); return err == nil && ip.Is4() },
	KindPorts:    func(_ Definition, v string) bool { _, ok := parsePorts(v); return ok },
	KindSelector: func(_ Definition, v string) bool { return isSelector(v) },
	KindDrift:    func(_ Definition, v string) bool { _, ok := parseDrift(v); return ok },
	KindSources:  func(_ Definition, v string) bool { _, err := parseSources(v); return err == nil },
}

// entriesAllowed are the entries that a list may have, where they are words.
func (d Definition) entriesAllowed() []string {
	if d.Kind == KindDrift {
		return DriftFields
	}
	return nil
}

// firstBad returns the entry of a list that isn't valid, for people.
func (d Definition) firstBad(value string) (string, bool) {
	if d.Kind == KindDrift {
		list, isList := strings.CutPrefix(value, driftIgnore)
		for field := range entries(list) {
			if isList && !slices.Contains(DriftFields, field) {
				return field, true
			}
		}
		return "", false
	}
	if d.Kind != KindPorts && d.Kind != KindSources {
		return "", false
	}
	for entry := range entries(value) {
		if !checks[d.Kind](d, entry) {
			return entry, true
		}
	}
	return "", false // a list without entries
}

func (d Definition) within(n int) bool {
	return n >= d.Min && (d.Max == 0 || n <= d.Max)
}

// isHost tells whether the API server takes a host name in a Service's status.
func isHost(name string) bool {
	_, err := netip.ParseAddr(name)
	return err != nil && len(validation.IsDNS1123Subdomain(name)) == 0
}

// describe says what the annotation takes.
func (d Definition) describe() string {
	switch d.Kind {
	case KindUUID:
		return "a UUID"
	case KindName:
		return fmt.Sprintf("letters, digits, '.' and '-', starting with a letter or digit, not ending in '-', at most %d characters", maxNameLength)
	case KindEnum:
		return alternatives(d.Values)
	case KindBool:
		return "true or false"
	case KindInt:
		return d.describeInt()
	case KindText:
		return fmt.Sprintf("text of %d to %d bytes without control characters or blanks around it", d.Min, d.Max)
	case KindCookie:
		return fmt.Sprintf("a cookie's name of %d to %d letters, digits or any of %s", d.Min, d.Max, cookieMarks)
	case KindPath:
		return fmt.Sprintf("a path that begins with '/', of at most %d ASCII characters without blanks", maxPathLength)
	case KindHost:
		return "a host name of letters, digits, '-' and '.' (an RFC 1123 subdomain, neither a wildcard nor an address), at most 253 characters"
	case KindIPv4:
		return "an IPv4 address"
	case KindSelector:
		return "a label selector such as pool=edge or pool in (edge,web),!spot"
	case KindDrift:
		return fmt.Sprintf("%s, %s, or %s and a list of %s", DriftRevert, DriftReport, driftIgnore, alternatives(DriftFields))
	case KindPorts:
		return fmt.Sprintf("port numbers from %d to %d, separated by commas", minPort, maxPort)
	case KindSources:
		return "sources such as ip:203.0.113.7, cidr:198.51.100.0/24 or cidr:2001:db8::/32, separated by commas"
	default:
		return string(d.Kind)
	}
}

func (d Definition) describeInt() string {
	text := fmt.Sprintf("a whole number from %d to %d", d.Min, d.Max)
	if d.Max == 0 {
		text = fmt.Sprintf("a whole number of at least %d", d.Min)
	}
	if d.Unit != "" {
		text += " (" + d.Unit + ", without a unit)"
	}
	return text
}

// alternatives lists values for people.
func alternatives(values []string) string {
	if len(values) < 2 {
		return strings.Join(values, "")
	}
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// parsePorts reads a list of ports. Blanks, empty entries and duplicates are
// forgiven; a list without any port is not.
func parsePorts(value string) (ports []int, ok bool) {
	for entry := range entries(value) {
		n, err := strconv.Atoi(entry)
		if err != nil || n < minPort || n > maxPort {
			return nil, false
		}
		ports = append(ports, n)
	}
	return set(ports), len(ports) > 0
}

// entries yields the entries of a list, without blanks and empty ones.
func entries(list string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for entry := range strings.SplitSeq(list, ",") {
			if entry = strings.TrimSpace(entry); entry != "" && !yield(entry) {
				return
			}
		}
	}
}

// set returns the values sorted and without duplicates; nil for none.
func set[T cmp.Ordered](values []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(values)))
}
