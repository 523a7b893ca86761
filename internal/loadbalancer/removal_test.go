package loadbalancer

import (
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

// removable are values of annotations that a user may set and remove again, each
// other than what holds without it, on a load balancer of the type REGIONAL.
// What is fixed at creation, or is no setting of the load balancer's, is in
// notSettings.
var removable = map[string]string{
	annotation.Name:                              "my-balancer",
	annotation.SizeUnit:                          "3",
	annotation.Protocol:                          "http",
	annotation.HTTPPorts:                         "80",
	annotation.TLSPorts:                          "8443",
	annotation.HTTP2Ports:                        "443",
	annotation.HTTP3Port:                         "443",
	annotation.CertificateID:                     certificate,
	annotation.CertificateName:                   "site",
	annotation.CertificateID + ".8443":           otherCertificate,
	annotation.CertificateName + ".admin":        "shop",
	annotation.BackendProtocol:                   "https",
	annotation.BackendProtocol + ".8443":         "http2",
	annotation.UseAppProtocol:                    "true",
	annotation.DisableLetsEncryptDNSRecords:      "true",
	annotation.OverrideHealthCheck:               "true",
	annotation.HealthCheckPort:                   "443",
	annotation.HealthCheckPath:                   "/ready",
	annotation.HealthCheckProtocol:               "http",
	annotation.HealthCheckIntervalSeconds:        "30",
	annotation.HealthCheckResponseTimeoutSeconds: "9",
	annotation.HealthCheckUnhealthyThreshold:     "4",
	annotation.HealthCheckHealthyThreshold:       "7",
	annotation.StickySessionsType:                "cookies",
	annotation.StickySessionsCookieName:          "lb",
	annotation.StickySessionsCookieTTL:           "60",
	annotation.RedirectHTTPToHTTPS:               "true",
	annotation.EnableProxyProtocol:               "true",
	annotation.EnableBackendKeepalive:            "true",
	annotation.HTTPIdleTimeoutSeconds:            "120",
	annotation.AllowRules:                        "ip:203.0.113.7",
	annotation.AllowClusterNodes:                 "true",
	annotation.DenyRules:                         "ip:203.0.113.9",
	annotation.NodeSelector:                      "pool=edge",
	annotation.AllowEmptyBackends:                "true",
	annotation.TLSPassthrough:                    "true",
}

// notSettings are fixed at creation, speak of the manager's work and not of the
// load balancer, or need more than the Service to go back: for those the
// reconciler's own tests are (ciphers, sizes by name, names and what it manages).
var notSettings = []string{
	annotation.LoadBalancerID, annotation.DefaultsVersion, annotation.StrongCiphers, annotation.Disown, annotation.Class, annotation.Drift, annotation.DryRun, annotation.Plan,
	annotation.Manage, annotation.RetainOnDelete, annotation.Type, annotation.Network, annotation.NetworkStack, annotation.SizeSlug, annotation.IP,
	annotation.SubnetUUID, annotation.ProjectID, annotation.IPMode, annotation.Hostname, annotation.TLSCipherPolicy, annotation.Algorithm, annotation.FirewallManagedKey,
}

func TestEveryAnnotationCanBeRemovedOrSaysWhyNot(t *testing.T) {
	for _, d := range annotation.Registry {
		if _, has := removable[d.Key]; has == slices.Contains(notSettings, d.Key) {
			t.Errorf("%s: is tried: %t", d.Key, has)
		}
	}
}

// wish is what a Service with these annotations wants; ok is false where they
// can't be had together.
func wish(annotations map[string]string) (s Settings, ok bool) {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", Annotations: maps.Clone(annotations)},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{
			{Name: "http", Port: 80, NodePort: 30080, Protocol: v1.ProtocolTCP, AppProtocol: new("http")},
			{Name: "https", Port: 443, NodePort: 30443, Protocol: v1.ProtocolTCP},
			{Name: "admin", Port: 8443, NodePort: 30843, Protocol: v1.ProtocolTCP},
		}},
	}
	svc.Annotations[annotation.Type] = annotation.TypeRegional
	spec, problems := annotation.Parse(svc, annotation.Defaults{})
	candidates := []Candidate{
		{Node: "a", DropletID: 1, PublicIPv4: true, Labels: map[string]string{"pool": "edge"}, Public: []string{"203.0.113.20"}},
		{Node: "b", DropletID: 2, PublicIPv4: true, Public: []string{"203.0.113.21"}},
	}
	in := Inputs{Cluster: cluster, Backends: SelectBackends(spec, "", candidates)}.Assuming(spec)
	desired, more := Desire(svc, spec, in)
	return desired.Settings, len(problems)+len(more) == 0
}

// companions let an annotation have an effect that has none alone.
var companions = []map[string]string{
	{},
	{annotation.CertificateID: certificate},
	{annotation.CertificateID: certificate, annotation.TLSPorts: "443,8443", annotation.HTTPPorts: "80"},
	{annotation.AllowRules: "cidr:198.51.100.0/24", annotation.OverrideHealthCheck: "true"},
	{annotation.StickySessionsCookieName: "lb", annotation.StickySessionsCookieTTL: "60", annotation.StickySessionsType: "cookies", annotation.Protocol: "http"},
}

// An annotation that is removed leaves nothing behind: from the load balancer that
// the Service had with it, the changes lead to the one that a Service has which
// never had it. Settings that nobody speaks of are none of the manager's.
func TestAnnotationsRemovedAloneAndInPairsLeaveNothingBehind(t *testing.T) {
	keys := slices.Sorted(maps.Keys(removable))
	tried, effective := 0, map[string]bool{}
	for i, first := range keys {
		for _, second := range keys[i:] { // the first pair is the annotation alone
			for _, beside := range companions {
				without := maps.Clone(beside)
				delete(without, first)
				delete(without, second)
				with := maps.Clone(without)
				with[first], with[second] = removable[first], removable[second]
				had, ok := wish(with)
				wants, okWithout := wish(without)
				if !ok || !okWithout {
					continue
				}
				tried++
				changes := Diff(wants, had)
				if len(changes) > 0 && first == second {
					effective[first] = true
				}
				for _, c := range changes {
					if c.Kind == ChangeImmutable {
						t.Errorf("%s and %s removed: %s can't be undone", first, second, c)
					}
					had = Without(had, wants, c.Field)
				}
				if rest := Diff(wants, had); len(rest) > 0 {
					t.Errorf("%s and %s removed leave %v", first, second, rest)
				}
			}
		}
	}
	if tried < 1000 {
		t.Errorf("only %d combinations could be had", tried)
	}
	// Alone or beside companions each makes a difference, so that its removal does.
	inert := []string{annotation.AllowEmptyBackends, annotation.StickySessionsType, annotation.StickySessionsCookieName, annotation.StickySessionsCookieTTL, annotation.HTTP3Port}
	for _, key := range keys {
		if !effective[key] && !slices.Contains(inert, key) {
			t.Errorf("%s makes no difference in any case that is tried", key)
		}
	}
}
