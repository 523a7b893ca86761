package annotation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// namedPorts has TCP ports of numbers and names.
func namedPorts(all annotations) *v1.Service {
	svc := service(all)
	svc.Spec.Ports = []v1.ServicePort{
		{Name: "http", Port: 80, AppProtocol: new("http")}, {Name: "https", Port: 443, AppProtocol: new("HTTPS")},
		{Name: "admin", Port: 8443, AppProtocol: new("kubernetes.io/wss")}, {Name: "grpc", Port: 9000, AppProtocol: new("kubernetes.io/h2c")},
		{Name: "mesh", Port: 9001, AppProtocol: new("example.com/mesh")}, {Name: "dns", Port: 53, Protocol: v1.ProtocolUDP},
	}
	return svc
}

func TestWhatPortsSpeakByAnnotationsOfTheirOwn(t *testing.T) {
	const otherID = "892071a0-bb95-49bc-8021-3afd67a210bf"
	tests := []struct {
		name        string
		annotations annotations
		// want is of the ports 80, 443, 8443, 9000 and 9001: the protocol, the
		// certificate, and what backends get.
		want string
	}{
		{"one certificate", tls.with(), "tcp https/" + someID + "/http tcp tcp tcp"},
		{"a certificate makes its port https", regional.with(CertificateName+".8443", "site"), "tcp tcp https/site/http tcp tcp"},
		{"by the port's name", regional.with(CertificateName+".admin", "site"), "tcp tcp https/site/http tcp tcp"},
		{"an id in capitals", regional.with(CertificateID+".443", strings.ToUpper(someID)), "tcp https/" + someID + "/http tcp tcp tcp"},
		{"beside the one for all", tls.with(TLSPorts, "443,8443", CertificateID+".admin", otherID), "tcp https/" + someID + "/http https/" + otherID + "/http tcp tcp"},
		{"a name for one, an id for all", tls.with(CertificateName+".443", "site"), "tcp https/site/http tcp tcp tcp"},
		{"the id of a port wins", regional.with(CertificateName+".443", "site", CertificateID+".https", someID), "tcp https/" + someID + "/http tcp tcp tcp"},
		{"lists decide what a port speaks", regional.with(HTTP2Ports, "8443", CertificateName+".8443", "site"), "tcp tcp http2/site/http tcp tcp"},
		{"http is http", regional.with(HTTPPorts, "8443", CertificateName+".8443", "site"), "tcp tcp http tcp tcp"},
		{"the protocol of all", regional.with(Protocol, "http2", CertificateName, "site", CertificateName+".443", "shop"), "http2/site/http https/shop/http http2/site/http http2/site/http http2/site/http"},
		{"backends of all", tls.with(TLSPorts, "443,8443", BackendProtocol, "https"), "tcp https/" + someID + "/https https/" + someID + "/https tcp tcp"},
		{"backends of one", tls.with(TLSPorts, "443,8443", BackendProtocol, "https", BackendProtocol+".admin", "http2"), "tcp https/" + someID + "/https https/" + someID + "/http2 tcp tcp"},
		{"application protocols", tls.with(UseAppProtocol, "true"), "http https/" + someID + "/http https/" + someID + "/http tcp tcp"},
		{"application protocols don't count unasked", regional.with(), "tcp tcp tcp tcp tcp"},
		{"lists win over them", tls.with(UseAppProtocol, "true", HTTP2Ports, "443", HTTPPorts, "8443"), "http http2/" + someID + "/http http tcp tcp"},
		{"they win over the default", tls.with(UseAppProtocol, "true", Protocol, "http2"), "http https/" + someID + "/http https/" + someID + "/http tcp http2/" + someID + "/http"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec, problems := Parse(namedPorts(test.annotations), Defaults{})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			var got []string
			for _, port := range []int{80, 443, 8443, 9000, 9001} {
				text, _ := spec.PortProtocol(port)
				if speaksTLS(text) {
					text += "/" + spec.CertificateAt(port).Value() + "/" + spec.BackendProtocolAt(port)
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatPortsCannotHaveOfTheirOwn(t *testing.T) {
	tests := []struct {
		name        string
		annotations annotations
		field       string
		says        string
	}{
		{"a bad id", regional.with(CertificateID+".443", "site"), CertificateID + ".443", "UUID"},
		{"also of a port that isn't there", regional.with(BackendProtocol+".77", "tcp"), BackendProtocol + ".77", "http, https or http2"},
		{"one port by number and by name", regional.with(CertificateName+".443", "a", CertificateName+".https", "b"), CertificateName + ".https", CertificateName + ".443"},
		{"passthrough", regional.with(TLSPassthrough, "true", CertificateName+".443", "a"), TLSPassthrough, CertificateName + ".443"},
		{"passthrough and new TLS", regional.with(TLSPassthrough, "true", BackendProtocol, "https"), BackendProtocol, TLSPassthrough},
		{"passthrough and new TLS of one", regional.with(TLSPassthrough, "true", BackendProtocol+".https", "http2"), BackendProtocol + ".https", TLSPassthrough},
		{"application protocols without a certificate", regional.with(UseAppProtocol, "true"), UseAppProtocol, CertificateName},
		{"HTTP/3 where the certificate is another port's", regional.with(TLSPorts, "8443", CertificateName+".8443", "a", HTTP3Port, "443"), HTTP3Port, "certificate"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, problems := Parse(namedPorts(test.annotations), Defaults{})
			if len(problems) != 1 || problems[0].Field != test.field || !strings.Contains(problems[0].Allowed, test.says) {
				t.Errorf("problems %v, want one with %s that says %q", problems, test.field, test.says)
			}
		})
	}
}

func TestWarningsOfAnnotationsForOnePort(t *testing.T) {
	tests := []struct {
		name        string
		annotations annotations
		field       string
		says        string
	}{
		{"a port that isn't there", regional.with(CertificateName+".htps", "a"), CertificateName + ".htps", "htps is no TCP port"},
		{"a UDP port", regional.with(CertificateName+".dns", "a"), CertificateName + ".dns", "no TCP port"},
		{"a port without TLS", tls.with(BackendProtocol+".80", "https"), BackendProtocol + ".80", "ends no TLS there"},
		{"no port with TLS", regional.with(BackendProtocol, "https"), BackendProtocol, "ends TLS at no port"},
		{"all have their own", tls.with(CertificateName+".443", "a"), CertificateID, "has its own"},
		{"a name beside the id", regional.with(CertificateName+".443", "a", CertificateID+".https", someID), CertificateName + ".443", CertificateID + ".https, which wins"},
		{"an application protocol that isn't known", tls.with(UseAppProtocol, "true"), UseAppProtocol, `"example.com/mesh" of port 9001`},
		{"on a network load balancer", annotations{CertificateName + ".443": "a"}, CertificateName + ".443", TypeRegionalNetwork},
		{"misspelt", regional.with(prefixLoadBalancer+"certificat-name.443", "a"), prefixLoadBalancer + "certificat-name.443", CertificateName + ".443"},
		{"a port that can be none", regional.with(CertificateName+".65536", "a"), CertificateName + ".65536", "not known"},
		{"only some annotations are of ports", regional.with(SizeUnit+".443", "2"), SizeUnit + ".443", "not known"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			svc := namedPorts(test.annotations)
			spec, problems := Parse(svc, Defaults{Type: TypeRegionalNetwork})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			warnings := Warnings(svc, spec)
			if len(warnings) != 1 || warnings[0].Field != test.field || !strings.Contains(warnings[0].Text, test.says) {
				t.Errorf("warnings %v, want one of %s that says %q", warnings, test.field, test.says)
			}
		})
	}
}

func TestDefaultsAreNotOfPorts(t *testing.T) {
	if _, err := DefaultKey("backend-protocol.443", "https"); err == nil || !strings.Contains(err.Error(), "must be backend-protocol here") {
		t.Errorf("%v", err)
	}
	if key, err := DefaultKey("backend-protocol", "https"); err != nil || key != BackendProtocol {
		t.Errorf("%s, %v", key, err)
	}
	// A default that can't be had with the Service's own choice has no effect.
	_, problems := Parse(namedPorts(regional.with(TLSPassthrough, "true")), Defaults{Values: map[string]string{BackendProtocol: "https"}})
	if len(problems) > 0 {
		t.Error(problems)
	}
}
