package reconciler

import (
	"context"
	"net/http"
	"testing"

	"github.com/digitalocean/godo"
	"github.com/google/go-cmp/cmp"

	"digitalocean-cloud-controller-manager/internal/annotation"
	"digitalocean-cloud-controller-manager/internal/loadbalancer"
	"digitalocean-cloud-controller-manager/simulator"
)

// clientOf is a plain client of the simulator.
func clientOf(t *testing.T, sim *simulator.Simulator) *godo.Client {
	t.Helper()
	client, err := godo.New(&http.Client{Transport: sim.Transport()}, godo.SetBaseURL("http://simulator.invalid/"),
		godo.SetRequestHeaders(map[string]string{"Authorization": "Bearer any"}))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestSettingsOfSurviveWhatTheAPILeavesOut(t *testing.T) {
	want := loadbalancer.Settings{
		Type: "REGIONAL", Network: "EXTERNAL", NetworkStack: "IPV4", SizeUnit: 1,
		StickySessions: loadbalancer.StickySessions{Type: "none"}, HTTPIdleTimeoutSeconds: 60, TLSCipherPolicy: "DEFAULT",
	}
	if diff := cmp.Diff(want, settingsOf(&godo.LoadBalancer{})); diff != "" {
		t.Error(diff)
	}
}

func TestSettingsOfReadsEveryField(t *testing.T) {
	lb := &godo.LoadBalancer{
		Name: "web", Type: "regional", Network: "internal", NetworkStack: "dualstack", Region: &godo.Region{Slug: "nyc3"},
		VPCUUID: "vpc-1", VPCSubnetUUID: "subnet-1", IP: "203.0.113.9", SizeSlug: "lb-medium", SizeUnit: 3,
		ForwardingRules: []godo.ForwardingRule{
			{EntryProtocol: "HTTPS", EntryPort: 443, TargetProtocol: "HTTP", TargetPort: 30443, CertificateID: "c"},
			{EntryProtocol: "https", EntryPort: 80, TargetProtocol: "https", TargetPort: 30080, TlsPassthrough: true},
		},
		HealthCheck: &godo.HealthCheck{
			Protocol: "HTTP", Port: 10256, Path: "/healthz", CheckIntervalSeconds: 3, ResponseTimeoutSeconds: 5,
			HealthyThreshold: 4, UnhealthyThreshold: 2, ProxyProtocol: new(false),
		},
		StickySessions:      &godo.StickySessions{Type: "cookies", CookieName: "LB", CookieTtlSeconds: 300},
		RedirectHttpToHttps: true, EnableProxyProtocol: true, EnableBackendKeepalive: true, TLSCipherPolicy: "strong",
		DisableLetsEncryptDNSRecords: new(true), HTTPIdleTimeoutSeconds: new(uint64(120)),
		Firewall:   &godo.LBFirewall{Allow: []string{"cidr:203.0.113.7/32", "cidr:10.1.2.3/8", "ip:203.0.113.7"}, Deny: []string{"what is this"}},
		DropletIDs: []int{3, 1, 3}, Tag: "k8s:c1",
	}
	want := loadbalancer.Settings{
		Name: "web", Type: "REGIONAL", Network: "INTERNAL", NetworkStack: "DUALSTACK", Region: "nyc3",
		VPC: "vpc-1", SubnetUUID: "subnet-1", IP: "203.0.113.9", SizeUnit: 3,
		ForwardingRules: []loadbalancer.ForwardingRule{
			{EntryProtocol: "https", EntryPort: 80, TargetProtocol: "https", TargetPort: 30080, TLSPassthrough: true},
			{EntryProtocol: "https", EntryPort: 443, TargetProtocol: "http", TargetPort: 30443, CertificateID: "c"},
		},
		HealthCheck: loadbalancer.HealthCheck{
			Protocol: "http", Port: 10256, Path: "/healthz", CheckIntervalSeconds: 3, ResponseTimeoutSeconds: 5,
			HealthyThreshold: 4, UnhealthyThreshold: 2, ProxyProtocol: new(false),
		},
		StickySessions:      loadbalancer.StickySessions{Type: "cookies", CookieName: "LB", CookieTTLSeconds: 300},
		RedirectHTTPToHTTPS: true, EnableProxyProtocol: true, EnableBackendKeepalive: true,
		DisableLetsEncryptDNSRecords: true, HTTPIdleTimeoutSeconds: 120,
		AllowRules: normalForms(t, "cidr:10.1.2.3/8", "ip:203.0.113.7"), DenyRules: []string{"what is this"},
		DropletIDs: []int{1, 3}, Tag: "k8s:c1", TLSCipherPolicy: "STRONG",
	}
	if diff := cmp.Diff(want, settingsOf(lb)); diff != "" {
		t.Error(diff)
	}
}

func normalForms(t *testing.T, sources ...string) []string {
	t.Helper()
	normal := make([]string, len(sources))
	for i, source := range sources {
		var err error
		if normal[i], err = annotation.NormalizeSource(source); err != nil {
			t.Fatal(err)
		}
	}
	return normal
}

func TestSizeIsReadFromWhatThereIs(t *testing.T) {
	tests := []struct {
		name     string
		unit     uint32
		slug     string
		wantUnit int
		wantSlug string
	}{
		{"both", 3, "lb-medium", 3, ""},
		{"unit", 2, "", 2, ""},
		{"slug, in a region without units", 0, "lb-large", 6, "lb-large"},
		{"neither", 0, "", 1, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := settingsOf(&godo.LoadBalancer{SizeUnit: test.unit, SizeSlug: test.slug})
			if s.SizeUnit != test.wantUnit || s.SizeSlug != test.wantSlug {
				t.Errorf("unit %d and slug %q", s.SizeUnit, s.SizeSlug)
			}
		})
	}
}

// webSettings are plain ones.
func webSettings() loadbalancer.Settings {
	s := settingsOf(&godo.LoadBalancer{
		Name: "web", Region: &godo.Region{Slug: "nyc3"}, DropletIDs: []int{1, 2},
		ForwardingRules: []godo.ForwardingRule{{EntryProtocol: "tcp", EntryPort: 80, TargetProtocol: "tcp", TargetPort: 30080}},
		HealthCheck:     &godo.HealthCheck{Protocol: "tcp", Port: 30080, CheckIntervalSeconds: 3, ResponseTimeoutSeconds: 5, HealthyThreshold: 5, UnhealthyThreshold: 3},
	})
	return s
}

func TestRequestHoldsOneOfTwo(t *testing.T) {
	both := &godo.LoadBalancer{SizeSlug: "lb-medium", SizeUnit: 3, Tag: "old", DropletIDs: []int{9}}
	slug, tag := webSettings(), webSettings()
	slug.SizeUnit, slug.SizeSlug, tag.Tag = 6, "lb-large", "k8s:c1"
	for _, r := range []*godo.LoadBalancerRequest{createRequest(loadbalancer.Desired{Settings: slug}), updateRequest(both, loadbalancer.Desired{Settings: slug})} {
		if r.SizeSlug != "lb-large" || r.SizeUnit != 0 || r.Tag != "" || len(r.DropletIDs) != 2 {
			t.Errorf("slug %q, unit %d, tag %q, droplets %v", r.SizeSlug, r.SizeUnit, r.Tag, r.DropletIDs)
		}
	}
	for _, r := range []*godo.LoadBalancerRequest{createRequest(loadbalancer.Desired{Settings: tag}), updateRequest(both, loadbalancer.Desired{Settings: tag})} {
		if r.SizeSlug != "" || r.SizeUnit != 1 || r.Tag != "k8s:c1" || r.DropletIDs != nil {
			t.Errorf("slug %q, unit %d, tag %q, droplets %v", r.SizeSlug, r.SizeUnit, r.Tag, r.DropletIDs)
		}
	}
}

// What no annotation speaks of stays as others set it, and the load balancer
// that was read stays as it was read.
func TestUpdateRequestCarriesOverWhatOthersSet(t *testing.T) {
	read := func() *godo.LoadBalancer {
		return &godo.LoadBalancer{
			ID: "id", Name: "old", Region: &godo.Region{Slug: "nyc3"}, VPCUUID: "vpc-1", Type: "REGIONAL", Network: "EXTERNAL", NetworkStack: "DUALSTACK",
			ProjectID: "project", TLSCipherPolicy: "STRONG", DisableLetsEncryptDNSRecords: new(true), HTTPIdleTimeoutSeconds: new(uint64(90)),
			Firewall:    &godo.LBFirewall{Allow: []string{"ip:192.0.2.1"}},
			HealthCheck: &godo.HealthCheck{Protocol: "http", ProxyProtocol: new(true)}, StickySessions: &godo.StickySessions{Type: "cookies", CookieName: "x", CookieTtlSeconds: 5},
			RedirectHttpToHttps: true, EnableProxyProtocol: true, EnableBackendKeepalive: true,
		}
	}
	lb := read()
	settings := webSettings()
	settings.TLSCipherPolicy = "" // nobody asks for any
	r := updateRequest(lb, loadbalancer.Desired{Settings: settings})
	if diff := cmp.Diff(read(), lb); diff != "" {
		t.Errorf("the load balancer that was read has changed: %s", diff)
	}
	want := createRequest(loadbalancer.Desired{Settings: webSettings()})
	want.VPCUUID, want.NetworkStack, want.ProjectID, want.TLSCipherPolicy = "vpc-1", "DUALSTACK", "project", "STRONG"
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
}

// A PUT resets what it leaves out, and the client leaves out what is false,
// empty or zero: both together bring the defaults back.
func TestRemovedAnnotationsBringTheDefaultsBack(t *testing.T) {
	sim := simulator.New(simulator.WithResizeInterval(0))
	client := clientOf(t, sim)
	ctx := context.Background()
	certificate := sim.AddCertificate(simulator.CertificateSpec{Name: "web"})
	droplet := sim.AddDroplet(simulator.DropletSpec{Name: "node"})
	plain := map[string]string{annotation.Type: annotation.TypeRegional}
	rich := map[string]string{
		annotation.Type: annotation.TypeRegional, annotation.Name: "rich", annotation.SizeUnit: "3",
		prefix + "http-ports": "80", prefix + "tls-ports": "443", annotation.CertificateID: certificate.ID,
		prefix + "override-health-check": "", prefix + "healthcheck-path": "/ping", prefix + "healthcheck-check-interval-seconds": "20",
		prefix + "sticky-sessions-type": "cookies", prefix + "sticky-sessions-cookie-name": "LB", prefix + "sticky-sessions-cookie-ttl": "300",
		prefix + "redirect-http-to-https": "true", prefix + "enable-proxy-protocol": "true", prefix + "enable-backend-keepalive": "true",
		prefix + "disable-lets-encrypt-dns-records": "true", prefix + "http-idle-timeout-seconds": "120",
		prefix + "allow-rules": "ip:192.0.2.1", prefix + "deny-rules": "cidr:198.51.100.0/24",
	}
	in := loadbalancer.Inputs{Backends: loadbalancer.Backends{DropletIDs: []int{droplet.ID}}, Cluster: loadbalancer.Cluster{Region: "nyc3"}, CertificateID: certificate.ID}
	made, _, err := client.LoadBalancers.Create(ctx, createRequest(desiredOf(t, webService(rich), in)))
	if err != nil {
		t.Fatal(err)
	}
	in.CertificateID = ""
	want := desiredOf(t, webService(plain), in)
	lb, _, err := client.LoadBalancers.Get(ctx, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	if fields := fieldsOf(loadbalancer.Diff(want.Settings, settingsOf(lb))); len(fields) != 12 {
		t.Errorf("%d fields differ: %v", len(fields), fields)
	}
	if _, _, err := client.LoadBalancers.Update(ctx, made.ID, updateRequest(lb, want)); err != nil {
		t.Fatal(err)
	}
	if lb, _, err = client.LoadBalancers.Get(ctx, made.ID); err != nil {
		t.Fatal(err)
	}
	if changes := loadbalancer.Diff(want.Settings, settingsOf(lb)); len(changes) > 0 {
		t.Error(changes)
	}
}

func fieldsOf(changes []loadbalancer.Change) []string {
	var fields []string
	for _, c := range changes {
		fields = append(fields, c.Field)
	}
	return fields
}
