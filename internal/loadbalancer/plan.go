package loadbalancer

import (
	"fmt"
	"strings"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// PlanCreate lists for people what a new load balancer would be.
func PlanCreate(d Desired) []string {
	lines := []string{
		"create load balancer " + d.Name,
		fmt.Sprintf("type %s, network %s, network stack %s", d.Type, d.Network, d.NetworkStack),
		"region " + d.Region,
	}
	for _, part := range []struct{ name, value string }{{"project", d.ProjectID}, {"VPC", d.VPC}, {"subnet", d.SubnetUUID}, {"IP", d.IP}} {
		if part.value != "" {
			lines = append(lines, part.name+" "+part.value)
		}
	}
	lines = append(lines, fmt.Sprintf("size unit %d", d.SizeUnit))
	for _, rule := range d.ForwardingRules {
		lines = append(lines, "forwarding rule "+rule.String())
	}
	lines = append(lines, "health check "+d.HealthCheck.String())
	for _, c := range Diff(d.Settings, d.plain()) {
		lines = append(lines, c.String())
	}
	if d.Tag != "" {
		return append(lines, "backends: the droplets with the tag "+d.Tag)
	}
	return append(lines, fmt.Sprintf("backends: %d droplets", len(d.DropletIDs)))
}

// plain are the settings with everything off that needs saying only where it is
// on.
func (d Desired) plain() Settings {
	s := d.Settings
	s.StickySessions = StickySessions{Type: annotation.StickyNone}
	s.RedirectHTTPToHTTPS, s.EnableProxyProtocol, s.EnableBackendKeepalive, s.DisableLetsEncryptDNSRecords = false, false, false, false
	s.TLSCipherPolicy = annotation.CiphersDefault
	s.HTTPIdleTimeoutSeconds = DefaultHTTPIdleTimeoutSeconds
	s.AllowRules, s.DenyRules = nil, nil
	s.HealthCheck.ProxyProtocol = new(s.HealthCheck.ProxyProtocol != nil && *s.HealthCheck.ProxyProtocol || s.HealthCheck.ProxyProtocol == nil && d.EnableProxyProtocol)
	return s
}

// PlanChange lists for people what would be changed on a load balancer, what
// can't be, and what would be left to others.
func PlanChange(id string, changes, left []Change) []string {
	lines := []string{"change load balancer " + id}
	for _, c := range changes {
		switch c.Kind {
		case ChangeImmutable:
			lines = append(lines, "can't be changed: "+c.String())
		default:
			lines = append(lines, c.String())
		}
	}
	if len(changes) == 0 {
		lines = []string{"load balancer " + id + " is as this Service wants it"}
	}
	for _, c := range left {
		lines = append(lines, "left to others: "+c.String())
	}
	return lines
}

// JoinPlan joins lines by the separator into at most most bytes, which must be
// more than a few; what doesn't fit is counted.
func JoinPlan(lines []string, separator string, most int) string {
	const room = len("and 1000000 more")
	var b strings.Builder
	for i, line := range lines {
		rest := 0
		if i < len(lines)-1 {
			rest = room + len(separator)
		}
		if b.Len()+len(separator)+len(line)+rest > most {
			text := fmt.Sprintf("and %d more", len(lines)-i)
			if i > 0 {
				text = separator + text
			}
			return b.String() + text
		}
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(line)
	}
	return b.String()
}
