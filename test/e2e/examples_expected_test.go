package e2e

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"digitalocean-cloud-controller-manager/simulator"
)

// example is what one of the examples claims.
type example struct {
	// regional is the type; else it is a network load balancer.
	regional bool
	rules    []string
	// selects: the first Node alone is a backend.
	selects bool
	// disowned: there is no load balancer, nor one to check.
	disowned bool
	check    func(*v1.Service, simulator.LoadBalancer, account) error
}

func (x example) kind() string {
	if x.regional {
		return regional
	}
	return regionalNetwork
}

var (
	tcpRule   = []string{"tcp:80->tcp"}
	httpRule  = []string{"http:80->http"}
	httpsRule = []string{"https:443->http certificate"}
)

// of makes a check that two values are the same.
func of[T any](want T, got func(simulator.LoadBalancer) T) func(*v1.Service, simulator.LoadBalancer, account) error {
	return func(_ *v1.Service, lb simulator.LoadBalancer, _ account) error {
		if diff := cmp.Diff(want, got(lb)); diff != "" {
			return fmt.Errorf("(-want +got)\n%s", diff)
		}
		return nil
	}
}

func isTrue(what func(simulator.LoadBalancer) bool) func(*v1.Service, simulator.LoadBalancer, account) error {
	return of(true, what)
}

func allowed(lb simulator.LoadBalancer) []string { return lb.Firewall.Allow }

// examples are all of them.
var examples = map[string]example{
	"tcp": {rules: tcpRule, check: of("EXTERNAL", func(lb simulator.LoadBalancer) string { return lb.Network })},
	"udp": {rules: []string{"tcp:53->tcp", "udp:53->udp"}, check: of("http", func(lb simulator.LoadBalancer) string { return lb.HealthCheck.Protocol })},

	"http": {regional: true, rules: httpRule},
	"certificates-per-port": {regional: true, rules: []string{"https:443->http certificate", "https:8443->http certificate"}, check: func(_ *v1.Service, lb simulator.LoadBalancer, has account) error {
		for _, rule := range lb.ForwardingRules {
			if (rule.EntryPort == 8443) != (rule.CertificateID == has.adminCertificate) {
				return fmt.Errorf("port %d has the certificate %s", rule.EntryPort, rule.CertificateID)
			}
		}
		return nil
	}},
	"backend-protocol": {regional: true, rules: []string{"https:443->https certificate", "https:8443->http certificate"}},
	"app-protocol":     {regional: true, rules: []string{"http:80->http", "https:443->http certificate"}},

	"protocol": {regional: true, rules: []string{"http:80->http", "http:8081->http"}},
	"class":    {regional: true, rules: httpRule},
	"http2":    {regional: true, rules: []string{"http2:443->http certificate"}},
	"http3":    {regional: true, rules: []string{"http3:443->http certificate", "https:443->http certificate"}},

	"https-certificate-name": {regional: true, rules: httpsRule},
	"https-certificate-id":   {regional: true, rules: httpsRule},
	"https-passthrough":      {regional: true, rules: []string{"https:443->https passthrough"}},
	"redirect-http-to-https": {
		regional: true, rules: []string{"http:80->http", "https:443->http certificate"},
		check: isTrue(func(lb simulator.LoadBalancer) bool { return lb.RedirectHTTPToHTTPS }),
	},
	"lets-encrypt-dns": {regional: true, rules: httpsRule, check: isTrue(func(lb simulator.LoadBalancer) bool { return lb.DisableLetsEncryptDNSRecords })},
	"tls-ciphers":      {regional: true, rules: httpsRule, check: of("STRONG", func(lb simulator.LoadBalancer) string { return lb.TLSCipherPolicy })},
	"proxy-protocol":   {regional: true, rules: tcpRule, check: isTrue(func(lb simulator.LoadBalancer) bool { return lb.EnableProxyProtocol })},
	"keepalive":        {regional: true, rules: httpRule, check: isTrue(func(lb simulator.LoadBalancer) bool { return lb.EnableBackendKeepalive })},
	"idle-timeout":     {regional: true, rules: httpRule, check: of(300, func(lb simulator.LoadBalancer) int { return lb.HTTPIdleTimeoutSeconds })},
	"sticky-sessions": {regional: true, rules: httpRule, check: of(
		simulator.StickySessions{Type: "cookies", CookieName: "WEB-LB", CookieTTLSeconds: 3600},
		func(lb simulator.LoadBalancer) simulator.StickySessions { return lb.StickySessions })},

	"health-check": {rules: tcpRule, check: ownHealthCheck},
	"health-check-times": {rules: tcpRule, check: of([]int{10, 4, 2, 3}, func(lb simulator.LoadBalancer) []int {
		h := lb.HealthCheck
		return []int{h.CheckIntervalSeconds, h.ResponseTimeoutSeconds, h.UnhealthyThreshold, h.HealthyThreshold}
	})},
	"local-traffic": {rules: tcpRule, check: localHealthCheck},

	"source-ranges": {rules: tcpRule, check: of([]string{"cidr:198.51.100.0/24", "ip:203.0.113.7"}, allowed)},
	"allow-deny":    {rules: tcpRule, check: allowAndDeny},

	"internal":   {rules: tcpRule, check: of("INTERNAL", func(lb simulator.LoadBalancer) string { return lb.Network })},
	"dual-stack": {regional: true, rules: tcpRule, check: isTrue(func(lb simulator.LoadBalancer) bool { return lb.NetworkStack == "DUALSTACK" && lb.IPv6 != "" })},
	"size":       {regional: true, rules: tcpRule, check: of(3, func(lb simulator.LoadBalancer) int { return lb.SizeUnit })},
	"name":       {rules: tcpRule, check: of("shop.example", func(lb simulator.LoadBalancer) string { return lb.Name })},
	"address":    {regional: true, rules: tcpRule, check: of(exampleAddress, func(lb simulator.LoadBalancer) string { return lb.IP })},
	"hostname":   {regional: true, rules: tcpRule, check: hostnameAlone},
	"subnet": {regional: true, rules: tcpRule, check: func(svc *v1.Service, lb simulator.LoadBalancer, has account) error {
		return of(has.subnet, func(lb simulator.LoadBalancer) string { return lb.SubnetUUID })(svc, lb, has)
	}},
	"project": {rules: tcpRule, check: func(svc *v1.Service, lb simulator.LoadBalancer, has account) error {
		return of(has.project, func(lb simulator.LoadBalancer) string { return lb.ProjectID })(svc, lb, has)
	}},
	"take-over": {rules: tcpRule, check: func(svc *v1.Service, lb simulator.LoadBalancer, has account) error {
		return of(has.balancer, func(lb simulator.LoadBalancer) string { return lb.ID })(svc, lb, has)
	}},

	"node-selector":       {rules: tcpRule, selects: true},
	"empty-backends":      {rules: tcpRule, selects: true},
	"drift":               {regional: true, rules: tcpRule},
	"retain":              {rules: tcpRule},
	"ip-mode":             {regional: true, rules: tcpRule},
	"allow-cluster-nodes": {rules: tcpRule},
	"disown":              {disowned: true},
	"dry-run":             {disowned: true, check: planned},
	"no-node-ports":       {rules: tcpRule, check: withoutNodePorts},
	"firewall-managed":    {rules: []string{"tcp:9000->tcp"}},
}

func ownHealthCheck(svc *v1.Service, lb simulator.LoadBalancer, _ account) error {
	if h := lb.HealthCheck; h.Protocol != "http" || h.Port != int(svc.Spec.Ports[0].NodePort) || h.Path != "/ready" {
		return fmt.Errorf("health check %+v, want HTTP at /ready of port %d", h, svc.Spec.Ports[0].NodePort)
	}
	return nil
}

func localHealthCheck(svc *v1.Service, lb simulator.LoadBalancer, _ account) error {
	if h := lb.HealthCheck; h.Port == 0 || h.Port != int(svc.Spec.HealthCheckNodePort) {
		return fmt.Errorf("health check %+v, want port %d", h, svc.Spec.HealthCheckNodePort)
	}
	return nil
}

func allowAndDeny(_ *v1.Service, lb simulator.LoadBalancer, _ account) error {
	want := simulator.LoadBalancerFirewall{Allow: []string{"cidr:198.51.100.0/24", "ip:203.0.113.7"}, Deny: []string{"ip:198.51.100.66"}}
	if diff := cmp.Diff(want, lb.Firewall); diff != "" {
		return fmt.Errorf("rules: %s", diff)
	}
	return nil
}

func hostnameAlone(svc *v1.Service, _ simulator.LoadBalancer, _ account) error {
	if ingress := svc.Status.LoadBalancer.Ingress; len(ingress) != 1 || ingress[0].Hostname != "web.example.com" || ingress[0].IP != "" {
		return fmt.Errorf("status %+v", ingress)
	}
	return nil
}

func withoutNodePorts(svc *v1.Service, _ simulator.LoadBalancer, _ account) error {
	if port := svc.Spec.Ports[0].NodePort; port != 0 {
		return fmt.Errorf("it has the node port %d", port)
	}
	return nil
}

func planned(svc *v1.Service, _ simulator.LoadBalancer, _ account) error {
	if plan := svc.Annotations["kubernetes.digitalocean.com/load-balancer-plan"]; !strings.Contains(plan, "create") {
		return fmt.Errorf("the plan is %q", plan)
	}
	return nil
}
