package annotation

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Certificate is how an annotation names one: by its id, or else by its name.
// The zero value names none.
type Certificate struct {
	// Key is the annotation's.
	Key      string
	ID, Name string
}

// Value is the annotation's: the id or the name.
func (c Certificate) Value() string { return cmp.Or(c.ID, c.Name) }

// certificateBases are the annotations that name certificates; the first wins.
var certificateBases = []string{CertificateID, CertificateName}

// NamesCertificate tells whether the annotation of this key names a certificate,
// for all ports or for one.
func NamesCertificate(key string) bool {
	d, known := Lookup(key)
	return known && slices.Contains(certificateBases, d.base())
}

// forPort is the declaration of the same annotation for one port.
func (d Definition) forPort(port string) Definition {
	d.Key, d.port = portKey(d.Key, port), port
	return d
}

// base is the key of the annotation for all ports.
func (d Definition) base() string { return strings.TrimSuffix(d.Key, "."+d.port) }

func portKey(base, port string) string { return base + "." + port }

// SplitPort splits the key, or the name, of an annotation for one port at the
// port's number or name. It doesn't tell whether there is such an annotation.
func SplitPort(key string) (base, port string, ok bool) {
	i := strings.LastIndexByte(key, '.')
	if i < 0 || !isPort(key[i+1:]) {
		return "", "", false
	}
	return key[:i], key[i+1:], true
}

// isPort tells whether the text can be a Service port's number or name.
func isPort(text string) bool {
	if n, err := strconv.Atoi(text); err == nil {
		return n >= minPort && n <= maxPort && strconv.Itoa(n) == text
	}
	return len(validation.IsDNS1123Label(text)) == 0
}

// portKeys are the keys by which annotations speak of single ports in place of
// what base says for all, sorted.
func portKeys(annotations map[string]string, base string) []string {
	var keys []string
	for key := range annotations {
		if !strings.HasPrefix(key, base) {
			continue // most aren't, and to split them is dear
		}
		if b, _, ok := SplitPort(key); ok && b == base {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// tcpPortOf returns the number of the Service's TCP port with this number or
// name.
func tcpPortOf(svc *v1.Service, text string) (number int, ok bool) {
	for _, port := range svc.Spec.Ports {
		isIt := strconv.Itoa(int(port.Port)) == text || port.Name == text
		if isIt && cmp.Or(port.Protocol, v1.ProtocolTCP) == v1.ProtocolTCP {
			return int(port.Port), true
		}
	}
	return 0, false
}

// ofPort is what an annotation says for one port.
type ofPort struct{ key, value string }

// ofPorts are what the annotations of a base say for single TCP ports of the
// Service. One for a port that it lacks has no effect, of which a warning tells;
// two for one port are a problem.
func (p *parser) ofPorts(svc *v1.Service, base string) map[int]ofPort {
	found := map[int]ofPort{}
	for _, key := range portKeys(svc.Annotations, base) {
		value, valid := p.values[key]
		_, text, _ := SplitPort(key)
		number, exists := tcpPortOf(svc, text)
		if !valid || !exists {
			continue
		}
		if other, taken := found[number]; taken {
			p.refuse(key, value, "must be absent beside "+other.key+", which speaks of the same port")
			continue
		}
		found[number] = ofPort{key, value}
	}
	return found
}

// perPort reads what holds for single ports.
func (p *parser) perPort(svc *v1.Service, spec *Spec) {
	certificates := map[int]Certificate{}
	for port, named := range p.ofPorts(svc, CertificateName) {
		certificates[port] = Certificate{Key: named.key, Name: named.value}
	}
	for port, named := range p.ofPorts(svc, CertificateID) {
		certificates[port] = Certificate{Key: named.key, ID: strings.ToLower(named.value)}
	}
	backends := map[int]string{}
	for port, speaks := range p.ofPorts(svc, BackendProtocol) {
		backends[port] = speaks.value
	}
	// None is nil, as with everything else that is absent.
	if len(certificates) > 0 {
		spec.PortCertificates = certificates
	}
	if len(backends) > 0 {
		spec.PortBackendProtocols = backends
	}
	if p.bool(UseAppProtocol) {
		spec.AppProtocols = appProtocols(svc)
	}
}

// CertificateAt is the certificate of a TCP port's TLS: its own, or else that of
// all ports.
func (s Spec) CertificateAt(port int) Certificate {
	if own, ok := s.PortCertificates[port]; ok {
		return own
	}
	return s.Certificate()
}

// Certificate is the one of ports without their own.
func (s Spec) Certificate() Certificate {
	switch {
	case s.CertificateID != "":
		return Certificate{Key: CertificateID, ID: s.CertificateID}
	case s.CertificateName != "":
		return Certificate{Key: CertificateName, Name: s.CertificateName}
	}
	return Certificate{}
}

// BackendProtocolAt is what backends speak behind a TCP port whose TLS ends at
// the load balancer.
func (s Spec) BackendProtocolAt(port int) string {
	return cmp.Or(s.PortBackendProtocols[port], s.BackendProtocol, ProtocolHTTP)
}

// knownAppProtocols are the values of spec.ports[].appProtocol, in lower case,
// with what the load balancer speaks for them. HTTP/2 without TLS it speaks
// itself to nobody: it must be passed on unread.
var knownAppProtocols = map[string]string{
	"tcp":               ProtocolTCP,
	"http":              ProtocolHTTP,
	"https":             ProtocolHTTPS,
	"http2":             ProtocolHTTP2,
	"kubernetes.io/h2c": ProtocolTCP,
	"kubernetes.io/ws":  ProtocolHTTP,
	"kubernetes.io/wss": ProtocolHTTPS,
}

// appProtocols are what the Service's TCP ports say that they speak, as far as it
// is known here; nil for none.
func appProtocols(svc *v1.Service) map[int]string {
	found := map[int]string{}
	for _, port := range svc.Spec.Ports {
		if port.AppProtocol == nil || cmp.Or(port.Protocol, v1.ProtocolTCP) != v1.ProtocolTCP {
			continue
		}
		if protocol, ok := knownAppProtocols[strings.ToLower(*port.AppProtocol)]; ok {
			found[int(port.Port)] = protocol
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found
}

// listAppProtocols lists what is known, for people.
func listAppProtocols() []string { return slices.Sorted(maps.Keys(knownAppProtocols)) }
