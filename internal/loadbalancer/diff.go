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
	Kind ChangeKind
	// Field is one of the constants FieldName and so on.
	Field string
	// Text is the change for people: what is, and what is to be.
	Text string
}

// String is the change as people read it.
func (c Change) String() string { return c.Field + " " + c.Text }

// Diff lists what must change for actual to be as desired. It is empty when
// they agree.
//
// With another type it lists only what can't be changed: everything else is
// desired of a load balancer of that other type, and would break the one that
// exists. For the same reason droplets are no difference with another network.
func Diff(desired, actual Settings) []Change {
	var d differ
	d.immutable(desired, actual)
	if desired.Type != actual.Type {
		return d.changes
	}
	d.scalar(ChangeSettings, FieldName, actual.Name, desired.Name)
	d.scalar(ChangeSettings, FieldSize, actual.SizeUnit, desired.SizeUnit)
	d.rules(desired.ForwardingRules, actual.ForwardingRules)
	d.healthCheck(desired, actual)
	d.scalar(ChangeSettings, FieldStickySessions, actual.StickySessions, desired.StickySessions)
	d.scalar(ChangeSettings, FieldRedirect, actual.RedirectHTTPToHTTPS, desired.RedirectHTTPToHTTPS)
	d.scalar(ChangeSettings, FieldProxyProtocol, actual.EnableProxyProtocol, desired.EnableProxyProtocol)
	d.scalar(ChangeSettings, FieldBackendKeepalive, actual.EnableBackendKeepalive, desired.EnableBackendKeepalive)
	d.scalar(ChangeSettings, FieldDisableDNSRecords, actual.DisableLetsEncryptDNSRecords, desired.DisableLetsEncryptDNSRecords)
	d.scalar(ChangeSettings, FieldHTTPIdleTimeout, seconds(actual.HTTPIdleTimeoutSeconds), seconds(desired.HTTPIdleTimeoutSeconds))
	if desired.TLSCipherPolicy != "" {
		d.scalar(ChangeSettings, FieldTLSCipherPolicy, actual.TLSCipherPolicy, desired.TLSCipherPolicy)
	}
	d.set(FieldAllowedSources, desired.AllowRules, actual.AllowRules)
	d.set(FieldDeniedSources, desired.DenyRules, actual.DenyRules)
	d.backends(desired, actual)
	return d.changes
}

// Split returns what is missing from actual, and what is in it but should not
// be.
func Split[T comparable](desired, actual []T) (add, remove []T) {
	return missing(desired, actual), missing(actual, desired)
}

// missing returns the values that are not among others.
func missing[T comparable](values, others []T) []T {
	if slices.Equal(values, others) {
		return nil // most often, with thousands of them
	}
	known := make(map[T]bool, len(others))
	for _, v := range others {
		known[v] = true
	}
	var m []T
	for _, v := range values {
		if !known[v] {
			m = append(m, v)
		}
	}
	return m
}

type differ struct{ changes []Change }

func (d *differ) add(kind ChangeKind, field, text string) {
	d.changes = append(d.changes, Change{kind, field, text})
}

func (d *differ) scalar(kind ChangeKind, field string, actual, desired any) {
	if actual != desired {
		d.add(kind, field, fmt.Sprintf("%v -> %v", actual, desired))
	}
}

// immutable compares what is fixed at creation. What nobody asks for may be
// anything.
func (d *differ) immutable(desired, actual Settings) {
	asked := func(field, actual, desired string) {
		if desired != "" {
			d.scalar(ChangeImmutable, field, orNone(actual), desired)
		}
	}
	d.scalar(ChangeImmutable, FieldType, actual.Type, desired.Type)
	d.scalar(ChangeImmutable, FieldNetwork, actual.Network, desired.Network)
	if !desired.StackAutomatic {
		asked(FieldNetworkStack, actual.NetworkStack, desired.NetworkStack)
	}
	asked(FieldSubnet, actual.SubnetUUID, desired.SubnetUUID)
	for _, f := range []struct{ name, actual, desired string }{
		{FieldRegion, actual.Region, desired.Region},
		{FieldVPC, actual.VPC, desired.VPC},
		{FieldIP, actual.IP, desired.IP},
	} {
		// Every load balancer has these, sooner or later: what isn't shown is
		// not known.
		if f.actual != "" {
			asked(f.name, f.actual, f.desired)
		}
	}
}

func (d *differ) set(field string, desired, actual []string) {
	if text := plusMinus(Split(desired, actual)); text != "" {
		d.add(ChangeSettings, field, text)
	}
}

// rules compares forwarding rules as a set. Where the certificate alone differs,
// as after a renewal, that is what is told.
func (d *differ) rules(desired, actual []ForwardingRule) {
	add, remove := Split(desired, actual)
	var texts []string
	for i := 0; i < len(add); {
		j := slices.IndexFunc(remove, func(r ForwardingRule) bool {
			r.CertificateID = add[i].CertificateID
			return r == add[i]
		})
		if j < 0 {
			i++
			continue
		}
		texts = append(texts, fmt.Sprintf("%s:%d certificate %s -> %s", add[i].EntryProtocol, add[i].EntryPort, orNone(remove[j].CertificateID), orNone(add[i].CertificateID)))
		add, remove = slices.Delete(add, i, i+1), slices.Delete(remove, j, j+1)
	}
	if text := plusMinus(add, remove); text != "" {
		texts = append(texts, text)
	}
	if len(texts) > 0 {
		d.add(ChangeSettings, FieldForwardingRules, strings.Join(texts, ", "))
	}
}

// healthCheck compares what probes do. Whether they speak the PROXY protocol
// follows the load balancer where the health check doesn't say.
func (d *differ) healthCheck(desired, actual Settings) {
	speaks := func(h HealthCheck) bool {
		return h.ProxyProtocol == nil && desired.EnableProxyProtocol || h.ProxyProtocol != nil && *h.ProxyProtocol
	}
	var texts differ
	was, want := actual.HealthCheck, desired.HealthCheck
	for _, member := range []struct {
		name      string
		was, want any
	}{
		{"protocol", was.Protocol, want.Protocol},
		{"port", was.Port, want.Port},
		{"path", orNone(was.Path), orNone(want.Path)},
		{"interval", seconds(was.CheckIntervalSeconds), seconds(want.CheckIntervalSeconds)},
		{"timeout", seconds(was.ResponseTimeoutSeconds), seconds(want.ResponseTimeoutSeconds)},
		{"healthy after", was.HealthyThreshold, want.HealthyThreshold},
		{"unhealthy after", was.UnhealthyThreshold, want.UnhealthyThreshold},
		{"PROXY protocol", speaks(was), speaks(want)},
	} {
		texts.scalar(ChangeSettings, member.name, member.was, member.want)
	}
	if len(texts.changes) > 0 {
		d.add(ChangeSettings, FieldHealthCheck, join(texts.changes, ", "))
	}
}

// maxListedDroplets is how many ids a change names; of more it tells the count.
const maxListedDroplets = 5

// backends compares how backends are chosen, and which these are. Those with a
// tag are nobody's to list.
func (d *differ) backends(desired, actual Settings) {
	d.scalar(ChangeSettings, FieldTag, orNone(actual.Tag), orNone(desired.Tag))
	if desired.Tag != "" || desired.Network != actual.Network {
		return
	}
	add, remove := Split(desired.DropletIDs, actual.DropletIDs)
	if len(add)+len(remove) == 0 {
		return
	}
	var counts, ids []string
	for _, part := range []struct {
		sign, verb string
		ids        []int
	}{{"+", "added", add}, {"-", "removed", remove}} {
		if n := len(part.ids); n > 0 {
			counts = append(counts, fmt.Sprint(part.sign, n))
			ids = append(ids, part.verb+" "+strings.Trim(fmt.Sprint(part.ids), "[]"))
		}
	}
	text := strings.Join(counts, " ")
	if len(add)+len(remove) <= maxListedDroplets {
		text += " (" + strings.Join(ids, "; ") + ")"
	}
	d.add(ChangeDroplets, FieldDroplets, fmt.Sprintf("%s, now %d", text, len(desired.DropletIDs)))
}

// plusMinus lists what is added and removed, or "".
func plusMinus[T any](add, remove []T) string {
	var parts []string
	for _, v := range add {
		parts = append(parts, fmt.Sprintf("+%v", v))
	}
	for _, v := range remove {
		parts = append(parts, fmt.Sprintf("-%v", v))
	}
	return strings.Join(parts, " ")
}

func seconds(n int) string { return fmt.Sprintf("%ds", n) }

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
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
func Describe(changes []Change) string { return join(changes, "; ") }

func join(changes []Change, separator string) string {
	texts := make([]string, len(changes))
	for i, c := range changes {
		texts[i] = c.String()
	}
	return strings.Join(texts, separator)
}
