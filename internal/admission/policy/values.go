package policy

import (
	"fmt"
	"strconv"
	"strings"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// Bounds that no definition states, as they are of the kind.
const (
	maxName = 255
	maxPath = 1024
	maxHost = 253
	maxPort = 65535
)

// driftIgnore begins a list of fields that are left to others.
const driftIgnore = "ignore:"

// integer is what Go's Atoi takes, up to what CEL's int does.
const integer = `^[+-]?0*[0-9]{1,18}$`

// valid is a CEL expression of the string v that is true where the annotation
// takes it, or "" where it takes anything.
func valid(d annotation.Definition, v string) string {
	switch d.Kind {
	case annotation.KindUUID:
		return matches(v, `^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	case annotation.KindName:
		return sized(v, 1, maxName) + " && " + matches(v, `^[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9.])?$`)
	case annotation.KindEnum:
		return v + " in " + list(d.Values)
	case annotation.KindBool:
		return v + " in " + list([]string{"1", "t", "T", "true", "TRUE", "True", "0", "f", "F", "false", "FALSE", "False"})
	case annotation.KindInt:
		return number(v, d.Min, d.Max)
	case annotation.KindText:
		return sized("bytes("+v+")", d.Min, d.Max) + " && " + v + ".trim() == " + v + " && !" + matches(v, `\p{Cc}`)
	case annotation.KindCookie:
		return sized(v, d.Min, d.Max) + " && " + matches(v, "^[a-zA-Z0-9!#$%&'*+.^_`|~-]+$")
	case annotation.KindPath:
		return sized(v, 1, maxPath) + " && " + matches(v, `^/[!-~]*$`)
	case annotation.KindHost:
		return "!isIP(" + v + ") && " + sized(v, 1, maxHost) + " && " + matches(v+".lowerAscii()", `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	case annotation.KindIPv4:
		return "isIP(" + v + ") && ip(" + v + ").family() == 4"
	case annotation.KindPorts:
		return every(v, number("e", 1, maxPort))
	case annotation.KindSources:
		return every(v, source("e"))
	case annotation.KindDrift:
		fields := "e in " + list(annotation.DriftFields)
		return v + " in " + list([]string{annotation.DriftRevert, annotation.DriftReport}) +
			" || " + v + ".startsWith(" + quote(driftIgnore) + ") && " + every(v+fmt.Sprintf(".substring(%d)", len(driftIgnore)), fields)
	default:
		return "" // a syntax that CEL can't read: the manager tells
	}
}

// entries is a CEL expression of the list in v without blanks and empty entries.
func entries(v string) string {
	return v + `.split(",").map(e, e.trim()).filter(e, e != "")`
}

// every is true where the list has entries and each one satisfies a condition of
// e.
func every(v, condition string) string {
	return entries(v) + ".size() > 0 && " + entries(v) + ".all(e, " + condition + ")"
}

// source lets IPv4 addresses in IPv6's clothes pass, which CEL can't read.
func source(e string) string {
	address, prefix := e+".substring(3).trim()", e+".substring(5).trim()"
	mapped := func(text string) string { return matches(text+".lowerAscii()", `^[0:]*:ffff:[0-9a-f.:]+(/[0-9]+)?$`) }
	return fmt.Sprintf(`(%[1]s.startsWith("ip:") ? isIP(%[2]s) || %[3]s : %[1]s.startsWith("cidr:") && (isCIDR(%[4]s) || %[5]s))`,
		e, address, mapped(address), prefix, mapped(prefix))
}

func number(v string, least, most int) string {
	text := matches(v, integer) + fmt.Sprintf(" && int(%s) >= %d", v, least)
	if most > 0 {
		text += fmt.Sprintf(" && int(%s) <= %d", v, most)
	}
	return text
}

func sized(v string, least, most int) string {
	text := fmt.Sprintf("size(%s) >= %d", v, least)
	if most > 0 {
		text += fmt.Sprintf(" && size(%s) <= %d", v, most)
	}
	return text
}

func matches(v, pattern string) string { return v + ".matches(" + quote(pattern) + ")" }

func list(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = quote(v)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// quote writes a string as CEL reads it; Go's form is the same for what is used
// here.
func quote(s string) string { return strconv.Quote(s) }
