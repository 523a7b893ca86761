package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// untouched are annotations that are drawn otherwise, or not at all: those that
// the manager writes, that name what a storm doesn't have, or that hand the load
// balancer to somebody else for good.
var untouched = []string{
	annotation.LoadBalancerID, annotation.DefaultsVersion, annotation.StrongCiphers, annotation.Plan, annotation.Manage, annotation.Disown,
	annotation.IP, annotation.SubnetUUID, annotation.ProjectID, annotation.Class,
	annotation.Name, annotation.CertificateID, annotation.CertificateName,
}

// bundles are annotations that go together, which chance alone would hardly
// draw.
var bundles = []map[string]string{
	{annotation.Type: annotation.TypeRegional},
	{annotation.Type: annotation.TypeRegional, annotation.Protocol: annotation.ProtocolHTTP},
	{annotation.Type: annotation.TypeRegional, annotation.Protocol: annotation.ProtocolHTTPS, annotation.CertificateName: CertificateName(0)},
	{annotation.Type: annotation.TypeRegional, annotation.Protocol: annotation.ProtocolHTTP2, annotation.CertificateID: CertificateOf + CertificateName(1)},
	{annotation.Type: annotation.TypeRegional, annotation.TLSPorts: "443", annotation.CertificateID: CertificateOf + CertificateName(2)},
	{annotation.Type: annotation.TypeRegional, annotation.TLSPorts: "443", annotation.TLSPassthrough: "true"},
	{annotation.Type: annotation.TypeRegional, annotation.Protocol: annotation.ProtocolHTTP, annotation.StickySessionsType: annotation.StickyCookies,
		annotation.StickySessionsCookieName: "storm", annotation.StickySessionsCookieTTL: "300"},
	{annotation.OverrideHealthCheck: "true", annotation.HealthCheckProtocol: annotation.ProtocolTCP},
	{annotation.Network: annotation.NetworkInternal},
	{annotation.NodeSelector: "pool=a"},
	{annotation.CertificateName: "missing", annotation.Type: annotation.TypeRegional, annotation.TLSPorts: "443"},
	{annotation.DryRun: "true"},
	{annotation.DryRun: ""},
	{annotation.RetainOnDelete: "true"},
	{annotation.RetainOnDelete: ""},
	{annotation.SizeUnit: "2", annotation.SizeSlug: ""},
	{annotation.SizeUnit: "", annotation.SizeSlug: "lb-small"},
}

// annotations draws changes to a Service's annotations: some that go together,
// some on their own, some that can't be, and some that go.
func (g *generator) annotations(service string) map[string]string {
	changes := map[string]string{}
	if g.chance(0.6) {
		maps.Copy(changes, pick(g, bundles))
	}
	for range g.rand.IntN(3) {
		d := pick(g, annotation.Registry)
		if slices.Contains(untouched, d.Key) {
			continue
		}
		changes[d.Key] = g.value(d)
	}
	if g.chance(0.1) {
		changes[annotation.Name] = pick(g, []string{"own-" + service, "other-" + service, "", "not a name"})
	}
	return changes
}

// value draws a value for the annotation: most are ones that it takes.
func (g *generator) value(d annotation.Definition) string {
	switch {
	case g.chance(0.25):
		return ""
	case g.chance(0.15):
		return pick(g, []string{"nonsense value", "-1", "99999999", "ip:300.1.1.1", "Tru"})
	}
	switch d.Kind {
	case annotation.KindEnum:
		return pick(g, d.Values)
	case annotation.KindBool:
		return strconv.FormatBool(g.chance(0.5))
	case annotation.KindInt:
		most := d.Max
		if most == 0 {
			most = d.Min + 1000
		}
		return strconv.Itoa(d.Min + g.rand.IntN(min(most-d.Min+1, 20)))
	}
	if values := samples[d.Kind]; len(values) > 0 {
		return pick(g, values)
	}
	return fmt.Sprintf("value-%d", g.rand.IntN(3))
}

// samples are values of those kinds that have no bounds to draw from.
var samples = map[annotation.Kind][]string{
	annotation.KindPorts:    {"80", "443", "80,8080", "9000"},
	annotation.KindSources:  {"ip:192.0.2.7", "cidr:198.51.100.0/24,ip:192.0.2.1", "cidr:2001:db8::/32"},
	annotation.KindHost:     {"storm.example.com", "calm.example.com"},
	annotation.KindPath:     {"/healthz", "/"},
	annotation.KindCookie:   {"storm", "calm"},
	annotation.KindSelector: {"pool=a", "pool in (a,b)", "pool!=a", "absent=yes"},
	annotation.KindDrift:    {annotation.DriftRevert, annotation.DriftReport, "ignore:size-unit", "ignore:name,health-check"},
}
