package loadbalancer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

func TestForwardingRules(t *testing.T) {
	const (
		cert = " (certificate " + certificate + ")"
		pass = " (passthrough)"
	)
	web := service("80:30080", "443:30443")
	tests := []struct {
		name string
		svc  *v1.Service
		spec annotation.Spec
		want []string
	}{
		{"a network load balancer keeps the Service's port", service("80:30080"), network(), []string{"tcp:80->tcp:80"}},
		{"a network load balancer needs no node port", service("80"), network(), []string{"tcp:80->tcp:80"}},
		{"a network load balancer speaks no protocol", web, network(withCertificate, protocol("http2"), httpPorts(80), tlsPorts(443), http3Port(443)),
			[]string{"tcp:80->tcp:80", "tcp:443->tcp:443"}},
		{"a regional one sends to the node port", service("80:30080"), regional(), []string{"tcp:80->tcp:30080"}},
		{"a port without a protocol is TCP", &v1.Service{Spec: v1.ServiceSpec{Ports: []v1.ServicePort{{Port: 80, NodePort: 30080}}}}, regional(), []string{"tcp:80->tcp:30080"}},
		{"protocols mixed on one load balancer", service("80:30080", "443:30443", "22:30022"),
			regional(httpPorts(80), tlsPorts(443), passthrough),
			[]string{"tcp:22->tcp:30022", "http:80->http:30080", "https:443->https:30443" + pass}},
		{"UDP is UDP whatever the protocol of TCP ports", service("51820:31820/UDP"), regional(protocol("http")), []string{"udp:51820->udp:31820"}},
		{"TCP and UDP at one port, regional", service("53:30053/UDP", "53:30054"), regional(), []string{"tcp:53->tcp:30054", "udp:53->udp:30053"}},
		{"TCP and UDP at one port, network", service("53:30053/UDP", "53:30054"), network(), []string{"tcp:53->tcp:53", "udp:53->udp:53"}},
		{"sticky sessions change no protocol", service("443:30443"),
			regional(passthrough, func(s *annotation.Spec) {
				s.StickySessions = annotation.StickySessions{Type: "cookies", CookieName: "LB", CookieTTLSeconds: 60}
			}), []string{"https:443->https:30443" + pass}},
		{"HTTP beside TLS", web, regional(protocol("http"), tlsPorts(443), withCertificate), []string{"http:80->http:30080", "https:443->http:30443" + cert}},
		{"HTTP/2 as the protocol of all ports, but TLS ports", web, regional(protocol("http2"), tlsPorts(443), withCertificate),
			[]string{"http2:80->http:30080" + cert, "https:443->http:30443" + cert}},
		{"HTTP/2 where it is asked for", web, regional(protocol("http"), http2Ports(443), withCertificate), []string{"http:80->http:30080", "http2:443->http:30443" + cert}},
		{"HTTP/2 passed through", web, regional(http2Ports(443), passthrough), []string{"tcp:80->tcp:30080", "http2:443->http2:30443" + pass}},
		{"a certificate makes 443 speak TLS", web, regional(withCertificate), []string{"tcp:80->tcp:30080", "https:443->http:30443" + cert}},
		{"passthrough makes 443 speak TLS", web, regional(passthrough), []string{"tcp:80->tcp:30080", "https:443->https:30443" + pass}},
		{"443 is TCP where other ports speak TLS", service("443:30443", "8443:30843"), regional(tlsPorts(8443), withCertificate),
			[]string{"tcp:443->tcp:30443", "https:8443->http:30843" + cert}},
		{"443 is TCP without a certificate", service("443:30443"), regional(), []string{"tcp:443->tcp:30443"}},
		{"HTTPS everywhere", web, regional(protocol("https"), withCertificate), []string{"https:80->http:30080" + cert, "https:443->http:30443" + cert}},
		{"HTTP/3 beside TLS", web, regional(protocol("http"), tlsPorts(443), http3Port(443), withCertificate),
			[]string{"http:80->http:30080", "http3:443->http:30443" + cert, "https:443->http:30443" + cert}},
		{"HTTP/3 beside HTTP/2", service("443:30443"), regional(http2Ports(443), http3Port(443), withCertificate),
			[]string{"http2:443->http:30443" + cert, "http3:443->http:30443" + cert}},
		{"HTTP/3 for all but a TLS port", service("443:30443", "8443:30843"), regional(protocol("http3"), tlsPorts(443), withCertificate),
			[]string{"https:443->http:30443" + cert, "http3:8443->http:30843" + cert}},
		{"a port that the Service lacks makes no rule", service("80:30080"), regional(protocol("http"), tlsPorts(443), withCertificate), []string{"http:80->http:30080"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := desire(t, test.svc, test.spec)
			if diff := cmp.Diff(test.want, texts(d.ForwardingRules)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Every default protocol together with every list that overrides it: the list
// decides for its port, the default for the other.
func TestOverridesLeaveOtherPortsAlone(t *testing.T) {
	lists := map[string]func(...int) func(*annotation.Spec){"http": httpPorts, "https": tlsPorts, "http2": http2Ports}
	for _, standard := range []string{"tcp", "http", "https", "http2"} {
		for listed, list := range lists {
			t.Run(standard+" and "+listed, func(t *testing.T) {
				d := desire(t, service("8080:30080", "8443:30443"), regional(protocol(standard), list(8443), withCertificate))
				var got []string
				for _, rule := range d.ForwardingRules {
					got = append(got, rule.EntryProtocol)
				}
				if diff := cmp.Diff([]string{standard, listed}, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestForwardingRulesRefuse(t *testing.T) {
	var many, most []string
	for port := range 41 {
		many = append(many, fmt.Sprint(port+1))
	}
	for port := range 40 {
		most = append(most, fmt.Sprintf("%d:%d", port+404, port+30000))
	}
	named := func(s *annotation.Spec) { s.CertificateName = "web" }
	tests := []struct {
		name  string
		svc   *v1.Service
		spec  annotation.Spec
		field string
		says  string
	}{
		{"SCTP", service("80", "81/SCTP"), network(), "spec.ports[1].protocol", "TCP or UDP"},
		{"a port that DigitalOcean keeps", service("50053"), network(), "spec.ports[0].port", "50053"},
		{"regional without node ports", service("80"), regional(), "spec.ports[0].nodePort", "REGIONAL_NETWORK"},
		{"more than 40 ports", service(many...), network(), "spec.ports", "at most 40"},
		{"40 ports and HTTP/3", service(most...), regional(tlsPorts(443), http3Port(443), withCertificate), "spec.ports", "at most 40"},
		{"no port", service(), network(), "spec.ports", "at least one"},
		{"a certificate's name that stands for none", service("443:30443"), regional(named), annotation.CertificateName, "exists"},
		{"HTTP/3 at a port that UDP has", service("443:30443", "443:30444/UDP"), regional(tlsPorts(443), http3Port(443), withCertificate), "spec.ports", "http3:443"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, problems := Desire(test.svc, test.spec, inputs(test.spec))
			wantProblem(t, problems, test.field)
			if len(problems) > 0 && !strings.Contains(problems[0].Allowed, test.says) {
				t.Errorf("%q doesn't say %q", problems[0].Allowed, test.says)
			}
		})
	}
}

func TestProblemsOfAllPortsAreToldAtOnce(t *testing.T) {
	spec := regional(tlsPorts(443, 8443), func(s *annotation.Spec) { s.CertificateName = "gone" })
	_, problems := Desire(service("80/SCTP", "443:30443", "8443:30843", "50054:30054", "81"), spec, inputs(spec))
	want := []string{"spec.ports[0].protocol", annotation.CertificateName, "spec.ports[3].port", "spec.ports[4].nodePort"}
	if diff := cmp.Diff(want, problemFields(problems)); diff != "" {
		t.Error(diff)
	}
}
