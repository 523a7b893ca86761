package annotation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Warning is one annotation, or one field of a Service, that does nothing, or
// something else than it seems.
type Warning struct {
	// Field is the annotation's key, or the path of a field.
	Field string
	// Value is what was found.
	Value string
	// Text completes a sentence that begins with the value.
	Text string
	// Quiet is true for what is worth a word to whoever edits the Service, and
	// no event: it needs no action, or is told in an event elsewhere.
	Quiet bool
}

// String is one line for people.
func (w Warning) String() string {
	return fmt.Sprintf("%s: %q %s", w.Field, shorten(w.Value), w.Text)
}

// Warnings tells what in a Service works and may surprise. spec is what [Parse]
// made of the Service. The order is stable: annotations in the registry's order,
// then unknown ones, then the Service's fields.
func Warnings(svc *v1.Service, spec Spec) []Warning {
	w := warner{svc: svc, spec: spec}
	for d := range declared(svc.Annotations) {
		if _, present := svc.Annotations[d.Key]; present {
			w.definition(d)
		}
	}
	for _, key := range Unknown(svc) {
		text := "is not known here, and has no effect"
		if near := nearestKey(key); near != "" {
			text += "; the nearest annotation is " + near
		}
		w.warn(key, text)
	}
	if ip := svc.Spec.LoadBalancerIP; ip != "" {
		w.warnings = append(w.warnings, Warning{Field: "spec.loadBalancerIP", Value: ip,
			Text: "has no effect: a reserved IP can't be attached to a load balancer. An address that you brought to DigitalOcean goes into " + IP +
				" before the load balancer is made; to keep the address of a load balancer that exists, keep the load balancer, and name it in " + LoadBalancerID})
	}
	return w.warnings
}

// quiet are the annotations whose warnings are no event: one that DigitalOcean
// ignores, one that does what it says, and one that the firewall tells of.
var quiet = []string{Algorithm, Hostname, FirewallManagedKey}

type warner struct {
	svc      *v1.Service
	spec     Spec
	warnings []Warning
}

func (w *warner) warn(key, text string) {
	w.warnings = append(w.warnings, Warning{Field: key, Value: w.svc.Annotations[key], Text: text, Quiet: slices.Contains(quiet, key)})
}

// definition warns of an annotation that is present.
func (w *warner) definition(d Definition) {
	value := w.svc.Annotations[d.Key]
	if value == "" && d.Key != OverrideHealthCheck {
		return
	}
	if d.Deprecated != "" {
		w.warn(d.Key, "is deprecated: "+strings.ReplaceAll(d.Deprecated, "`", ""))
		return
	}
	if w.spec.Manage == ManageBackends && !actsOnBackends(d.Key) {
		if !d.isDefault(value) {
			w.warn(d.Key, "has no effect with the "+ManageBackends+" of "+Manage)
		}
		return
	}
	if !d.actsOn(w.spec.Type) {
		if !d.isDefault(value) {
			w.warn(d.Key, "has no effect on the type "+w.spec.Type+reasons[d.Key])
		}
		return
	}
	if _, exists := tcpPortOf(w.svc, d.port); d.port != "" && !exists {
		w.warn(d.Key, fmt.Sprintf("has no effect, as %s is no TCP port of the Service (%s), by number or by name", d.port, describePorts(w.svc)))
		return
	}
	if warning, ok := warnings[d.base()]; ok {
		if text := warning(w, d); text != "" {
			w.warn(d.Key, text)
		}
	}
}

// reasons say more of why an annotation has no effect on REGIONAL_NETWORK.
var reasons = map[string]string{
	EnableProxyProtocol: ", where the client's address is kept anyway",
	Protocol:            ", which forwards TCP and UDP unread",
}

// isDefault tells whether the value asks for what holds without it.
func (d Definition) isDefault(value string) bool {
	if d.Kind == KindBool {
		b, err := strconv.ParseBool(value)
		return err == nil && strconv.FormatBool(b) == d.Default
	}
	return value == d.Default
}

// warnings find what may surprise in an annotation that acts on the type.
var warnings = map[string]func(*warner, Definition) string{
	Protocol:                 (*warner).protocol,
	HTTPPorts:                (*warner).httpPorts,
	TLSPorts:                 (*warner).tlsPorts,
	HTTP2Ports:               (*warner).http2Ports,
	CertificateID:            (*warner).certificate,
	CertificateName:          (*warner).certificateName,
	BackendProtocol:          (*warner).backendProtocol,
	UseAppProtocol:           (*warner).appProtocol,
	TLSCipherPolicy:          (*warner).ciphers,
	TLSPassthrough:           (*warner).passthrough,
	AllowEmptyBackends:       (*warner).emptyBackends,
	HealthCheckPort:          (*warner).withoutOverride,
	HealthCheckPath:          (*warner).withoutOverride,
	HealthCheckProtocol:      (*warner).withoutOverride,
	StickySessionsType:       (*warner).stickySessions,
	StickySessionsCookieName: (*warner).withoutCookies,
	StickySessionsCookieTTL:  (*warner).withoutCookies,
	RedirectHTTPToHTTPS:      (*warner).redirect,
	EnableBackendKeepalive:   (*warner).keepalive,
	AllowClusterNodes:        (*warner).allowClusterNodes,
	IPMode:                   (*warner).ipMode,
	AllowRules:               (*warner).allowRules,
	Hostname:                 (*warner).hostname,
	FirewallManagedKey:       (*warner).firewallManaged,
}

func (w *warner) withoutOverride(Definition) string {
	if w.spec.HealthCheck.Override {
		return ""
	}
	return "has no effect without " + OverrideHealthCheck
}

func (w *warner) emptyBackends(Definition) string {
	if !w.spec.AllowEmptyBackends || w.spec.NodeSelector != "" {
		return ""
	}
	return "has no effect without " + NodeSelector
}

func (w *warner) withoutCookies(Definition) string {
	if w.svc.Annotations[StickySessionsType] == StickyCookies {
		return ""
	}
	return "has no effect without the cookies of " + StickySessionsType
}

func (w *warner) stickySessions(Definition) string {
	if w.spec.StickySessions.Type != StickyCookies || w.readsHTTP() {
		return ""
	}
	return "has no effect, as the load balancer reads HTTP at no port: " + w.describeProtocols()
}

func (w *warner) keepalive(Definition) string {
	if !w.spec.EnableBackendKeepalive || w.readsHTTP() {
		return ""
	}
	return "has no effect, as the load balancer reads HTTP at no port: " + w.describeProtocols()
}

func (w *warner) redirect(Definition) string {
	if !w.spec.RedirectHTTPToHTTPS {
		return ""
	}
	protocols := protocolsOf(w.svc, w.spec)
	from := slices.Contains(protocols, ProtocolHTTP)
	to := slices.Contains(protocols, ProtocolHTTPS) || slices.Contains(protocols, ProtocolHTTP2)
	if from && to {
		return ""
	}
	return "needs a port that speaks http and one that speaks https or http2: " + w.describeProtocols()
}

func (w *warner) allowRules(Definition) string {
	if len(w.svc.Spec.LoadBalancerSourceRanges) == 0 {
		return ""
	}
	return "has no effect beside spec.loadBalancerSourceRanges, which takes its place"
}

func (w *warner) allowClusterNodes(Definition) string {
	if !w.spec.AllowClusterNodes || len(w.spec.AllowRules) > 0 {
		return ""
	}
	return "has no effect without " + AllowRules + " or spec.loadBalancerSourceRanges: everybody may reach the load balancer"
}

func (w *warner) ipMode(Definition) string {
	if w.spec.IPMode == "" || w.spec.Hostname == "" || w.spec.Type == TypeRegionalNetwork {
		return ""
	}
	return "has no effect beside " + Hostname + ", with which the status has no address"
}

// actsOnBackends tells whether an annotation has an effect where the backends
// alone are the manager's.
func actsOnBackends(key string) bool {
	others := []string{LoadBalancerID, DefaultsVersion, StrongCiphers, Disown, Class, Type, Network, Hostname, IPMode, FirewallManagedKey, DryRun, Plan, Manage, RetainOnDelete}
	return slices.Contains(others, key) || slices.ContainsFunc(backendAnnotations, func(d Definition) bool { return d.Key == key })
}

func (w *warner) hostname(Definition) string {
	if w.spec.Hostname == "" {
		return ""
	}
	return "is what the Service's status shows; no DNS record is made of it: it must resolve to the load balancer's address"
}

func (w *warner) firewallManaged(Definition) string {
	_, problem := FirewallManaged(w.svc)
	if problem == nil {
		return ""
	}
	return "counts as true, as it is not valid: " + problem.Allowed
}
